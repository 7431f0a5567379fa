"""The JSON Schemas of the wire types as OpenAPI wants them, with the error and the readiness of HTTP."""

from __future__ import annotations

import msgspec

from gateways.described import Schema, schemas_of
from gateways.rest.health import Ready
from gateways.rest.problems import STATUS, Problem
from gateways.service.service import VERBS
from umbriel.inspecting import LoginReply, LoginRequest

__all__ = ["Schema", "components", "properties"]

_TEMPLATE = "#/components/schemas/{name}"


def components() -> dict[str, Schema]:
    """Return the schema of every request and reply, and of what they are made of, by name."""
    types = [one for verb in VERBS.values() for one in (verb.request, verb.reply)]
    found = schemas_of([*types, Problem, Ready, LoginRequest, LoginReply], _TEMPLATE)
    found["Problem"]["properties"]["code"]["enum"] = sorted(STATUS)
    return found


def properties(of: type[msgspec.Struct], schemas: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schemas of the fields of a request or a reply."""
    found: dict[str, Schema] = schemas[of.__name__]["properties"]
    return found

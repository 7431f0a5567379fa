"""The OpenAPI 3.1 document, made of the table of verbs, the table of paths and the wire types; nothing is said twice.

It is put together here and not by the framework, for the framework would describe the types of its handlers, and what
decodes a request is the service's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from gateways.rest.answering import ETAG, POSITION
from gateways.rest.examples import EXAMPLES, Example
from gateways.rest.feed import EVENT_STREAM
from gateways.rest.login import LOGIN_PATH
from gateways.rest.problems import PROBLEM_TYPE
from gateways.rest.routes import PROFILE, Route, routes
from gateways.rest.schemas import Schema, components, properties
from gateways.service.service import VERBS
from umbriel.admin import SettingsReply
from umbriel.types import Memory, RememberReply, TouchedReply

__all__ = ["document"]

_PROFILE_PATTERN = "^[A-Za-z0-9_-]{1,64}$"
_ABOUT = """Memory for agents, kept as an event log. Every operation takes and answers exactly what the verb of the same
name does over NATS, in the command line and in the Python client.

Every request needs `Authorization: Bearer <token>`; `umbriel principal token NAME` makes one. What it may do is what
was granted to its principal. `Umbriel-Position` says how far a write or a read has come; `at_least` lets a read wait
for it."""
_ERRORS = {
    "400": "What was sent can never be accepted as it is.",
    "401": "No valid token.",
    "403": "The principal's grants do not allow it.",
    "404": "Nothing of that name, or nothing that the caller may see.",
    "408": "The body did not arrive in time.",
    "409": "Somebody else wrote first, or a position is one of another log.",
    "410": "It was erased, and stays so.",
    "412": "The memory has another newest version than If-Match says.",
    "413": "The body is larger than 1 MiB.",
    "415": "The body is not application/json.",
    "421": "A loopback service was called by a foreign name.",
    "429": "Too many requests without a valid token.",
    "500": "A defect, or damaged data.",
    "503": "Nothing can answer now; the same request may succeed later.",
    "507": "The log reached its size limit; nothing was written.",
}
_PROBLEM = {
    "type": "urn:umbriel:error:invalid",
    "title": "The input can never be accepted as it is",
    "status": 400,
    "detail": "limit is out of range",
    "code": "invalid",
    "message": "limit is out of range",
    "expected": "1 to 500",
    "found": "0",
    "retryable": False,
}
_LOGIN_ERRORS = ("400", "401", "404", "408", "413", "415", "421", "429", "500", "503")
_TAGGED = (Memory, RememberReply, TouchedReply, SettingsReply)


def document() -> Schema:
    """Return the document."""
    schemas = components()
    paths: dict[str, Schema] = {}
    for verb in VERBS:
        for way in routes(verb):
            paths.setdefault(way.path, {})[way.method.lower()] = _operation(way, schemas)
    paths |= _health() | _login()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Umbriel",
            "version": version("umbriel-server"),
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {f"E{status}": _error(text) for status, text in _ERRORS.items()},
            "headers": {
                "Position": {
                    "description": "How far the log or the views were: `<stream>.<incarnation>:<sequence>`.",
                    "schema": {"type": "string"},
                },
                "Version": {"description": "The version, for If-Match.", "schema": {"type": "string"}},
            },
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(way: Route, schemas: dict[str, Schema]) -> Schema:
    verb = VERBS[way.verb]
    example = EXAMPLES.get(way.verb, Example(way.verb.replace("_", " ").capitalize()))
    shown = msgspec.to_builtins(example.request) if example.request is not None else {}
    operation: Schema = {
        "operationId": way.name,
        "tags": [_tag(way)],
        "summary": example.summary,
        "description": schemas[verb.request.__name__].get("description", ""),
        "parameters": [*_path(way, schemas, shown), *_headers(way)],
        "responses": {**_replies(way, schemas), **_refusals(way)},
    }
    if way.method in {"GET", "DELETE"}:
        operation["parameters"] += _query(way, schemas, shown)
    else:
        operation["requestBody"] = _body(way, schemas, shown)
    return operation


def _tag(way: Route) -> str:
    parts = [part for part in way.path.split("/")[2:] if part != f"{{{PROFILE}}}"]
    return parts[1] if parts[0] == "profiles" and len(parts) > 1 else parts[0]


def _path(way: Route, schemas: dict[str, Schema], shown: Mapping[str, Any]) -> list[Schema]:
    parameters: list[Schema] = []
    if f"{{{PROFILE}}}" in way.path:
        named = {"type": "string", "pattern": _PROFILE_PATTERN}
        parameters.append({"name": PROFILE, "in": "path", "required": True, "schema": named, "example": "default"})
    for name in way.in_path:
        schema = {**properties(VERBS[way.verb].request, schemas)[name], "minLength": 1}
        schema.pop("default", None)
        parameters.append(_example({"name": name, "in": "path", "required": True, "schema": schema}, shown))
    return parameters


def _query(way: Route, schemas: dict[str, Schema], shown: Mapping[str, Any]) -> list[Schema]:
    request = VERBS[way.verb].request
    required = schemas[request.__name__].get("required", [])
    return [
        _example({"name": name, "in": "query", "required": name in required, "schema": _no_null(schema)}, shown)
        for name, schema in properties(request, schemas).items()
        if name not in way.in_path and (way.only is None or name in way.only)
    ]


def _example(parameter: Schema, shown: Mapping[str, Any]) -> Schema:
    return {**parameter, "example": shown[parameter["name"]]} if parameter["name"] in shown else parameter


def _no_null(schema: Schema) -> Schema:
    """Return a schema without null, which a query has no way to say but to leave the parameter out."""
    kept = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    if len(kept) == 1:
        return {**{name: value for name, value in schema.items() if name not in {"anyOf", "default"}}, **kept[0]}
    return schema


def _body(way: Route, schemas: dict[str, Schema], shown: Mapping[str, Any]) -> Schema:
    name = VERBS[way.verb].request.__name__
    whole, held = schemas[name], set(way.in_path)
    schema: Schema = {"$ref": f"#/components/schemas/{name}"}
    if held:
        kept = {field: one for field, one in whole["properties"].items() if field not in held}
        schema = {**whole, "properties": kept, "required": [one for one in whole["required"] if one not in held]}
        schema.pop("title", None)
    example = {field: value for field, value in shown.items() if field not in held}
    return {
        "required": bool(schema.get("required", whole["required"])),
        "content": {"application/json": {"schema": schema, "example": example}},
    }


def _headers(way: Route) -> list[Schema]:
    fields = VERBS[way.verb].request.__struct_fields__
    said = []
    if way.method != "GET" and "request_id" in fields:
        said.append(("Idempotency-Key", "The request_id: a repeated request with it does nothing."))
    if way.method != "GET" and "expected" in fields:
        said.append(("If-Match", "The version as ETag gave it; another newest one is a 412."))
    if way.verb == "feed":
        said.append(
            ("Last-Event-ID", "The position to go on after, as the last event of a stream gave it; before `after`.")
        )
    return [
        {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": text}
        for name, text in said
    ]


def _replies(way: Route, schemas: dict[str, Schema]) -> dict[str, Schema]:
    reply = VERBS[way.verb].reply
    headers = {}
    if properties(reply, schemas).get("position", {}).get("type") == "string":
        headers[POSITION] = {"$ref": "#/components/headers/Position"}
    if reply in _TAGGED:
        headers[ETAG] = {"$ref": "#/components/headers/Version"}
    content: Schema = {"application/json": {"schema": {"$ref": f"#/components/schemas/{reply.__name__}"}}}
    if way.verb == "feed":
        content[EVENT_STREAM] = {"schema": {"type": "string"}}
    answer = {"description": "What was asked for.", "headers": headers, "content": content}
    if way.verb != "remember":
        return {"200": answer}
    location = {"Location": {"description": "Where the memory is.", "schema": {"type": "string"}}}
    return {
        "200": {**answer, "description": "Nothing was written: the memory is there already, or may not be."},
        "201": {**answer, "description": "The memory was written.", "headers": {**headers, **location}},
    }


def _refusals(way: Route) -> dict[str, Schema]:
    left_out = () if "expected" in VERBS[way.verb].request.__struct_fields__ else ("412",)
    return {status: {"$ref": f"#/components/responses/E{status}"} for status in _ERRORS if status not in left_out}


def _error(text: str) -> Schema:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": text, "content": {PROBLEM_TYPE: {"schema": schema, "example": _PROBLEM}}}


def _login() -> dict[str, Schema]:
    body = {"schema": {"$ref": "#/components/schemas/LoginRequest"}, "example": {"code": "one of `umbriel inspect`"}}
    return {
        LOGIN_PATH: {
            "post": {
                "operationId": "login",
                "tags": ["inspect"],
                "summary": "Change a code of `umbriel inspect` for a token, once",
                "security": [],
                "requestBody": {"required": True, "content": {"application/json": body}},
                "responses": {
                    "200": {
                        "description": "A token that ends by itself.",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/LoginReply"}}},
                    },
                    **{one: {"$ref": f"#/components/responses/E{one}"} for one in _LOGIN_ERRORS},
                },
            }
        }
    }


def _health() -> dict[str, Schema]:
    ready = {"application/json": {"schema": {"$ref": "#/components/schemas/Ready"}}}
    alive = {"application/json": {"schema": {"type": "object", "properties": {"status": {"const": "ok"}}}}}
    return {
        "/healthz": {
            "get": {
                "operationId": "healthz",
                "tags": ["health"],
                "summary": "Whether the service lives",
                "security": [],
                "responses": {"200": {"description": "It does.", "content": alive}},
            }
        },
        "/readyz": {
            "get": {
                "operationId": "readyz",
                "tags": ["health"],
                "summary": "Whether requests can be answered",
                "security": [],
                "responses": {
                    "200": {"description": "They can.", "content": ready},
                    "503": {"description": "Not now, and why.", "content": ready},
                },
            }
        },
    }

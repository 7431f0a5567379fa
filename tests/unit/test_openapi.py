"""The OpenAPI document: valid, complete, and made of the very types that decode requests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from domain import errors
from gateways.rest.docs import page
from gateways.rest.openapi import document
from gateways.rest.problems import STATUS, Problem
from gateways.rest.routes import Route, routes
from gateways.service.service import VERBS

DOCUMENT = document()
WAYS = [way for verb in VERBS for way in routes(verb)]


def operation(way: Route) -> dict[str, Any]:
    """What the document says of one way to a verb."""
    found: dict[str, Any] = DOCUMENT["paths"][way.path][way.method.lower()]
    return found


def test_the_document_is_valid() -> None:
    """It is OpenAPI 3.1 by the specification's own schema, and every reference in it leads somewhere."""
    validate(DOCUMENT, cls=OpenAPIV31SpecValidator)
    with pytest.raises(Exception, match="paths"):
        validate({**DOCUMENT, "paths": []}, cls=OpenAPIV31SpecValidator)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_every_field_is_somewhere(way: Route) -> None:
    """Each field of the request is in path, query or body, once, under the schema of the very type; nothing else is."""
    said = operation(way)
    fields = {one["name"] for one in said["parameters"] if one["in"] == "query"}
    fields |= {one["name"] for one in said["parameters"] if one["in"] == "path"} - {"profile"}
    if "requestBody" in said:
        schema = said["requestBody"]["content"]["application/json"]["schema"]
        whole = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
        assert fields.isdisjoint(whole["properties"])
        assert whole["additionalProperties"] is False
        fields |= set(whole["properties"])
    wanted = set(VERBS[way.verb].request.__struct_fields__)
    assert fields == (wanted if way.only is None else {*way.only, *way.in_path})


def test_every_error_is_described() -> None:
    """The codes are those of the tree, and every status that one has is an answer of every operation."""
    codes = {one.code for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "code")}
    assert set(DOCUMENT["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]) == codes == set(STATUS)
    for way in WAYS:
        assert {str(status) for status in STATUS.values()} <= set(operation(way)["responses"]), way.name
    example = DOCUMENT["components"]["responses"]["E400"]["content"]["application/problem+json"]["example"]
    assert msgspec.convert(example, Problem, strict=True).code == "invalid"


def test_the_page_shows_every_operation_and_type() -> None:
    """Whatever is in the document can be read on the page, and what it says cannot become markup."""
    shown = page(DOCUMENT)
    for way in WAYS:
        assert f"<b>{way.method}</b> <code>{way.path}</code>" in shown
    for name in DOCUMENT["components"]["schemas"]:
        assert f"<summary>{name}</summary>" in shown
    assert "<i>x" not in page({**DOCUMENT, "info": {"title": "<i>x", "version": "<i>x", "description": "<i>x"}})

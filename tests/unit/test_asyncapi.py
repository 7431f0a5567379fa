"""The AsyncAPI document and the catalogue of events: valid, complete, and made of the types that decode."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest
from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT7

import domain.events
from domain.events import TOPICS, Event, decode_event
from gateways.api.app import ERROR_HEADER
from gateways.asyncapi import document as made
from gateways.asyncapi.catalogue import EXAMPLES, EventExample, catalogue
from gateways.asyncapi.page import page
from gateways.asyncapi.recorded import CLEAR_TOPICS, UNDER, WHEN
from gateways.cli import app
from gateways.jetstream.streams import EVENTS_PREFIX
from gateways.rest.openapi import document as openapi
from gateways.service.service import VERBS
from gateways.service.tombstones import _IN_THE_CLEAR
from tests.golden.catalogue import from_golden

DOCUMENT = made.document()
MESSAGES = DOCUMENT["components"]["messages"]
KINDS = {kind.topic: kind for kind in catalogue()}
#: Stands for an event that cannot be read, and is never written.
_NEVER_WRITTEN = {"Unreadable"}


@cache
def validator(reference: str) -> Draft7Validator:
    """Return what validates against a schema of the document."""
    registry: Registry[Any] = Registry().with_resource("urn:doc", DRAFT7.create_resource(DOCUMENT))
    return Draft7Validator({"$ref": f"urn:doc{reference}"}, registry=registry, format_checker=FormatChecker())


def references(part: Any) -> Iterator[str]:
    """Every reference in a part of the document."""
    match part:
        case {"$ref": str() as reference}:
            yield reference
        case dict():
            for value in part.values():
                yield from references(value)
        case list():
            for value in part:
                yield from references(value)


def resolved(reference: str) -> Any:
    """What a reference leads to."""
    part: Any = DOCUMENT
    for step in reference.removeprefix("#/").split("/"):
        part = part[step]
    return resolved(part["$ref"]) if "$ref" in part else part


def test_the_document_is_asyncapi_3() -> None:
    """The object model of AsyncAPI 3, which refuses unknown fields, takes all of it, and refuses what is wrong.

    No package of PyPI carries the official schema; the one in npm's @asyncapi/specs was tried by hand.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from asyncapi3.models import AsyncAPI3
    as_json = json.loads(json.dumps(DOCUMENT))
    assert AsyncAPI3.model_validate(as_json).asyncapi == "3.0.0"
    mistakes: list[dict[str, Any]] = [{"channels": []}, {"unknown": 1}, {"operations": {"x": {"action": "answer"}}}]
    for wrong in mistakes:
        with pytest.raises(ValueError, match="validation error"):
            AsyncAPI3.model_validate({**as_json, **wrong})


def test_every_reference_leads_somewhere() -> None:
    """No reference is dangling, every schema is a schema of draft 7, and all that is described is used."""
    used = set(references(DOCUMENT))
    for reference in used:
        assert resolved(reference), reference
    for name, schema in DOCUMENT["components"]["schemas"].items():
        Draft7Validator.check_schema(schema)
        assert f"#/components/schemas/{name}" in used, name
    for group in ("messages", "parameters", "securitySchemes"):
        for name in DOCUMENT["components"][group]:
            assert f"#/components/{group}/{name}" in used, name


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_is_a_channel(verb: str) -> None:
    """Subject, request, reply and error are those of the table; the example is a request that its type takes."""
    of, channel, operation = VERBS[verb], DOCUMENT["channels"][verb], DOCUMENT["operations"][verb]
    profile = "_" if of.needs.service == "only" else "{profile}"
    assert channel["address"] == f"umbriel.api.{{principal}}.{profile}.{verb}"
    assert set(channel["parameters"]) == {one for one in ("principal", "profile") if f"{{{one}}}" in channel["address"]}
    (request,) = (resolved(one["$ref"]) for one in operation["messages"])
    reply, error = (resolved(one["$ref"]) for one in operation["reply"]["messages"])
    for message, type_ in ((request, of.request), (reply, of.reply)):
        schema = resolved(message["payload"]["$ref"])
        assert set(schema["properties"]) == set(type_.__struct_encode_fields__)
    assert error["headers"]["required"] == [ERROR_HEADER]
    assert operation["security"]
    assert ("a person" in operation["description"]) == of.needs.person
    for example in request["examples"]:
        validator(request["payload"]["$ref"]).validate(example["payload"])
        msgspec.convert(example["payload"], of.request, strict=True)


def test_what_a_request_may_not_be() -> None:
    """Schemas say no as the service does: to unknown fields, wrong types, and sizes out of range."""
    for verb, body in (
        ("recall", {"query": "x", "limt": 3}),
        ("recall", {"query": 3}),
        ("recall", {}),
        ("list", {"limit": 0}),
        ("list", {"limit": 501}),
        ("remember", {"content": "x", "valid_from": "yesterday?", "kind": "fakt"}),
    ):
        assert not validator(MESSAGES[f"{verb}-request"]["payload"]["$ref"]).is_valid(body), (verb, body)


def test_the_edges_speak_as_the_document_says() -> None:
    """Header and subjects are those of the edges that speak NATS."""
    assert (made.ERROR_HEADER, made.EVENTS_PREFIX) == (ERROR_HEADER, EVENTS_PREFIX)
    assert DOCUMENT["info"]["version"] == openapi()["info"]["version"]


def test_every_event_class_is_in_the_catalogue() -> None:
    """Each class of an event is a topic, each topic says when it is recorded and under whose key."""
    classes = {
        one
        for one in vars(domain.events).values()
        if inspect.isclass(one) and issubclass(one, Event) and one is not Event and one.__name__ not in _NEVER_WRITTEN
    }
    assert classes == set(TOPICS.values())
    assert set(KINDS) == set(TOPICS) == set(WHEN)
    assert {topic for topic, kind in KINDS.items() if not kind.encrypted} == CLEAR_TOPICS
    assert {one.TOPIC for one in _IN_THE_CLEAR} <= CLEAR_TOPICS
    assert set(UNDER) <= set(TOPICS) | {kind.category for kind in KINDS.values()}
    for topic, kind in KINDS.items():
        assert kind.schema == TOPICS[topic].SCHEMA
        assert kind.title
        assert set(resolved(kind.body["$ref"])["properties"]) == set(TOPICS[topic].__struct_encode_fields__)
        assert MESSAGES[topic.replace(".", "_")]["payload"] == kind.body


def test_the_examples_are_the_golden_ones() -> None:
    """What is shown was once written; ``python -m tests.golden.catalogue`` writes it anew after a new recording."""
    assert msgspec.json.decode(EXAMPLES.read_bytes(), type=list[EventExample]) == from_golden()


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_golden_examples_fit_their_schema(topic: str) -> None:
    """Every example validates and decodes; without a field that is required it does neither."""
    kind = KINDS[topic]
    assert kind.examples
    for data in kind.examples:
        validator(kind.body["$ref"]).validate(data)
        assert topic == decode_event(topic, kind.schema, msgspec.json.encode(data)).TOPIC
    for field in resolved(kind.body["$ref"]).get("required", []):
        less = {name: value for name, value in kind.examples[0].items() if name != field}
        assert not validator(kind.body["$ref"]).is_valid(less), field


def test_the_page_shows_every_event_verb_and_type() -> None:
    """All of it can be read on the page, which loads nothing."""
    shown = page()
    for kind in KINDS.values():
        assert f"<summary><code>{kind.topic}</code>" in shown
    for name in VERBS:
        assert f"<summary><code>{DOCUMENT['channels'][name]['address']}</code>" in shown
    for name in DOCUMENT["components"]["schemas"]:
        assert f"<summary>{name}</summary>" in shown
    for loads in ("<script", "<link", "<img", "src=", "@import", "http://", "https://"):
        assert loads not in shown, loads


@pytest.mark.parametrize("flag", ["--asyncapi", "--openapi", "--events"])
def test_the_command_prints_what_is_served(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The documents and the catalogue are JSON on stdout; nothing, or two at once, is a mistake of usage."""
    wanted: dict[str, Any] = {"--asyncapi": DOCUMENT, "--openapi": openapi(), "--events": list(KINDS.values())}
    assert app._run(["schema", flag, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(msgspec.json.encode(wanted[flag]))
    assert app._run(["schema"]) == app._run(["schema", "--openapi", "--events"]) == app.USAGE

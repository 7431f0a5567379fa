"""Shapes as schemas, and what is read from a model's words beyond what the contract of chats covers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Literal

import msgspec
import pytest

from gateways.models.http.failures import wait_asked_for
from gateways.models.http.structured import NotInShapeError, parsed, schema_of, valid_text


class Cat(msgspec.Struct, frozen=True, tag="cat"):
    name: str = ""


class Dog(msgspec.Struct, frozen=True, tag="dog"):
    good: Literal["yes", "very"] = "yes"


class Pets(msgspec.Struct, frozen=True):
    """Nested, tagged and optional."""

    pets: list[Cat | Dog] = []
    title: str | None = None


class Tree(msgspec.Struct, frozen=True):
    """Holds itself."""

    value: int
    below: list[Tree] = []


class Loose(msgspec.Struct, frozen=True):
    """Has names that nobody knows before."""

    counts: dict[str, int] = {}


def objects(node: Any) -> list[dict[str, Any]]:
    """Return every object schema in a schema."""
    if isinstance(node, list):
        return [found for one in node for found in objects(one)]
    if not isinstance(node, dict):
        return []
    own = [node] if node.get("type") == "object" else []
    return own + [found for one in node.values() for found in objects(one)]


@pytest.mark.parametrize("shape", [Pets, Tree])
def test_a_schema_is_strict_and_complete(shape: type[Any]) -> None:
    """Every object names all its properties and no others, and every reference has its definition."""
    schema = schema_of(shape)
    assert schema.strict
    assert schema.schema["type"] == "object"
    for one in objects(schema.schema):
        assert one["required"] == list(one["properties"])
        assert one["additionalProperties"] is False
    text = msgspec.json.encode(schema.schema).decode()
    assert text.count("#/$defs/") >= 1
    for name in schema.schema["$defs"]:
        assert f'"#/$defs/{name}"' in text
    assert '"default"' not in text
    assert '"discriminator"' not in text


def test_a_property_may_be_named_like_a_keyword() -> None:
    """Names of properties are not keywords: a title stays."""
    assert "title" in schema_of(Pets).schema["properties"]


def test_open_objects_are_not_strict() -> None:
    """What strict mode does not know is still described."""
    schema = schema_of(Loose)
    assert not schema.strict
    assert schema.schema["properties"]["counts"]["type"] == "object"


def test_only_objects_are_shapes() -> None:
    """A list is not a shape."""
    with pytest.raises(TypeError):
        schema_of(list[int])


@pytest.mark.parametrize(
    "text",
    [
        '{"pets": [{"type": "cat"}], "title": null, }',
        '{"pets": [{"type": "cat"}]',
        '{"title": "a"} or {"title": "b"}',
        '{"title": 1}',
        '{"pets": [{"type": "cow"}]}',
        "{pets}",
        "",
        "<think>{}</think>",
        '{"title": 1e999999}',
        "9" * 5_000,
        '{"title": ' + "9" * 5_000 + "}",
    ],
)
def test_damaged_or_doubtful_answers_are_none(text: str) -> None:
    """Although every field has a default, nothing is taken from a part of an answer."""
    with pytest.raises(NotInShapeError):
        parsed(text, Pets)


def test_a_tagged_value_is_read() -> None:
    """Unions come back as what they were tagged."""
    assert parsed('ok: {"pets": [{"type": "dog", "good": "very"}]}', Pets) == Pets([Dog("very")])


def test_reasons_hold_no_words_of_the_model() -> None:
    """A value that is none of those allowed is not repeated."""
    with pytest.raises(NotInShapeError) as caught:
        parsed('{"pets": [{"type": "dog", "good": "secret"}]}', Pets)
    assert "secret" not in str(caught.value)


def test_surrogates() -> None:
    """Pairs become their character, lone halves the replacement character."""
    assert valid_text("a\ud83d\ude42b\ud800c") == "a🙂b\ufffdc"


@pytest.mark.parametrize(
    "headers,seconds",
    [
        ({}, 0.0),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "70", "retry-after": "7"}, 0.07),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": format_datetime(datetime.now(UTC) + timedelta(days=1))}, 86_400.0),
    ],
)
def test_the_wait_a_server_asks_for_is_read(headers: dict[str, str], seconds: float) -> None:
    """Seconds, milliseconds and dates; anything else is no wish."""
    assert wait_asked_for(headers) == pytest.approx(seconds, abs=7_200 if seconds > 100 else 1e-9)

"""The envelope's body: round trips, binary content, damage, and schemas old and new."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import events
from domain.envelope import Actor, Envelope, decode_body, encode_body, profile_of
from domain.errors import DamagedError
from domain.events import TOPICS, EmbeddingComputed, Event, MemoryPinned, MessageRecorded, decoding, upcaster
from domain.settings import AccessSettings, ProfileSettings, RecallPreferences

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

_TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_TIMES = st.datetimes(timezones=st.just(UTC))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _FLOATS | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=4,
)
_BASIC: dict[object, st.SearchStrategy[Any]] = {
    str: _TEXT,
    int: st.integers(0, 2**40),
    float: _FLOATS,
    bool: st.booleans(),
    bytes: st.binary(max_size=12),
    datetime: _TIMES,
    type(None): st.none(),
    dict[str, Any]: st.dictionaries(_TEXT, _JSON, max_size=2),
    tuple[str, ...]: st.lists(_TEXT, max_size=3).map(tuple),
    ProfileSettings: st.builds(
        ProfileSettings,
        recall=st.builds(
            RecallPreferences,
            fusion=st.sampled_from(["default", "classic"]),
            message_share=st.floats(0, 1),
            fill=st.integers(0, 100),
        ),
        access=st.builds(AccessSettings, counted=st.booleans()),
    ),
    dict[str, int]: st.dictionaries(_TEXT, st.integers(0, 9), max_size=2),
    dict[str, tuple[int, datetime]]: st.dictionaries(_TEXT, st.tuples(st.integers(0, 9), _TIMES), max_size=2),
}


def _strategy(hint: Any) -> st.SearchStrategy[Any]:
    if hint in _BASIC:
        return _BASIC[hint]
    if typing.get_origin(hint) is typing.Literal:
        return st.sampled_from(typing.get_args(hint))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _structs(hint)
    if typing.get_origin(hint) is tuple:
        return st.lists(_strategy(typing.get_args(hint)[0]), max_size=2).map(tuple)
    return st.one_of([_strategy(option) for option in typing.get_args(hint)])


def _structs(cls: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{field: _strategy(hints[field]) for field in cls.__struct_fields__})


def _envelope(event: Event, **fields: Any) -> Envelope:
    known: dict[str, Any] = {"actor": Actor("ana", "person"), "recorded_at": NOW, "event_id": "e1", "key_id": "k1"}
    return Envelope(originator_id="ana.x.y", originator_version=3, data=event, **{**known, **fields})


def _reopen(body: bytes, topic: str, schema: int = 1, position: int = 0) -> Envelope:
    return decode_body(
        body,
        originator_id="ana.x.y",
        originator_version=3,
        topic=topic,
        schema=schema,
        event_id="e1",
        recorded_at=NOW,
        key_id="k1",
        position=position,
    )


def _body(data: str, actor: str = '{"principal":"ana","type":"person"}') -> bytes:
    return f'{{"actor":{actor},"data":{data}}}'.encode()


@pytest.mark.parametrize("topic", sorted(TOPICS))
@given(data=st.data())
def test_every_event_comes_back(topic: str, data: st.DataObject) -> None:
    """Any event of any topic, with any cause and correlation, is read as it was written."""
    cls = TOPICS[topic]
    actor = Actor(data.draw(_TEXT), data.draw(st.sampled_from(["person", "agent", "service"])))
    cause, correlation = data.draw(_TEXT), data.draw(_TEXT)
    envelope = _envelope(data.draw(_structs(cls)), actor=actor, cause=cause, correlation=correlation)
    assert _reopen(encode_body(envelope), topic, cls.SCHEMA) == envelope
    assert envelope.topic == topic
    assert cls.category() == topic.split(".", maxsplit=1)[0]


def test_topics_are_a_category_and_a_name() -> None:
    """Each topic has one Struct, whose name in the module is public."""
    assert all(topic.count(".") == 1 and topic == cls.TOPIC for topic, cls in TOPICS.items())
    assert {cls.__name__ for cls in TOPICS.values()} <= set(events.__all__)
    written = [cls for cls in Event.__subclasses__() if cls.__module__.startswith(events.__name__) and cls.TOPIC]
    assert len(TOPICS) == len(written)


def test_what_only_the_writer_knows_is_not_written() -> None:
    """The key scope names a contact or session and stays out of the body; position comes from the log."""
    body = encode_body(_envelope(MemoryPinned(memory="m"), key_scope="contact:Ana", position=9))
    assert b"contact:Ana" not in body
    reopened = _reopen(body, "memory.pinned", position=12)
    assert (reopened.key_scope, reopened.position) == ("", 12)


def test_a_profile_is_the_first_part_of_an_originator() -> None:
    """The profile is read from the aggregate's id."""
    assert profile_of("ana.memory.x") == _envelope(MemoryPinned(memory="m")).profile == "ana"


@given(st.binary(max_size=40))
def test_binary_content_is_framed_by_a_nul(vectors: bytes) -> None:
    """Vectors stand raw behind the first NUL, whatever bytes they are; the JSON before it holds none."""
    event = EmbeddingComputed(embedding="a\0b", model="\0", dimension=1, chunks=0, vectors=vectors)
    body = encode_body(_envelope(event))
    text, nul, blob = body.partition(b"\0")
    assert (nul, blob) == (b"\0", vectors)
    assert "vectors" not in msgspec.json.decode(text)["data"]
    assert _reopen(body, "embedding.computed").data == event


def test_text_with_a_nul_does_not_cut_the_body() -> None:
    """A NUL in a text is escaped in JSON and is no frame."""
    event = MessageRecorded(message="m", session="s", role="user", content="a\0b")
    body = encode_body(_envelope(event))
    assert b"\0" not in body
    assert _reopen(body, "message.recorded").data == event


@pytest.mark.parametrize(
    "topic, schema",
    [("memory.dreamt", 1), ("", 1), ("memory", 1), ("memory.pinned", 2), ("memory.pinned", 0), ("memory.pinned", -1)],
)
def test_unknown_topics_and_schemas(topic: str, schema: int) -> None:
    """A topic or schema that this code does not know is damage with a name, never a guess."""
    with pytest.raises(DamagedError) as caught:
        _reopen(_body('{"memory":"m"}'), topic, schema)
    assert f"schema {schema}" in caught.value.found


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"\0" + _body('{"memory":"m"}'),
        _body('{"memory":"m"}')[:-1],
        _body('{"memory":"m"}') + b"x",
        _body('{"memory":"m"}') + b"\0binary content that a pin never has",
        _body('{"memory":7}'),
        _body("{}"),
        _body("null"),
        _body('{"memory":"\\ud800"}'),
        _body('{"memory":"m"}', actor='{"principal":"ana","type":"god"}'),
        _body('{"memory":"m"}', actor="null"),
        b'{"data":{"memory":"m"}}',
        _body('{"memory":"m","x":' + "[" * 100_000 + "]" * 100_000 + "}"),
    ],
)
def test_damaged_bodies(body: bytes) -> None:
    """Whatever is wrong with a body is a DamagedError."""
    with pytest.raises(DamagedError):
        _reopen(body, "memory.pinned", position=41)


def test_damage_says_where() -> None:
    """The error names topic, schema and position."""
    with pytest.raises(DamagedError, match=r"memory\.pinned schema 1.*at position 41"):
        _reopen(b"{", "memory.pinned", position=41)


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=3))
def test_no_damage_is_another_error(at: int, junk: bytes) -> None:
    """Overwritten bytes give an event or a DamagedError, nothing else."""
    body = encode_body(_envelope(MessageRecorded(message="m", session="s", role="user", content="hi", at=NOW)))
    at %= len(body)
    try:
        _reopen(body[:at] + junk + body[at + len(junk) :], "message.recorded")
    except DamagedError as error:
        assert error.code == "damaged"  # noqa: PT017 -- both ends are fine, a third is not


def test_unknown_fields_are_passed_over() -> None:
    """A field that a later release added without raising the schema does not stop this one from reading."""
    read = _reopen(_body('{"memory":"m","mood":"sunny"}'), "memory.pinned")
    assert read.data == MemoryPinned(memory="m")
    assert _reopen(b'{"tenant":1,' + _body('{"memory":"m"}')[1:], "memory.pinned") == read


def test_defaults_are_not_written() -> None:
    """An optional field at its default takes no place, so that adding one changes no recorded body."""
    body = encode_body(_envelope(MessageRecorded(message="m", session="s", role="user", content="c")))
    assert body == _body('{"message":"m","session":"s","role":"user","content":"c"}')


class _Third(Event, frozen=True):
    """A topic that is at its third schema."""

    TOPIC = "test.third"
    SCHEMA = 3
    full_name: str
    at: datetime | None = None
    parts: tuple[str, ...] = ()


@pytest.fixture
def third() -> Iterator[str]:
    """A topic with two upcasters, known during one test."""
    TOPICS[_Third.TOPIC] = _Third

    @upcaster(_Third.TOPIC, 1)
    def _rename(payload: dict[str, Any]) -> dict[str, Any]:
        return {**payload, "name": payload["nick"]}

    @upcaster(_Third.TOPIC, 2)
    def _complete(payload: dict[str, Any]) -> dict[str, Any]:
        return {"full_name": payload["name"].title(), "at": payload.get("at"), "parts": payload["name"].split()}

    yield _Third.TOPIC
    del TOPICS[_Third.TOPIC]
    for schema in (1, 2):
        del decoding._UPCASTERS[_Third.TOPIC, schema]


def test_old_schemas_are_lifted_one_step_at_a_time(third: str) -> None:
    """A payload of schema 1 goes through both upcasters, one of 2 through the second, one of 3 through none."""
    expected = _Third(full_name="Ana Maria", at=NOW, parts=("ana", "maria"))
    assert _reopen(_body('{"nick":"ana maria","at":"2026-01-01T12:00:00Z"}'), third, 1).data == expected
    assert _reopen(_body('{"name":"ana maria","at":"2026-01-01T12:00:00Z"}'), third, 2).data == expected
    newest = '{"full_name":"Ana Maria","at":"2026-01-01T12:00:00Z","parts":["ana","maria"]}'
    assert _reopen(_body(newest), third, 3).data == expected


def test_an_upcast_payload_must_fit(third: str) -> None:
    """What comes out of the upcasters is checked like any payload."""
    with pytest.raises(DamagedError):
        _reopen(_body('{"name":"ana","at":"yesterday"}'), third, 2)


def test_a_gap_between_schemas_is_damage(third: str) -> None:
    """A schema without an upcaster was never released."""
    with pytest.raises(DamagedError, match="never released"):
        _reopen(_body("{}"), third, 0)

"""Sealing and opening events: nothing that is clear can be changed, nothing that is secret can be read."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import Actor, Envelope
from domain.errors import DamagedError
from domain.events import EmbeddingComputed, ProfileCreated
from gateways.jetstream import codec
from gateways.jetstream.keys import Key
from gateways.jetstream.wire import Append, Entry, entry_from, format_time, headers_of

KEY = Key("k" * 26, bytes(range(32)))
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def envelope(name: str = "p", cause: str = "") -> Envelope:
    """An event of the profile p."""
    return Envelope(
        originator_id="p.profile.a",
        originator_version=1,
        event_id="e" * 32,
        recorded_at=NOW,
        actor=Actor("local", "person"),
        data=ProfileCreated(name=name),
        cause=cause,
        key_scope="profile",
    )


def stored(append: Append, position: int = 7) -> Entry:
    """What an append reads back as."""
    subject = f"umbriel.events.20.{append.originator_id}"
    return entry_from(subject, position, headers_of(append), append.body, "umbriel.events")


@given(st.text(), st.text())
def test_an_envelope_comes_back(name: str, cause: str) -> None:
    """Any content survives sealing, the headers and opening."""
    opened = codec.open(stored(codec.seal(envelope(name, cause), KEY)), KEY)
    assert opened == msgspec.structs.replace(envelope(name, cause), key_scope="", key_id=KEY.key_id, position=7)


def test_the_body_is_secret_and_never_the_same_twice() -> None:
    """Neither content nor actor stand in the body, and two sealings of one event differ."""
    first, second = codec.seal(envelope("marzipan"), KEY), codec.seal(envelope("marzipan"), KEY)
    assert b"marzipan" not in first.body
    assert b"local" not in first.body
    assert first.body != second.body
    assert first.key_id == KEY.key_id


def test_without_a_key_the_body_is_clear() -> None:
    """An unencrypted event has no key id and a readable body."""
    sealed = codec.seal(envelope("marzipan"), None, expected=3)
    assert sealed.key_id == ""
    assert sealed.expected == 3
    assert b"marzipan" in sealed.body
    assert codec.open(stored(sealed), None).data == ProfileCreated(name="marzipan")


@pytest.mark.parametrize(
    "change",
    [
        {"originator_id": "q.profile.a"},
        {"version": 2},
        {"topic": "memory.pinned"},
        {"schema": 2},
        {"event_id": "f" * 32},
        {"key_id": ""},
        {"key_id": "l" * 26},
        {"body": b""},
        {"body": bytes(40)},
    ],
    ids=str,
)
def test_a_changed_field_is_noticed(change: dict[str, object]) -> None:
    """Whatever is changed after sealing, opening fails and names the position."""
    entry = msgspec.structs.replace(stored(codec.seal(envelope(), KEY)), **change)
    with pytest.raises(DamagedError, match="position 7"):
        codec.open(entry, KEY)


@given(st.data())
def test_a_flipped_bit_is_noticed(data: st.DataObject) -> None:
    """No bit of the body can be flipped."""
    entry = stored(codec.seal(envelope(), KEY))
    bit = data.draw(st.integers(0, len(entry.body) * 8 - 1))
    body = bytearray(entry.body)
    body[bit // 8] ^= 1 << bit % 8
    with pytest.raises(DamagedError):
        codec.open(msgspec.structs.replace(entry, body=bytes(body)), KEY)


def test_another_key_opens_nothing() -> None:
    """A key of the same id with other bytes is not enough."""
    with pytest.raises(DamagedError):
        codec.open(stored(codec.seal(envelope(), KEY)), Key(KEY.key_id, bytes(32)))


def test_what_can_be_read_with_any_key_is_counted() -> None:
    """Whatever key an event names: one that was copied under another name is found, others open nothing."""
    entries = [stored(codec.seal(envelope(), KEY)) for _ in range(3)]
    other = Key("o" * 26, bytes(range(1, 33)))
    assert codec.readable(entries, [other]) == codec.readable(entries, []) == codec.readable([], [KEY]) == 0
    assert codec.readable(entries, [other, Key("c" * 26, KEY.material)]) == len(entries)
    spoilt = msgspec.structs.replace(entries[0], body=b"short")
    assert codec.readable([spoilt, *entries[1:]], [KEY]) == len(entries) - 1


def test_vectors_are_binary() -> None:
    """The vectors of an embedding survive, whatever bytes they have."""
    vectors = bytes(range(256)) * 6
    event = EmbeddingComputed(embedding="x", model="m", dimension=384, chunks=1, vectors=vectors)
    one = msgspec.structs.replace(envelope(), data=event)
    assert codec.open(stored(codec.seal(one, KEY)), KEY).data == event


def test_times_are_utc_with_microseconds() -> None:
    """The clear time is RFC 3339 in UTC and comes back exactly."""
    assert format_time(NOW) == "2026-01-02T03:04:05.678901Z"
    assert format_time(NOW.replace(microsecond=0)) == "2026-01-02T03:04:05.000000Z"
    assert stored(codec.seal(envelope(), KEY)).recorded_at == NOW


def test_a_foreign_message_reads_but_does_not_open() -> None:
    """A message that nobody of ours wrote does not stop a reader; headers that make no sense are damage."""
    foreign = entry_from("umbriel.events.20.p.memory.a", 9, {}, b"hello", "umbriel.events")
    assert (foreign.version, foreign.topic, foreign.originator_id) == (0, "", "p.memory.a")
    with pytest.raises(DamagedError):
        codec.open(foreign, None)

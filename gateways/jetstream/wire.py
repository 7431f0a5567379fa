"""One event as it lies in the log: its clear headers and its body."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from domain.sealing import Stored
from gateways.jetstream.streams import EVENTS_PREFIX, originator_for

__all__ = [
    "Append",
    "Entry",
    "RawMessage",
    "Tail",
    "entry_from",
    "entry_of",
    "format_time",
    "headers_of",
    "parse_headers",
]

_TOPIC = "Umbriel-Topic"
_SCHEMA = "Umbriel-Schema"
_VERSION = "Umbriel-Version"
_EVENT_ID = "Umbriel-Event-Id"
_RECORDED_AT = "Umbriel-Recorded-At"
_KEY_ID = "Umbriel-Key-Id"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Append(msgspec.Struct, frozen=True):
    """One event to write.

    ``expected`` is the position of the subject's last event that the writer has seen, 0 when the subject
    must be new, None when any is right. In one call the first event of each subject decides.
    """

    originator_id: str
    version: int
    topic: str
    schema: int
    event_id: str
    recorded_at: datetime
    key_id: str
    body: bytes
    expected: int | None = None


class Entry(msgspec.Struct, frozen=True):
    """One event as read; ``position`` is its sequence in the stream, ``body`` as stored (ciphertext)."""

    originator_id: str
    position: int
    version: int
    topic: str
    schema: int
    event_id: str
    recorded_at: datetime
    key_id: str
    body: bytes


class Tail(msgspec.Struct, frozen=True):
    """A step of a reader: the events read, and the position it has passed (no event at or below is missing)."""

    entries: list[Entry]
    passed: int


class RawMessage(msgspec.Struct, frozen=True):
    """A stored message as the server's API shows it."""

    subject: str
    seq: int
    hdrs: str = ""
    data: str = ""

    def headers(self) -> dict[str, str]:
        """Return the message's headers."""
        return parse_headers(base64.b64decode(self.hdrs)) if self.hdrs else {}

    def body(self) -> bytes:
        """Return the message's body."""
        return base64.b64decode(self.data)


def format_time(at: datetime) -> str:
    """Return a time as RFC 3339 in UTC with microseconds."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def headers_of(append: Append) -> dict[str, str]:
    """Return the clear envelope of an event."""
    headers = {
        _TOPIC: append.topic,
        _SCHEMA: str(append.schema),
        _VERSION: str(append.version),
        _EVENT_ID: append.event_id,
        _RECORDED_AT: format_time(append.recorded_at),
    }
    if append.key_id:
        headers[_KEY_ID] = append.key_id
    return headers


def parse_headers(raw: bytes) -> dict[str, str]:
    """Return the headers of a raw NATS header block, without its status line."""
    lines = raw.decode("utf-8", "replace").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name: value.strip() for name, _, value in pairs}


def entry_of(message: Stored, prefix: str = EVENTS_PREFIX) -> Entry:
    """Return the event of a message as it is stored."""
    return entry_from(message.subject, message.position, message.headers, message.body, prefix)


def entry_from(subject: str, position: int, headers: Mapping[str, str], body: bytes, prefix: str) -> Entry:
    """Return the event of a stored message.

    A message without an envelope (not written by us) has version 0 and no topic: reading the log goes on,
    opening that event fails. So it is with headers that hold what they never can.
    """
    originator_id = originator_for(subject, prefix)
    try:
        at = headers.get(_RECORDED_AT)
        return Entry(
            originator_id=originator_id,
            position=position,
            version=int(headers.get(_VERSION, "0")),
            topic=headers.get(_TOPIC, ""),
            schema=int(headers.get(_SCHEMA, "0")),
            event_id=headers.get(_EVENT_ID, ""),
            recorded_at=datetime.fromisoformat(at) if at else _EPOCH,
            key_id=headers.get(_KEY_ID, ""),
            body=body,
        )
    except ValueError:
        return Entry(originator_id, position, 0, "", 0, "", _EPOCH, "", body)

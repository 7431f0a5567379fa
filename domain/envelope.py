"""The envelope every event travels in, and the JSON body under it.

Clear in the log: topic, schema version, profile, aggregate version, event id, recorded_at and
key_id. The body holds actor, cause, correlation and the event itself, and is encrypted under
``key_id`` by the gateway that writes it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from domain.errors import DamagedError
from domain.events import Event, decode_event

__all__ = ["Actor", "Envelope", "decode_body", "encode_body", "profile_of"]


class Actor(msgspec.Struct, frozen=True):
    """Who caused an event: the principal's name and what its grant says it is."""

    principal: str
    type: Literal["person", "agent", "service"]


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """One event with all that is known about how it came to be.

    ``originator_version`` counts from 1 within one aggregate. ``key_scope`` names the key to
    encrypt under when writing (see `domain.kinds`); ``key_id`` is filled when reading. ``position`` is the
    stream sequence when the event was read from the log, else 0.
    """

    originator_id: str
    originator_version: int
    event_id: str
    recorded_at: datetime
    actor: Actor
    data: Event
    cause: str = ""
    correlation: str = ""
    key_scope: str = ""
    key_id: str = ""
    position: int = 0

    @property
    def profile(self) -> str:
        """The profile the event belongs to."""
        return profile_of(self.originator_id)

    @property
    def topic(self) -> str:
        """The event's topic, as ``memory.superseded``."""
        return self.data.TOPIC


class _Body(msgspec.Struct, frozen=True, omit_defaults=True):
    actor: Actor
    data: msgspec.Raw
    cause: str = ""
    correlation: str = ""


def profile_of(originator_id: str) -> str:
    """Return the profile part of an originator id."""
    return originator_id.split(".", 1)[0]


def encode_body(envelope: Envelope) -> bytes:
    """Return the plaintext body: JSON, and for events with binary content a NUL and the bytes."""
    data = msgspec.Raw(msgspec.json.encode(envelope.data.without_blob()))
    body = msgspec.json.encode(_Body(envelope.actor, data, envelope.cause, envelope.correlation))
    blob = envelope.data.blob()
    return body if blob is None else body + b"\0" + blob


def decode_body(
    body: bytes,
    *,
    originator_id: str,
    originator_version: int,
    topic: str,
    schema: int,
    event_id: str,
    recorded_at: datetime,
    key_id: str,
    position: int = 0,
) -> Envelope:
    """Return the envelope of a plaintext body and its clear fields; raises DamagedError."""
    text, _, blob = body.partition(b"\0")
    try:
        parsed = msgspec.json.decode(text, type=_Body)
        data = decode_event(topic, schema, bytes(parsed.data), blob)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise DamagedError(
            "an event's body cannot be read",
            expected=f"{topic} schema {schema}",
            found=f"{error} at position {position}",
        ) from error
    return Envelope(
        originator_id=originator_id,
        originator_version=originator_version,
        event_id=event_id,
        recorded_at=recorded_at,
        actor=parsed.actor,
        data=data,
        cause=parsed.cause,
        correlation=parsed.correlation,
        key_id=key_id,
        position=position,
    )

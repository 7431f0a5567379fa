"""One event of the log as a line of an export: a CloudEvent with the envelope as extension attributes."""

from __future__ import annotations

from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from domain.envelope import Envelope
from domain.events import EmbeddingComputed, Event
from gateways.jetstream.codec import seal
from gateways.jetstream.keys import Key
from gateways.jetstream.wire import Entry
from gateways.service.positions import Positions
from umbriel._json import encoded
from umbriel.exports import ExportedEvent, data_schema

__all__ = ["clear_line", "encrypted_line", "erased_line"]

_ABOUT = ("memory", "message", "extraction", "embedding", "session", "goal", "reflection", "address", "name")


def _subject(event: Event, profile: str) -> str:
    about = (getattr(event, field, "") for field in _ABOUT)
    return next((one for one in about if isinstance(one, str) and one), profile)


def clear_line(
    envelope: Envelope, event: Event, positions: Positions, *, previous: str, item: str, vectors: bool
) -> bytes:
    """Return the line of a readable event; ``event`` is what may be shown of it, ``item`` what an embedding is of."""
    line = ExportedEvent(
        specversion="1.0",
        id=envelope.event_id,
        source=f"umbriel/{envelope.profile}",
        type=event.TOPIC,
        time=envelope.recorded_at,
        dataschema=data_schema(event.TOPIC, event.SCHEMA),
        datacontenttype="application/json",
        subject=item or _subject(event, envelope.profile),
        data=Raw(encoded(event if vectors else event.without_blob())),
        umbrielposition=positions.show(envelope.position),
        umbrielversion=envelope.originator_version,
        umbrielschema=event.SCHEMA,
        umbrielactor=envelope.actor.principal,
        umbrielactortype=envelope.actor.type,
        umbrielcause=envelope.cause,
        umbrielcorrelation=envelope.correlation,
        umbrielprevious=previous,
        umbrielcontent="" if event is envelope.data else "redacted",
    )
    return encoded(line)


def encrypted_line(
    entry: Entry, key: Key | None, shown: tuple[Envelope, Event], positions: Positions, *, previous: str, vectors: bool
) -> bytes:
    """Return the line of an event with its body as stored; what may not be shown is taken out and sealed anew."""
    envelope, event = shown
    if isinstance(event, EmbeddingComputed) and not vectors:
        event = event.without_blob()
    same, body, schema = event is envelope.data, entry.body, entry.schema
    if not same:
        sealed = seal(replace(envelope, data=event), key)
        body, schema = sealed.body, sealed.schema
    line = ExportedEvent(
        **_clear(entry, positions, schema),
        datacontenttype="application/octet-stream",
        data_base64=body,
        umbrielprevious=previous,
        umbrielcontent="" if same else "redacted",
        umbrieloriginator=entry.originator_id,
    )
    return encoded(line)


def erased_line(entry: Entry, positions: Positions, *, previous: str) -> bytes:
    """Return the line of an event whose key was destroyed: that it was, and nothing of what it said."""
    line = ExportedEvent(
        **_clear(entry, positions, entry.schema),
        datacontenttype="application/json",
        umbrielprevious=previous,
        umbrielcontent="erased",
    )
    return encoded(line)


def _clear(entry: Entry, positions: Positions, schema: int) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": entry.event_id,
        "source": f"umbriel/{entry.originator_id.split('.', 1)[0]}",
        "type": entry.topic,
        "time": entry.recorded_at,
        "dataschema": data_schema(entry.topic, schema),
        "umbrielposition": positions.show(entry.position),
        "umbrielversion": entry.version,
        "umbrielschema": schema,
        "umbrielkeyid": entry.key_id,
    }

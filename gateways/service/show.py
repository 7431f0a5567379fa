"""From what the domain and the views hold to what goes over the wire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from domain import events
from domain.memory import Version
from projections.ledger import HistoryRecord, MemoryRecord, MessageRecord
from umbriel._json import with_micros
from umbriel.copies import Origin
from umbriel.types import HistoryEvent, Memory, SourceLine

__all__ = ["show_event", "show_memory", "show_source", "show_version"]


def show_version(version: Version, *, position: str) -> Memory:
    """Return a version as its aggregate knows it, right after a command."""
    written = version.written
    return Memory(
        id=written.memory,
        text=written.text,
        kind=written.kind,
        status=version.status,
        confidence=version.confidence,
        source=written.source,
        recorded_at=version.recorded_at,
        position=position,
        key=written.key,
        fact_type=written.fact_type,
        contact=written.scope or "",
        session=written.session,
        author=version.author,
        author_type=version.author_type,
        pinned=version.pinned,
        sources=list(version.sources),
        occurred_at=written.occurred_at,
        valid_from=written.valid_from,
        valid_to=written.valid_to,
        expires_at=version.expires_at,
        metadata=written.metadata,
        address=written.address,
        stated_at=written.stated_at,
        extraction=written.extraction,
        model=written.model,
        origin=_origin(written.origin, "live"),
    )


def show_memory(record: MemoryRecord, now: datetime, position: Callable[[int], str]) -> Memory:
    """Return a version as the ledger knows it; expiry is judged at ``now``."""
    return Memory(
        id=record.id,
        text=record.text,
        kind=record.kind,
        status=record.status_at(now),
        confidence=record.confidence,
        source=record.source,
        recorded_at=record.recorded_at,
        position=position(record.position),
        key=record.key,
        fact_type=record.fact_type,
        contact=record.scope or "",
        session=record.session,
        author=record.author,
        author_type=record.author_type,
        superseded_by=record.superseded_by,
        pinned=record.pinned,
        sources=list(record.sources),
        occurred_at=record.occurred_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        expires_at=record.expires_at,
        metadata=record.metadata,
        accesses=record.accesses,
        address=record.address,
        stated_at=record.stated_at,
        extraction=record.extraction,
        model=record.model,
        origin=_origin(record.origin, record.origin_status),
    )


def show_event(record: HistoryRecord, position: Callable[[int], str]) -> HistoryEvent:
    """Return one event of a memory's history."""
    return HistoryEvent(
        topic=record.topic,
        at=record.at,
        by=record.actor,
        by_type=record.actor_type,
        position=position(record.position),
        memory=record.memory,
        detail=_told(record),
    )


def _told(record: HistoryRecord) -> dict[str, Any]:
    """Return the fields of an event with its times as they are shown everywhere."""
    times = _times(record.topic)
    return {name: with_micros(one) if name in times and one else one for name, one in record.detail.items()}


@cache
def _times(topic: str) -> frozenset[str]:
    """Return the names of an event's fields that are times."""
    hints = get_type_hints(events.TOPICS[topic]) if topic in events.TOPICS else {}
    return frozenset(name for name, one in hints.items() if one is datetime or datetime in get_args(one))


def show_source(record: MessageRecord) -> SourceLine:
    """Return a message as the source of a memory; a forgotten one has no text."""
    return SourceLine(
        id=record.id,
        session=record.session,
        role=record.role,
        text="" if record.forgotten else record.content,
        name=record.name,
        at=record.at,
        recorded_at=record.recorded_at,
    )


def _origin(origin: events.Origin | None, status: str) -> Origin | None:
    return None if origin is None else Origin(**msgspec.structs.asdict(origin), status=status)

"""From rows to records: the column lists the queries select, and how a row becomes a Struct."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from domain import kinds
from domain.events import Origin
from projections.ledger.records import (
    Conversation,
    HistoryRecord,
    LiveItem,
    MemoryRecord,
    MessageRecord,
    micros,
    moment,
)

__all__ = [
    "CONVERSATION",
    "EXPIRES",
    "HISTORY",
    "ITEM",
    "LIVE_MEMORY",
    "LIVE_MESSAGE",
    "MEMORY",
    "MESSAGE",
    "RESTATES",
    "array",
    "conversation",
    "history",
    "live_memory",
    "live_message",
    "memory",
    "message",
    "optional_micros",
]

MEMORY = """
SELECT m.id, m.address, m.version, m.kind, m.fact_type, m.scope, m.key, m.folded_key, m.text, m.queries, m.session,
    m.source, m.confidence, m.author, m.author_type, m.sources, m.metadata, m.occurred_at, m.valid_from, m.valid_to,
    m.expires_at, m.recorded_at, m.position, m.status, m.superseded_by, m.pinned, coalesce(a.count, 0), a.last_at,
    m.stated_at, m.extraction, m.model,
    (SELECT o.origin FROM origins o WHERE o.memory = m.id), (SELECT o.status FROM origins o WHERE o.memory = m.id)
FROM memories m LEFT JOIN accesses a ON a.memory = m.id
"""

MESSAGE = """
SELECT m.id, m.session, m.role, m.name, m.content, m.at, m.recorded_at, m.position, m.occurrence, m.caller_id,
    m.turn_id, m.author, m.author_type, m.forgotten, coalesce(c.contact, ''), m.utc_offset
FROM messages m LEFT JOIN conversations c ON c.session = m.session
"""

CONVERSATION = "SELECT session, token, contact, channel, created_at, position FROM conversations"

HISTORY = "SELECT position, memory, topic, at, actor, actor_type, detail FROM memory_events"

# Rows of the two below are kept in memory (`remembered`): a column that an event changes later needs its event there.
LIVE_MEMORY = """
SELECT m.id, m.kind, m.text, m.position, m.recorded_at, m.session, m.occurred_at, m.scope, m.key, m.fact_type,
    m.source, m.sources, m.confidence, m.stated_at, m.valid_from, m.valid_to, m.expires_at, m.pinned
FROM memories m
"""

LIVE_MESSAGE = """
SELECT m.id, m.content, m.position, m.recorded_at, m.session, m.at, coalesce(c.contact, ''), m.role, m.name
FROM messages m LEFT JOIN conversations c ON c.session = m.session
"""

#: What the daily reflection wrote: it restates, so its keys are nobody's to write under, and nothing is merged with it.
RESTATES = "(m.source = 'reflection' AND m.model <> '')"

#: What a caller keeps under a key in a store of items: it is nobody's to merge.
ITEM = f"(m.source = 'explicit' AND m.fact_type = '{kinds.ITEM}')"

#: Where a LIVE_MEMORY row says when the memory expires.
EXPIRES = 16

_STRINGS = msgspec.json.Decoder(tuple[str, ...])
_ORIGIN = msgspec.json.Decoder(Origin)
_OBJECT = msgspec.json.Decoder(dict[str, Any])


def array(values: Iterable[object]) -> str:
    """Return the JSON array that ``IN (SELECT value FROM json_each(?))`` takes, for any number of values."""
    return msgspec.json.encode(list(values)).decode()


def optional_micros(at: datetime | None) -> int | None:
    """Return microseconds since 1970, or None."""
    return None if at is None else micros(at)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def memory(row: Sequence[Any] | sqlite3.Row) -> MemoryRecord:
    """Return the record of a MEMORY row."""
    return MemoryRecord(
        id=row[0],
        address=row[1],
        version=row[2],
        kind=row[3],
        fact_type=row[4],
        scope=row[5],
        key=row[6],
        folded_key=row[7],
        text=row[8],
        queries=_STRINGS.decode(row[9]),
        session=row[10],
        source=row[11],
        confidence=row[12],
        author=row[13],
        author_type=row[14],
        sources=_STRINGS.decode(row[15]),
        metadata=_OBJECT.decode(row[16]),
        occurred_at=_moment(row[17]),
        valid_from=_moment(row[18]),
        valid_to=_moment(row[19]),
        expires_at=_moment(row[20]),
        recorded_at=moment(row[21]),
        position=row[22],
        status=row[23],
        superseded_by=row[24],
        pinned=bool(row[25]),
        accesses=row[26],
        last_access=_moment(row[27]),
        stated_at=_moment(row[28]),
        extraction=row[29],
        model=row[30],
        origin=None if row[31] is None else _ORIGIN.decode(row[31]),
        origin_status=row[32] or "",
    )


def message(row: Sequence[Any]) -> MessageRecord:
    """Return the record of a MESSAGE row."""
    return MessageRecord(
        id=row[0],
        session=row[1],
        role=row[2],
        name=row[3],
        content=row[4],
        at=_moment(row[5]),
        recorded_at=moment(row[6]),
        position=row[7],
        occurrence=row[8],
        caller_id=row[9],
        turn_id=row[10],
        author=row[11],
        author_type=row[12],
        forgotten=bool(row[13]),
        contact=row[14],
        utc_offset=row[15],
    )


def conversation(row: Sequence[Any]) -> Conversation:
    """Return the record of a CONVERSATION row."""
    return Conversation(
        session=row[0], token=row[1], contact=row[2], channel=row[3], created_at=moment(row[4]), position=row[5]
    )


def history(row: Sequence[Any]) -> HistoryRecord:
    """Return the record of a HISTORY row."""
    return HistoryRecord(
        position=row[0],
        memory=row[1],
        topic=row[2],
        at=moment(row[3]),
        actor=row[4],
        actor_type=row[5],
        detail=_OBJECT.decode(row[6]),
    )


def live_memory(row: Sequence[Any]) -> LiveItem:
    """Return the item of a LIVE_MEMORY row; its ``at`` is when an event occurred."""
    return LiveItem(
        id=row[0],
        kind=row[1],
        text=row[2],
        position=row[3],
        recorded_at=moment(row[4]),
        session=row[5],
        at=_moment(row[6]),
        contact=row[7] or "",
        key=row[8],
        fact_type=row[9],
        source=row[10],
        sources=_STRINGS.decode(row[11]),
        confidence=row[12],
        stated_at=_moment(row[13]),
        valid_from=_moment(row[14]),
        valid_to=_moment(row[15]),
        pinned=bool(row[17]),
    )


def live_message(row: Sequence[Any]) -> LiveItem:
    """Return the item of a LIVE_MESSAGE row; a message is its own source."""
    return LiveItem(
        id=row[0],
        kind="message",
        text=row[1],
        position=row[2],
        recorded_at=moment(row[3]),
        session=row[4],
        at=_moment(row[5]),
        contact=row[6],
        role=row[7],
        name=row[8],
        source="message",
        sources=(row[0],),
    )

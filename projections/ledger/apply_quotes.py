"""How the ledger knows what reflections rest on, and that what restates a memory ends with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from domain.envelope import Envelope
from domain.events import (
    Event,
    MemoryExpired,
    MemoryForgotten,
    MemoryRejected,
    MemoryRetracted,
    MemorySuperseded,
    ReflectionRecorded,
)
from projections.ledger.rows import array

__all__ = ["follow_quotes", "lose_source", "rest_on"]

_WRITTEN = frozenset({"remembered", "superseded", "late"})
_SAME = "consolidation"
#: What says the same as what it took the place of is no end of that.
_ENDED = """
SELECT m.id, m.status FROM memories m WHERE m.id IN (SELECT value FROM json_each(?)) AND m.status <> 'live'
    AND NOT EXISTS (SELECT 1 FROM memory_events e WHERE e.address = m.address AND e.memory = m.id
        AND e.topic = 'memory.superseded' AND e.other = m.superseded_by AND m.status = 'superseded'
        AND json_extract(e.detail, '$.rule') = ?)
"""
# Nothing follows for what has ended itself, or what a person stands for.
_MISQUOTED = """
INSERT INTO misquotes SELECT DISTINCT m.id, ?1, ?2, ?3 FROM quotes q JOIN memories m ON m.id = q.memory
WHERE q.quoted = ?4 AND m.author_type <> 'person'
    AND (m.status = 'live' OR (?1 = 'forgotten' AND m.status <> 'forgotten'))
ON CONFLICT (memory) DO UPDATE SET how = iif(how = 'forgotten', how, excluded.how), actor = excluded.actor,
    actor_type = excluded.actor_type
"""


def rest_on(db: sqlite3.Connection, envelope: Envelope, event: ReflectionRecorded) -> None:
    """A reflection rests on messages, and its memories on those they restate; some may have ended meanwhile."""
    rows = ((message, envelope.position) for message in event.sources)
    db.executemany("INSERT OR IGNORE INTO reflection_sources VALUES (?, ?)", rows)
    gone = "SELECT 1 FROM forgotten WHERE message IN (SELECT value FROM json_each(?))"
    if event.sources and db.execute(gone, (array(event.sources),)).fetchone():
        db.execute("UPDATE reflections SET text = '' WHERE position = ?", (envelope.position,))
    for one in event.learnings:
        if one.outcome not in _WRITTEN or not one.drawn_from:
            continue
        pairs = ((quoted, one.memory) for quoted in one.drawn_from)
        db.executemany("INSERT OR IGNORE INTO quotes VALUES (?, ?)", pairs)
        for quoted, status in db.execute(_ENDED, (array(one.drawn_from), _SAME)).fetchall():
            _misquoted(db, envelope, [quoted], "forgotten" if status == "forgotten" else "retracted")


def lose_source(db: sqlite3.Connection, message: str) -> None:
    """Take out the words of the reflections that rest on a forgotten message."""
    db.execute(
        "UPDATE reflections SET text = '' WHERE position IN"
        " (SELECT reflection FROM reflection_sources WHERE message = ?)",
        (message,),
    )


def follow_quotes(db: sqlite3.Connection, envelope: Envelope, event: Event) -> None:
    """Note what the end of a memory entails for those that restate it, and that one of them has ended."""
    match event:
        case MemoryForgotten():
            _misquoted(db, envelope, event.memories, "forgotten")
            db.executemany("DELETE FROM misquotes WHERE memory = ?", ((one,) for one in event.memories))
        case MemorySuperseded(rule=rule) if rule == _SAME:
            sql = "INSERT OR IGNORE INTO quotes SELECT ?1, memory FROM quotes WHERE quoted = ?2 AND memory <> ?1"
            db.execute(sql, (event.by, event.memory))
            _settled(db, event.memory)
        case MemorySuperseded() | MemoryRetracted() | MemoryRejected() | MemoryExpired():
            _misquoted(db, envelope, [event.memory], "retracted")
            _settled(db, event.memory)


def _misquoted(db: sqlite3.Connection, envelope: Envelope, quoted: Iterable[str], how: str) -> None:
    actor = envelope.actor
    db.executemany(_MISQUOTED, ((how, actor.principal, actor.type, one) for one in quoted))


def _settled(db: sqlite3.Connection, memory: str) -> None:
    """What is not live any more need not be retracted."""
    db.execute("DELETE FROM misquotes WHERE memory = ? AND how = 'retracted'", (memory,))

"""How copies change the ledger: where they come from, and what an original still has to tell its copies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from domain.envelope import Envelope
from domain.events import (
    CopyFollowed,
    Event,
    MemoryCopied,
    MemoryExpired,
    MemoryForgotten,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemorySuperseded,
    OriginChanged,
)

__all__ = ["project_copies"]

_HOW: dict[type[Event], str] = {
    MemoryForgotten: "forgotten",
    MemoryRetracted: "retracted",
    MemoryRejected: "rejected",
    MemorySuperseded: "superseded",
    MemoryExpired: "expired",
    MemoryRestored: "live",
}


def project_copies(db: sqlite3.Connection, envelope: Envelope, event: Event) -> None:
    """Note what an event means for copies, of either side."""
    match event:
        case MemoryRemembered(origin=origin) if origin is not None:
            db.execute(
                "INSERT OR REPLACE INTO origins VALUES (?, ?, 'live')",
                (event.memory, msgspec.json.encode(origin).decode()),
            )
        case OriginChanged():
            db.execute("UPDATE origins SET status = ? WHERE memory = ?", (event.status, event.memory))
        case MemoryCopied():
            row = (event.memory, event.profile, event.copy)
            db.execute("INSERT OR IGNORE INTO copies VALUES (?, ?, ?)", row)
        case CopyFollowed():
            _told(db, event)
        case _ if (how := _HOW.get(type(event))) is not None:
            memories = event.memories if isinstance(event, MemoryForgotten) else (getattr(event, "memory"),)  # noqa: B009
            _tell(db, envelope, how, memories)


def _tell(db: sqlite3.Connection, envelope: Envelope, how: str, memories: Iterable[str]) -> None:
    """The last that happened is what copies are told; that it was forgotten is the last of all."""
    actor = envelope.actor
    db.executemany(
        "INSERT INTO untold SELECT memory, profile, copy, ?, ?, ?, ? FROM copies WHERE memory = ?"
        " ON CONFLICT (memory, profile, copy) DO UPDATE SET how = excluded.how, event = excluded.event,"
        " actor = excluded.actor, actor_type = excluded.actor_type",
        ((how, envelope.event_id, actor.principal, actor.type, memory) for memory in memories),
    )


def _told(db: sqlite3.Connection, event: CopyFollowed) -> None:
    values = (event.memory, event.profile, event.copy)
    db.execute("DELETE FROM untold WHERE memory = ? AND profile = ? AND copy = ? AND event = ?", (*values, event.event))
    if event.how == "forgotten":
        db.execute("DELETE FROM copies WHERE memory = ? AND profile = ? AND copy = ?", values)

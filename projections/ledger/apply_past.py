"""How the ledger keeps what was: every event's clock, and each state that a version, a link or a count has had."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from domain.envelope import Envelope
from projections.ledger.records import micros
from projections.ledger.rows import array

__all__ = ["forget_states", "note_clock", "note_counts", "note_states", "note_unlinked"]

_STATE = "status, superseded_by, confidence, pinned, expires_at, author_type, sources, metadata"
_NOW = f"{_STATE}, coalesce((SELECT o.status FROM origins o WHERE o.memory = m.id), '')"
_CLOSE = f"""
UPDATE states SET to_position = ?1 WHERE memory = ?2 AND to_position IS NULL
    AND ({_STATE}, origin_status) IS NOT (SELECT {_NOW} FROM memories m WHERE m.id = ?2)
"""
_OPEN = f"""
INSERT INTO states SELECT m.id, ?1, NULL, {_NOW} FROM memories m WHERE m.id = ?2
    AND NOT EXISTS (SELECT 1 FROM states s WHERE s.memory = ?2 AND s.to_position IS NULL)
"""
_COUNT = """
INSERT INTO access_counts SELECT m.position, ?1, a.count FROM memories m JOIN accesses a ON a.memory = m.id
    WHERE m.id = ?2
"""


def note_clock(db: sqlite3.Connection, envelope: Envelope) -> None:
    """Write down when an event was recorded."""
    db.execute("INSERT INTO clock VALUES (?, ?)", (envelope.position, micros(envelope.recorded_at)))


def note_states(db: sqlite3.Connection, envelope: Envelope, memories: Iterable[str]) -> None:
    """Begin a new state of those of these versions that are not as they were before the event."""
    for memory in memories:
        db.execute(_CLOSE, (envelope.position, memory))
        db.execute(_OPEN, (envelope.position, memory))


def forget_states(db: sqlite3.Connection, memories: Iterable[str]) -> None:
    """What a forgotten version said is in none of its states."""
    db.execute("UPDATE states SET metadata = '{}' WHERE memory IN (SELECT value FROM json_each(?))", (array(memories),))


def note_counts(db: sqlite3.Connection, envelope: Envelope, memories: Iterable[str]) -> None:
    """Write down how often these versions have been accessed by now."""
    db.executemany(_COUNT, ((envelope.position, memory) for memory in memories))


def note_unlinked(db: sqlite3.Connection, envelope: Envelope, pairs: Iterable[tuple[str, str]]) -> None:
    """Keep links that are about to be undone as links of the past."""
    db.executemany(
        "INSERT INTO past_links SELECT contact, other, position, ?1 FROM contact_links"
        " WHERE contact = ?2 AND other = ?3",
        ((envelope.position, *pair) for pair in pairs),
    )

"""What the ledger knows of erasures: whether something is blocked, what is still to be destroyed, and what it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

import msgspec

from projections.ledger.grounds import Overdue
from projections.ledger.records import moment
from projections.ledger.rows import array
from projections.ledger.store import Store

__all__ = ["ErasureQueries", "ErasureRecord", "Held", "ToGo"]

_RECORD = "SELECT id, target, at, actor, actor_type, position, lifted FROM erasures"
_MESSAGES = "SELECT id FROM messages WHERE session IN (SELECT value FROM json_each(?))"
_MEMORIES = """
SELECT id FROM memories WHERE scope = ? OR id = ? OR (session IN (SELECT value FROM json_each(?)) AND session <> ''
    AND source IN ('turn', 'ingest', 'pre-compaction', 'consolidation', 'reflection'))
"""
# What was consolidated into something that goes, and stays itself.
_MEMBERS = """
SELECT e.memory FROM memory_events e JOIN memories m ON m.id = e.memory JOIN memories c ON c.id = e.other
WHERE e.topic = 'memory.superseded' AND json_extract(e.detail, '$.rule') = 'consolidation'
    AND m.status = 'superseded' AND m.superseded_by = e.other AND c.status = 'forgotten'
"""


class ErasureRecord(msgspec.Struct, frozen=True):
    """A tombstone: what kind of thing was erased, who did it and when."""

    id: str
    target: str
    at: datetime
    actor: str
    actor_type: str
    position: int
    lifted: bool


class ToGo(msgspec.Struct, frozen=True):
    """A key that is to be destroyed: the scope it is of, empty where only its id is known."""

    erasure: str
    key: str
    scope: str


class Held(msgspec.Struct, frozen=True):
    """What a profile holds of a contact, a session or a memory."""

    sessions: tuple[str, ...]
    messages: tuple[str, ...]
    memories: tuple[str, ...]
    linked: tuple[str, ...] = ()


class ErasureQueries:
    """Reads of what was erased; part of `Ledger`."""

    _store: Store

    def erasure(self, target: str, hashed: str) -> ErasureRecord | None:
        """Return the tombstone of what is called so, whether it is lifted or not."""
        with self._store.read() as db:
            row = db.execute(f"{_RECORD} WHERE target = ? AND name = ?", (target, hashed)).fetchone()
        return None if row is None else _record(row)

    def erasures(self, ids: Sequence[str] | None = None) -> list[ErasureRecord]:
        """Return tombstones, all of them by default, the oldest first."""
        where = "" if ids is None else " WHERE id IN (SELECT value FROM json_each(?))"
        with self._store.read() as db:
            found = db.execute(f"{_RECORD}{where} ORDER BY position", () if ids is None else (array(ids),)).fetchall()
        return [_record(row) for row in found]

    def to_destroy(self) -> list[ToGo]:
        """Return the keys that are to go and are not recorded as gone."""
        with self._store.read() as db:
            return [ToGo(*row) for row in db.execute("SELECT erasure, key, scope FROM erasing ORDER BY erasure, key")]

    def evicted(self, limit: int) -> list[Overdue]:
        """Return memories that were erased and are still to be forgotten by an event, and by whom."""
        with self._store.read() as db:
            return [Overdue(*row) for row in db.execute("SELECT * FROM evicted ORDER BY memory LIMIT ?", (limit,))]

    def bereaved(self) -> list[str]:
        """Return memories that were consolidated into one that is gone, and still count as replaced by it."""
        with self._store.read() as db:
            return [row[0] for row in db.execute(_MEMBERS)]

    def held(self, *, contact: str = "", session: str = "", memory: str = "") -> Held:
        """Return what is there of a contact, a session or a memory."""
        with self._store.read() as db:
            sessions = [session] if session else _sessions(db, contact)
            asked = (contact or None, memory, array(sessions))
            linked = db.execute("SELECT other FROM contact_links WHERE contact = ? ORDER BY other", (contact,))
            return Held(
                tuple(sessions),
                tuple(row[0] for row in db.execute(_MESSAGES, (array(sessions),))),
                tuple(row[0] for row in db.execute(_MEMORIES, asked)),
                tuple(row[0] for row in linked),
            )


def _sessions(db: sqlite3.Connection, contact: str) -> list[str]:
    sql = "SELECT session FROM conversations WHERE contact = ? AND contact <> '' ORDER BY position"
    return [row[0] for row in db.execute(sql, (contact,))]


def _record(row: Sequence[str | int]) -> ErasureRecord:
    id_, target, at, actor, actor_type, position, lifted = row
    return ErasureRecord(
        str(id_), str(target), moment(int(at)), str(actor), str(actor_type), int(position), bool(lifted)
    )

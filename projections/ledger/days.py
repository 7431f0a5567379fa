"""Questions about one day: what was said on it, what was remembered, and what restates something that has ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from projections.ledger import rows
from projections.ledger.records import MemoryRecord, MessageRecord, micros
from projections.ledger.store import Store

__all__ = ["DayQueries", "Misquote"]

_SAID = f"""
{rows.MESSAGE} WHERE m.forgotten = 0 AND coalesce(m.at, m.recorded_at) >= ? AND coalesce(m.at, m.recorded_at) < ?
ORDER BY m.position
"""
# What reflections, merges and copies say is in other words, or elsewhere, already.
_WRITTEN = f"""
{rows.MEMORY} WHERE m.status = 'live' AND m.source NOT IN ('reflection', 'consolidation', 'copy')
    AND (m.expires_at IS NULL OR m.expires_at > ?)
    AND coalesce(m.stated_at, m.recorded_at) >= ? AND coalesce(m.stated_at, m.recorded_at) < ? ORDER BY m.position
"""


class Misquote(msgspec.Struct, frozen=True):
    """A memory that restates one that has ended, how it is to end itself, and who ended that one."""

    memory: str
    how: Literal["forgotten", "retracted"]
    actor: str
    actor_type: str


class DayQueries:
    """Reads of the daily reflection; part of `Ledger`."""

    _store: Store

    def said_between(self, start: datetime, end: datetime) -> list[MessageRecord]:
        """Return the messages that were said from ``start`` until before ``end``, in the order they were recorded."""
        with self._store.read() as db:
            return [rows.message(row) for row in db.execute(_SAID, (micros(start), micros(end))).fetchall()]

    def stated_between(self, start: datetime, end: datetime, *, now: datetime) -> list[MemoryRecord]:
        """Return what is live of the memories first stated from ``start`` until before ``end``, in their order."""
        parameters = (micros(now), micros(start), micros(end))
        with self._store.read() as db:
            return [rows.memory(row) for row in db.execute(_WRITTEN, parameters).fetchall()]

    def last_in(self, sessions: Sequence[str]) -> dict[str, int]:
        """Return the position of the last message of each session that is not forgotten."""
        sql = (
            "SELECT session, max(position) FROM messages WHERE forgotten = 0"
            " AND session IN (SELECT value FROM json_each(?)) GROUP BY session"
        )
        with self._store.read() as db:
            return dict(db.execute(sql, (rows.array(sessions),)).fetchall())

    def misquotes(self, limit: int) -> list[Misquote]:
        """Return memories that restate one that has ended, as long as nothing came of it."""
        sql = "SELECT memory, how, actor, actor_type FROM misquotes ORDER BY memory LIMIT ?"
        with self._store.read() as db:
            return [Misquote(*row) for row in db.execute(sql, (limit,)).fetchall()]

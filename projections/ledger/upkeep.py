"""Questions of the daily passes: what nobody has used for long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from domain.upkeep import day_of
from projections.ledger import rows
from projections.ledger.records import MemoryRecord, micros, moment
from projections.ledger.store import Store

__all__ = ["PassRecord", "Unused", "UpkeepQueries"]

_COUNTS = msgspec.json.Decoder(dict[str, int])
# What was said again, or brought back, or looked after by hand, was used as well.
_LAST_USE = """max(m.recorded_at, coalesce(a.last_at, 0), coalesce((SELECT max(e.at) FROM memory_events e
    WHERE e.address = m.address AND e.memory = m.id AND e.topic IN
    ('memory.restored', 'memory.revised', 'memory.pinned', 'memory.unpinned', 'memory.expiry_set')), 0))"""
_UNUSED = f"""
{rows.MEMORY} WHERE m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > ?) AND m.pinned = 0
    AND m.confidence > ? AND m.decayed_on < ? AND NOT (? AND m.author_type = 'person') AND m.position > ?
    AND {_LAST_USE} <= ? ORDER BY m.position LIMIT ?
"""

_SCOPES = """
SELECT scope, kind FROM memories WHERE status = 'live' AND kind <> 'task' AND (expires_at IS NULL OR expires_at > ?)
GROUP BY scope, kind HAVING count(*) > 1 ORDER BY max(position) DESC
"""
# What somebody brought back stays by itself, and so does a copy and what restates: what becomes of its original reaches
# it.
_NEWEST = f"""
{rows.MEMORY} WHERE m.status = 'live' AND m.kind <> 'task' AND (m.expires_at IS NULL OR m.expires_at > ?)
    AND m.scope IS ? AND m.source <> 'copy' AND NOT {rows.RESTATES} AND NOT {rows.ITEM}
    AND NOT EXISTS (SELECT 1 FROM memory_events e
        WHERE e.address = m.address AND e.memory = m.id AND e.topic = 'memory.restored')
    ORDER BY m.position DESC LIMIT ?
"""
_CONTRADICTED = """
SELECT memory, other FROM memory_events WHERE topic = 'memory.contradiction_noted' AND other <> ''
    AND other IN (SELECT value FROM json_each(?))
"""


class Unused(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories to look for: live at ``as_of``, not used in ``days``, above ``floor``, and not decayed that day.

    With ``spare_people`` those that a person stated are left out.
    """

    as_of: datetime
    days: int
    floor: float
    spare_people: bool


class PassRecord(msgspec.Struct, frozen=True):
    """The last pass of a name over the profile: the UTC day it was for, what it did, and when."""

    name: str
    day: str
    counts: dict[str, int]
    at: datetime
    scheduled: bool


class UpkeepQueries:
    """Reads of what is to be kept up; part of `Ledger`."""

    _store: Store

    def unused(self, wanted: Unused, *, after: int, limit: int) -> Sequence[MemoryRecord]:
        """Return memories behind a position that nobody used, oldest first; pinned ones are never among them."""
        parameters = (
            micros(wanted.as_of),
            wanted.floor,
            day_of(wanted.as_of),
            wanted.spare_people,
            after,
            micros(wanted.as_of - timedelta(days=wanted.days)),
            limit,
        )
        with self._store.read() as db:
            return [rows.memory(row) for row in db.execute(_UNUSED, parameters).fetchall()]

    def decays(self, day: str) -> int:
        """Return how many versions decayed last on a day."""
        with self._store.read() as db:
            (found,) = db.execute("SELECT count(*) FROM memories WHERE decayed_on = ?", (day,)).fetchone()
        return int(found)

    def passes(self) -> list[PassRecord]:
        """Return the last pass of each name, the scheduled and the one that somebody asked for."""
        with self._store.read() as db:
            found = db.execute("SELECT name, day, counts, at, scheduled FROM passes ORDER BY name, at").fetchall()
        return [PassRecord(row[0], row[1], _COUNTS.decode(row[2]), moment(row[3]), bool(row[4])) for row in found]

    def scopes_to_merge(self, as_of: datetime) -> list[str | None]:
        """Return the scopes that have more than one live memory of a kind, the one written to last first."""
        with self._store.read() as db:
            found = db.execute(_SCOPES, (micros(as_of),)).fetchall()
        return list(dict.fromkeys(row[0] for row in found))

    def newest(self, scope: str | None, *, as_of: datetime, limit: int) -> list[MemoryRecord]:
        """Return the newest live memories of just this scope that may be merged, newest first; no tasks."""
        with self._store.read() as db:
            found = db.execute(_NEWEST, (micros(as_of), scope, limit)).fetchall()
        return [rows.memory(row) for row in found]

    def contradicting(self, ids: Sequence[str]) -> frozenset[frozenset[str]]:
        """Return the pairs of which one was noted to contradict the other, the latter among these ids."""
        with self._store.read() as db:
            return frozenset(frozenset(row) for row in db.execute(_CONTRADICTED, (rows.array(ids),)).fetchall())

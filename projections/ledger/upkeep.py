"""Questions of the daily passes: what nobody has used for long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from domain.upkeep import day_of
from projections.ledger import rows
from projections.ledger.records import MemoryRecord, micros
from projections.ledger.store import Store

__all__ = ["Unused", "UpkeepQueries"]

# What was said again, or brought back, or looked after by hand, was used as well.
_LAST_USE = """max(m.recorded_at, coalesce(a.last_at, 0), coalesce((SELECT max(e.at) FROM memory_events e
    WHERE e.address = m.address AND e.memory = m.id AND e.topic IN
    ('memory.restored', 'memory.revised', 'memory.pinned', 'memory.unpinned', 'memory.expiry_set')), 0))"""
_UNUSED = f"""
{rows.MEMORY} WHERE m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > ?) AND m.pinned = 0
    AND m.confidence > ? AND m.decayed_on < ? AND NOT (? AND m.author_type = 'person') AND m.position > ?
    AND {_LAST_USE} <= ? ORDER BY m.position LIMIT ?
"""


class Unused(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories to look for: live at ``as_of``, not used in ``days``, above ``floor``, and not decayed that day.

    With ``spare_people`` those that a person stated are left out.
    """

    as_of: datetime
    days: int
    floor: float
    spare_people: bool


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

"""The past: a time or a position as a point of the log, and versions as they were there.

A state holds from the position of the event that made it up to before that of the next one. A time means the last
event recorded by then; what it finds is judged by the clock of then, so that an expiry of today ends nothing of the
past. What was forgotten since stays forgotten: its row has no text any more, and its status says so.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from projections.ledger.records import AsOf, micros, moment
from projections.ledger.rows import array
from projections.ledger.store import Store

__all__ = ["PastQueries", "clock_of", "memories_then"]

#: Events recorded so close to one another (in microseconds) may be in the log in another order than their clocks say.
_SKEW = 60_000_000
# The last event recorded by then, and the last one before what was recorded next: where a clock once was far wrong,
# one of the two still tells.
_AT = """
SELECT (SELECT max(position) FROM clock WHERE at <= ?1 AND at > (SELECT max(at) FROM clock WHERE at <= ?1) - ?2),
    (SELECT max(position) FROM clock WHERE position < coalesce((SELECT min(position) FROM clock
        WHERE at > ?1 AND at < (SELECT min(at) FROM clock WHERE at > ?1) + ?2), 0x7fffffffffffffff))
"""
_THEN = """
SELECT m.id, m.address, m.version, m.kind, m.fact_type, m.scope, m.key, m.folded_key, m.text, m.queries, m.session,
    m.source, m.confidence, m.author, m.author_type, m.sources, m.metadata, m.occurred_at, m.valid_from, m.valid_to,
    m.expires_at, m.recorded_at, m.position, m.status, m.superseded_by, m.pinned,
    coalesce((SELECT c.count FROM access_counts c WHERE c.version = m.position AND c.position <= {position}
        ORDER BY c.position DESC LIMIT 1), 0), NULL, m.stated_at, m.extraction, m.model,
    (SELECT o.origin FROM origins o WHERE o.memory = m.id), m.origin_status
FROM (SELECT v.id, v.address, v.version, v.kind, v.fact_type, v.scope, v.key, v.folded_key, v.text, v.queries,
        v.session, v.source, s.confidence, v.author, s.author_type, s.sources, s.metadata, v.occurred_at, v.valid_from,
        v.valid_to, s.expires_at, v.recorded_at, v.position,
        iif(v.status = 'forgotten', 'forgotten', s.status) AS status,
        s.superseded_by, s.pinned, v.stated_at, v.extraction, v.model, s.origin_status
    FROM memories v JOIN states s ON s.memory = v.id
    WHERE s.from_position <= {position} AND (s.to_position IS NULL OR s.to_position > {position})) m
"""


def memories_then(as_of: AsOf) -> str:
    """Return what selects the columns of `rows.MEMORY` as of a point, under the same name ``m``.

    Of accesses only the number is known, not when the last one was.
    """
    return _THEN.format(position=int(as_of.position))


def clock_of(db: sqlite3.Connection, position: int) -> datetime | None:
    """Return when the last event at or before a position was recorded, None where there is none."""
    row = db.execute("SELECT at FROM clock WHERE position <= ? ORDER BY position DESC LIMIT 1", (position,)).fetchone()
    return None if row is None else moment(row[0])


class PastQueries:
    """Reads of when things were; part of `Ledger`."""

    _store: Store

    def as_of(self, point: int | datetime) -> AsOf | None:
        """Return a position, or a time of recording, as a point of the past; None before the profile's first event.

        A position's clock is when the last event up to it was recorded; a time's position is that of the last event
        recorded by then, in the log's order where clocks differ by less than a minute.
        """
        with self._store.read() as db:
            if isinstance(point, datetime):
                last, before = db.execute(_AT, (micros(point), _SKEW)).fetchone()
                return None if last is None else AsOf(max(last, before or 0), point)
            clock = clock_of(db, point)
            return None if clock is None else AsOf(point, clock)

    def session_names(self, contacts: Sequence[str]) -> list[str]:
        """Return the sessions that belong to one of these contacts, as written."""
        sql = "SELECT session FROM conversations WHERE contact IN (SELECT value FROM json_each(?)) AND contact <> ''"
        with self._store.read() as db:
            return [row[0] for row in db.execute(sql, (array(contacts),))]

    def last_event(self, position: int) -> int:
        """Return the position of the profile's last event at or before another position, 0 where there is none."""
        with self._store.read() as db:
            (found,) = db.execute("SELECT max(position) FROM clock WHERE position <= ?", (position,)).fetchone()
        return found or 0

    def began(self) -> AsOf | None:
        """Return the position and clock of the profile's first event."""
        with self._store.read() as db:
            row = db.execute("SELECT position, at FROM clock ORDER BY position LIMIT 1").fetchone()
        return None if row is None else AsOf(row[0], moment(row[1]))

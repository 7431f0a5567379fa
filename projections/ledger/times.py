"""What happened in a stretch of time: memories by when they happened or held, messages by when they were said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from projections.ledger import rows
from projections.ledger.matching import MATCHES, matching
from projections.ledger.records import micros
from projections.ledger.store import Store

__all__ = ["TimeQueries"]

_HAPPENED = "coalesce(m.occurred_at, m.valid_from, m.stated_at, m.recorded_at)"
_MEMORIES = f"""
SELECT m.id FROM memories m WHERE {_HAPPENED} >= ? AND {_HAPPENED} < ?
    AND m.valid_from IS NULL AND m.valid_to IS NULL AND {MATCHES}
UNION ALL
SELECT m.id FROM memories m WHERE (m.valid_from IS NOT NULL OR m.valid_to IS NOT NULL)
    AND (m.valid_from IS NULL OR m.valid_from < ?) AND (m.valid_to IS NULL OR m.valid_to >= ?) AND {MATCHES}
"""
_LATEST_MEMORIES = f"""
SELECT m.id FROM memories m WHERE m.id IN ({_MEMORIES}) ORDER BY {_HAPPENED} DESC, m.position DESC LIMIT ?
"""
_MESSAGES = """
SELECT m.id FROM messages m LEFT JOIN conversations c ON c.session = m.session
WHERE coalesce(m.at, m.recorded_at) >= ? AND coalesce(m.at, m.recorded_at) < ? AND m.forgotten = 0
    AND (? OR c.token IN (SELECT value FROM json_each(?)))
ORDER BY coalesce(m.at, m.recorded_at) DESC, m.position DESC LIMIT ?
"""

Spans = Iterable[tuple[datetime, datetime]]


class TimeQueries:
    """Reads by time; part of `Ledger`. Each span is from its first moment up to before its second."""

    _store: Store

    def memories_within(
        self,
        spans: Spans,
        *,
        now: datetime,
        scopes: Sequence[str | None] | None = None,
        kinds: frozenset[str] | None = None,
        limit: int = 100,
    ) -> list[str]:
        """Return the live memories of any of these times, at most ``limit`` of each, the latest first."""
        allowed = matching(now, scopes, kinds)
        found: dict[str, None] = {}
        with self._store.read() as db:
            for start, end in spans:
                first, last = micros(start), micros(end)
                parameters = (first, last, *allowed, last, first, *allowed, limit)
                found.update((row[0], None) for row in db.execute(_LATEST_MEMORIES, parameters))
        return list(found)

    def messages_within(self, spans: Spans, *, tokens: frozenset[str] | None = None, limit: int = 100) -> list[str]:
        """Return the messages of any of these times, at most ``limit`` of each, of sessions with one of the tokens."""
        found: dict[str, None] = {}
        with self._store.read() as db:
            for start, end in spans:
                parameters = (micros(start), micros(end), tokens is None, rows.array(sorted(tokens or ())), limit)
                found.update((row[0], None) for row in db.execute(_MESSAGES, parameters))
        return list(found)

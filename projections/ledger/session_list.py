"""Which conversations there are, the one heard last first."""

from __future__ import annotations

from datetime import datetime

import msgspec

from projections.ledger.contacts import group_of
from projections.ledger.records import micros, moment
from projections.ledger.rows import array
from projections.ledger.store import Store

__all__ = ["SessionListQueries", "SessionRecord"]

_SESSIONS = """
SELECT c.session, c.contact, c.channel, count(*), min(coalesce(m.at, m.recorded_at)),
    max(coalesce(m.at, m.recorded_at)), max(m.position) AS last
FROM conversations c JOIN messages m ON m.session = c.session AND m.forgotten = 0
WHERE (?1 OR c.contact IN (SELECT value FROM json_each(?2))) AND m.recorded_at >= ?3
GROUP BY c.session HAVING last < ?4 ORDER BY last DESC LIMIT ?5
"""


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation with messages: how many, when the first and the last was said, and where the last one stands."""

    session: str
    contact: str
    channel: str
    messages: int
    first_at: datetime
    last_at: datetime
    position: int


class SessionListQueries:
    """Reads of which conversations there are; part of `Ledger`."""

    _store: Store

    def session_list(
        self,
        contact: str,
        *,
        before: int,
        limit: int,
        within: frozenset[str] | None = None,
        since: datetime | None = None,
    ) -> list[SessionRecord]:
        """Return the conversations of a contact and all it is linked with, heard last before a position.

        Without a contact those that have none, ``*`` is all. What was recorded before ``since`` is left out.
        """
        everybody = contact == "*"
        with self._store.read() as db:
            whose = group_of(db, contact, within) if contact and not everybody else (contact,)
            asked = (everybody, array(whose), micros(since) if since else 0, before, limit)
            found = db.execute(_SESSIONS, asked).fetchall()
        return [
            SessionRecord(
                session=session,
                contact=of,
                channel=channel,
                messages=messages,
                first_at=moment(first),
                last_at=moment(last),
                position=position,
            )
            for session, of, channel, messages, first, last, position in found
        ]

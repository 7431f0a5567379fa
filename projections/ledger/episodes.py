"""Questions about how a conversation is shown: its messages in order, overlays, and the summary of all."""

from __future__ import annotations

from datetime import datetime

import msgspec

from projections.ledger import rows
from projections.ledger.records import MessageRecord, moment
from projections.ledger.store import Store

__all__ = ["EpisodeQueries", "OverlayRecord", "SummaryRecord"]

_OVERLAYS = """
SELECT id, first_position, last_position, messages, summary, tokens, model, at, position FROM overlays
WHERE session = ? ORDER BY first_position
"""
_SUMMARIES = """
SELECT summary, upto, tokens, model, at, archived_at, position FROM summaries
WHERE session = ? ORDER BY position DESC LIMIT ?
"""


class OverlayRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that stands for the messages between two positions of the log."""

    id: str
    first_position: int
    last_position: int
    messages: int
    summary: str
    tokens: int
    model: str
    at: datetime
    position: int


class SummaryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A summary of everything up to a position; ``archived_at`` is when another took its place."""

    summary: str
    upto: int
    tokens: int
    model: str
    at: datetime
    archived_at: datetime | None
    position: int


class EpisodeQueries:
    """Reads of conversations as they are shown; part of `Ledger`."""

    _store: Store

    def outline(self, session: str) -> list[int]:
        """Return the positions of a session's messages that are not forgotten, in the order they were recorded."""
        sql = "SELECT position FROM messages WHERE session = ? AND forgotten = 0 ORDER BY position"
        with self._store.read() as db:
            return [row[0] for row in db.execute(sql, (session,))]

    def messages_between(self, session: str, first: int, last: int) -> list[MessageRecord]:
        """Return the messages of a session between two positions, both included, that are not forgotten."""
        sql = (
            f"{rows.MESSAGE} WHERE m.session = ? AND m.forgotten = 0 AND m.position BETWEEN ? AND ? ORDER BY m.position"
        )
        with self._store.read() as db:
            found = db.execute(sql, (session, first, last)).fetchall()
        return [rows.message(row) for row in found]

    def overlays(self, session: str) -> list[OverlayRecord]:
        """Return the overlays of a session in order."""
        with self._store.read() as db:
            found = db.execute(_OVERLAYS, (session,)).fetchall()
        return [
            OverlayRecord(
                id=row[0],
                first_position=row[1],
                last_position=row[2],
                messages=row[3],
                summary=row[4],
                tokens=row[5],
                model=row[6],
                at=moment(row[7]),
                position=row[8],
            )
            for row in found
        ]

    def lost_overlays(self, session: str) -> list[str]:
        """Return the overlays of a session that lost a message and whose place nothing has taken."""
        with self._store.read() as db:
            return [row[0] for row in db.execute("SELECT id FROM lost_overlays WHERE session = ?", (session,))]

    def summaries(self, session: str, limit: int = 10) -> list[SummaryRecord]:
        """Return the summaries of everything in a session, the present one first."""
        with self._store.read() as db:
            found = db.execute(_SUMMARIES, (session, limit)).fetchall()
        return [
            SummaryRecord(
                summary=row[0],
                upto=row[1],
                tokens=row[2],
                model=row[3],
                at=moment(row[4]),
                archived_at=None if row[5] is None else moment(row[5]),
                position=row[6],
            )
            for row in found
        ]

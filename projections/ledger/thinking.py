"""Questions of the workers that think: what is still to be read or judged, what failed, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain.text import fold_content, skeleton
from domain.transcript import KnownKey
from projections.ledger import rows
from projections.ledger.records import (
    ExtractionRecord,
    MemoryRecord,
    MessageRecord,
    RefusalRecord,
    ThinkingCounts,
    UnreadSession,
    UsageRecord,
    micros,
    moment,
)
from projections.ledger.store import Store

__all__ = ["ThinkingQueries"]

_UNREAD = "m.extracted = 0 AND m.forgotten = 0"
_SESSIONS = f"""
SELECT m.session, coalesce(c.contact, ''), count(*), min(m.position), max(m.position), max(m.recorded_at),
    max(m.role = 'assistant')
FROM messages m LEFT JOIN conversations c ON c.session = m.session
WHERE {_UNREAD} AND (? IS NULL OR m.session = ?) GROUP BY m.session ORDER BY min(m.position) LIMIT ?
"""
_EXTRACTION = """
SELECT id, session, source, pipeline, model, state, reason, tries, messages, items, dropped, at, position
FROM extractions
"""
_UNJUDGED = """
m.judged = 0 AND m.status = 'live' AND m.kind <> 'task' AND (m.expires_at IS NULL OR m.expires_at > ?)
"""
_COUNTS = f"""
SELECT (SELECT count(*) FROM messages m WHERE {_UNREAD}),
    (SELECT count(*) FROM extractions WHERE state = 'failed'),
    (SELECT count(*) FROM memories m WHERE {_UNJUDGED})
"""
_KEYS = f"""
SELECT m.key, m.text FROM memories m WHERE m.folded_key <> '' AND m.status = 'live' AND m.scope IS ?
    AND (m.expires_at IS NULL OR m.expires_at > ?) AND NOT {rows.RESTATES}
ORDER BY m.position DESC LIMIT ?
"""
# Only a later version says what its address does not derive from. The plus keeps SQLite off the index of scopes.
_SAYING = f"""
{rows.MEMORY} WHERE m.skeleton = ? AND m.folded_key = '' AND m.version > 1 AND m.kind = ? AND +m.scope IS ?
    AND m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > ?) ORDER BY m.position DESC LIMIT 16
"""


class ThinkingQueries:
    """Reads of what is to be read for memories and judged; part of `Ledger`."""

    _store: Store

    def unread_sessions(self, *, session: str | None = None, limit: int = 1_000) -> list[UnreadSession]:
        """Return sessions with messages still to be read, the one that waits longest first."""
        with self._store.read() as db:
            found = db.execute(_SESSIONS, (session, session, limit)).fetchall()
            roles = dict(
                db.execute(
                    "SELECT position, role FROM messages WHERE position IN (SELECT value FROM json_each(?))",
                    (rows.array(row[4] for row in found),),
                ).fetchall()
            )
        return [
            UnreadSession(
                session=row[0],
                contact=row[1],
                messages=row[2],
                first_position=row[3],
                last_role=roles[row[4]],
                last_recorded_at=moment(row[5]),
                answered=bool(row[6]),
            )
            for row in found
        ]

    def unread(self, session: str, limit: int) -> list[MessageRecord]:
        """Return a session's messages still to be read for memories, oldest first."""
        sql = f"{rows.MESSAGE} WHERE m.session = ? AND {_UNREAD} ORDER BY m.position LIMIT ?"
        with self._store.read() as db:
            return [rows.message(row) for row in db.execute(sql, (session, limit)).fetchall()]

    def messages_before(self, session: str, position: int, limit: int) -> list[MessageRecord]:
        """Return the last messages of a session before a position, oldest first."""
        sql = f"{rows.MESSAGE} WHERE m.session = ? AND m.position < ? AND m.forgotten = 0"
        sql = f"{sql} ORDER BY m.position DESC LIMIT ?"
        with self._store.read() as db:
            found = db.execute(sql, (session, position, limit)).fetchall()
        return [rows.message(row) for row in reversed(found)]

    def extraction(self, extraction: str) -> ExtractionRecord | None:
        """Return one piece of extraction work, or None."""
        with self._store.read() as db:
            row = db.execute(f"{_EXTRACTION} WHERE id = ?", (extraction,)).fetchone()
        return None if row is None else _extraction(row)

    def failed_extractions(self, limit: int = 1_000) -> list[ExtractionRecord]:
        """Return stretches that could not be read, oldest first."""
        sql = f"{_EXTRACTION} WHERE state = 'failed' ORDER BY position LIMIT ?"
        with self._store.read() as db:
            return [_extraction(row) for row in db.execute(sql, (limit,)).fetchall()]

    def unjudged(self, limit: int, *, now: datetime) -> list[MemoryRecord]:
        """Return live memories that were not held against older ones yet, oldest first; tasks never are."""
        sql = f"{rows.MEMORY} WHERE {_UNJUDGED} ORDER BY m.position LIMIT ?"
        with self._store.read() as db:
            return [rows.memory(row) for row in db.execute(sql, (micros(now), limit)).fetchall()]

    def waiting(self, ids: Sequence[str]) -> frozenset[str]:
        """Return which of these items still wait for their vectors."""
        sql = "SELECT id FROM items WHERE waiting = 1 AND id IN (SELECT value FROM json_each(?))"
        with self._store.read() as db:
            return frozenset(row[0] for row in db.execute(sql, (rows.array(ids),)).fetchall())

    def is_judged(self, position: int, *, now: datetime) -> bool:
        """Whether every live memory written up to a position was held against older ones."""
        sql = f"SELECT 1 FROM memories m WHERE {_UNJUDGED} AND m.position <= ? LIMIT 1"
        with self._store.read() as db:
            return db.execute(sql, (micros(now), position)).fetchone() is None

    def thinking(self, *, now: datetime) -> ThinkingCounts:
        """Return how much is still to be thought about."""
        with self._store.read() as db:
            unread, failed, unjudged = db.execute(_COUNTS, (micros(now),)).fetchone()
        return ThinkingCounts(unread=unread, failed=failed, unjudged=unjudged)

    def rejected(self, skeletons: Sequence[str], scopes: Sequence[str | None]) -> dict[str, str]:
        """Return which of these statements a person rejected in one of the scopes: skeleton to memory id."""
        sql = (
            "SELECT skeleton, memory FROM rejections WHERE skeleton IN (SELECT value FROM json_each(?))"
            " AND (scope IN (SELECT value FROM json_each(?)) OR scope IS NULL AND ?)"
        )
        named = [scope for scope in scopes if scope is not None]
        with self._store.read() as db:
            found = db.execute(sql, (rows.array(skeletons), rows.array(named), None in scopes)).fetchall()
        return dict(found)

    def stated(self, texts: Sequence[str], scope: str | None, *, now: datetime) -> dict[str, str]:
        """Return which of these texts a live fact or instruction of the scope states already: text to memory id."""
        sql = (
            "SELECT m.id, m.text FROM memories m WHERE m.status = 'live' AND m.scope IS ?"
            " AND m.kind IN ('fact', 'instruction') AND m.skeleton IN (SELECT value FROM json_each(?))"
            " AND (m.expires_at IS NULL OR m.expires_at > ?) ORDER BY m.position DESC"
        )
        with self._store.read() as db:
            found = db.execute(sql, (scope, rows.array(skeleton(text) for text in texts), micros(now))).fetchall()
        # A skeleton folds more than what makes two statements equal.
        known = {fold_content(text): memory for memory, text in found}
        return {text: known[fold_content(text)] for text in texts if fold_content(text) in known}

    def saying(self, text: str, kind: str, scope: str | None, *, now: datetime) -> list[MemoryRecord]:
        """Return live memories without a key that came to say ``text`` at an address derived from something else."""
        with self._store.read() as db:
            found = db.execute(_SAYING, (skeleton(text), kind, scope, micros(now))).fetchall()
        folded = fold_content(text)
        return [one for one in map(rows.memory, found) if fold_content(one.text) == folded]

    def known_keys(self, scope: str | None, *, now: datetime, limit: int = 100) -> list[KnownKey]:
        """Return the topic keys in use in a scope with what they say, the newest first."""
        with self._store.read() as db:
            return [KnownKey(*row) for row in db.execute(_KEYS, (scope, micros(now), limit)).fetchall()]

    def usage(self, *, since: str = "") -> list[UsageRecord]:
        """Return what model calls came to, by UTC day (``2026-01-31``), newest first."""
        sql = "SELECT * FROM usage WHERE day >= ? ORDER BY day DESC, provider, model, purpose"
        with self._store.read() as db:
            found = db.execute(sql, (since,)).fetchall()
        return [
            UsageRecord(
                day=row[0],
                provider=row[1],
                model=row[2],
                purpose=row[3],
                calls=row[4],
                input_tokens=row[5],
                output_tokens=row[6],
                cost=row[7],
                estimated=bool(row[8]),
            )
            for row in found
        ]

    def refusals(self) -> list[RefusalRecord]:
        """Return what rules kept from being done, the latest first."""
        with self._store.read() as db:
            found = db.execute("SELECT * FROM refusals ORDER BY last_at DESC").fetchall()
        return [
            RefusalRecord(
                rule=row[0], subject=row[1], provider=row[2], detail=row[3], count=row[4], last_at=moment(row[5])
            )
            for row in found
        ]


def _extraction(row: tuple[object, ...]) -> ExtractionRecord:
    fields = dict(zip(ExtractionRecord.__struct_fields__, row, strict=True))
    return ExtractionRecord(**{**fields, "at": moment(row[11])})  # type: ignore[arg-type]

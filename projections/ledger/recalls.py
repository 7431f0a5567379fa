"""Questions recall asks: what is live, which sessions are in scope, which keys match."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from projections.ledger import rows
from projections.ledger.contacts import group_of, shadowed
from projections.ledger.matching import MATCHES, matching
from projections.ledger.records import Conversation, Filler, KeyHit, Live, LiveItem, MessageRecord, micros, moment
from projections.ledger.remembered import Remembered
from projections.ledger.store import Store

__all__ = ["RecallQueries"]

_LIVE_MEMORIES = f"""{rows.LIVE_MEMORY} WHERE m.id IN (SELECT value FROM json_each(?))
    AND m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > ?)"""
_LIVE_MESSAGES = f"{rows.LIVE_MESSAGE} WHERE m.id IN (SELECT value FROM json_each(?)) AND m.forgotten = 0"
_KEY_HITS = f"""
SELECT k.memory, count(*) * 1.0 / k.segments, count(*), m.position
FROM key_segments k JOIN memories m ON m.id = k.memory
WHERE k.segment IN (SELECT value FROM json_each(?)) AND {MATCHES}
GROUP BY k.memory ORDER BY 2 DESC, m.position DESC LIMIT ?
"""
_KEYED = f"""
SELECT m.id FROM memories m
WHERE m.folded_key <> '' AND m.folded_key IN (SELECT value FROM json_each(?)) AND {MATCHES}
ORDER BY m.position DESC
"""
_KEYS_IN_USE = f"""
SELECT m.key, max(m.position) FROM memories m WHERE m.folded_key <> '' AND {MATCHES} AND NOT {rows.RESTATES}
GROUP BY m.folded_key ORDER BY 2 DESC LIMIT ?
"""

_LAST_USE = "max(m.recorded_at, coalesce(a.last_at, 0))"
# The used lately and the used often: nothing else can score high (see `projections.filling`).
_FILLERS = f"""
WITH used AS (SELECT m.id, {_LAST_USE} AS last, coalesce(a.count, 0) AS count, m.position
    FROM memories m LEFT JOIN accesses a ON a.memory = m.id WHERE {MATCHES})
SELECT id, last, count, position FROM (SELECT * FROM used ORDER BY last DESC, position DESC LIMIT 200)
UNION SELECT id, last, count, position FROM (SELECT * FROM used ORDER BY count DESC, position DESC LIMIT 200)
"""

_NEIGHBOURS = """
SELECT m.id,
  (SELECT id FROM messages WHERE session = m.session AND position < m.position AND forgotten = 0
    ORDER BY position DESC LIMIT 1),
  (SELECT id FROM messages WHERE session = m.session AND position > m.position AND forgotten = 0
    ORDER BY position LIMIT 1)
FROM messages m WHERE m.id IN (SELECT value FROM json_each(?))
"""


class RecallQueries:
    """Reads of conversations, messages and liveness; part of `Ledger`."""

    _store: Store
    _remembered: Remembered

    def live(self, ids: Sequence[str], now: datetime, *, linked: Sequence[str] = ()) -> Live:
        """Return which of these memories and messages are live at ``now``, seen in one snapshot.

        Of several memories that contacts ``linked`` have under one key, only the one that counts is live.
        """
        at = micros(now)
        with self._store.read() as db:
            (position,) = db.execute("SELECT position FROM checkpoint").fetchone()
            kept = self._remembered.at(position)
            found, unknown = kept.live(ids, position, at)
            if unknown:
                read = _read_live(db, unknown, at)
                kept.keep(read)
                found.update((item.id, item) for item, _ in read)
            if len(linked) > 1:
                for id_ in shadowed(db, rows.array(id_ for id_ in ids if "@" in id_), linked, now):
                    found.pop(id_, None)
        return Live(position, found)

    def keys_matching(
        self,
        segments: Sequence[str],
        *,
        now: datetime,
        scopes: Sequence[str | None] | None = None,
        kinds: frozenset[str] | None = None,
        limit: int = 100,
    ) -> list[KeyHit]:
        """Return live memories with a key segment among ``segments``: largest share first, then newest."""
        if not segments:
            return []
        parameters = (rows.array(segments), *matching(now, scopes, kinds), limit)
        with self._store.read() as db:
            return [KeyHit(*row) for row in db.execute(_KEY_HITS, parameters)]

    def keyed(
        self,
        folded_keys: Iterable[str],
        *,
        now: datetime,
        scopes: Sequence[str | None] | None = None,
        kinds: frozenset[str] | None = None,
    ) -> list[str]:
        """Return the live memories under exactly these folded keys, newest first."""
        if not (keys := list(folded_keys)):
            return []
        parameters = (rows.array(keys), *matching(now, scopes, kinds))
        with self._store.read() as db:
            return [row[0] for row in db.execute(_KEYED, parameters)]

    def keys_in_use(self, scopes: Sequence[str | None] | None, *, now: datetime, limit: int) -> list[str]:
        """Return the keys of live memories in these scopes, None for all, each as last written, the newest first."""
        with self._store.read() as db:
            return [row[0] for row in db.execute(_KEYS_IN_USE, (*matching(now, scopes, None), limit))]

    def fillers(
        self, *, now: datetime, scopes: Sequence[str | None] | None = None, kinds: frozenset[str] | None = None
    ) -> list[Filler]:
        """Return the live memories used most recently and most often, at most 400, in no order."""
        with self._store.read() as db:
            found = db.execute(_FILLERS, matching(now, scopes, kinds)).fetchall()
        return [Filler(id_, moment(last), count, position) for id_, last, count, position in found]

    def message(self, message: str) -> MessageRecord | None:
        """Return one message, or None."""
        return self.messages((message,)).get(message)

    def messages(self, ids: Sequence[str]) -> dict[str, MessageRecord]:
        """Return those of these messages that exist."""
        sql = f"{rows.MESSAGE} WHERE m.id IN (SELECT value FROM json_each(?))"
        with self._store.read() as db:
            found = db.execute(sql, (rows.array(ids),)).fetchall()
        return {row[0]: rows.message(row) for row in found}

    def neighbours(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return for each of these messages the one before and the one after it in its session, if there are."""
        with self._store.read() as db:
            (position,) = db.execute("SELECT position FROM checkpoint").fetchone()
            kept = self._remembered.at(position)
            found, unknown = kept.beside(ids)
            if unknown:
                pairs = db.execute(_NEIGHBOURS, (rows.array(unknown),)).fetchall()
                found.update((id_, tuple(near for near in (before, after) if near)) for id_, before, after in pairs)
                # The last message of a session gets another neighbour with the next one.
                kept.keep_beside((id_, found[id_]) for id_, _, after in pairs if after)
        return found

    def session_messages(
        self, session: str, *, before: int | None = None, limit: int = 10, oldest_first: bool = False
    ) -> list[MessageRecord]:
        """Return messages of a session that are not forgotten, newest first, below the position ``before``."""
        order = "ASC" if oldest_first else "DESC"
        sql = (
            f"{rows.MESSAGE} WHERE m.session = ? AND m.forgotten = 0 AND (? IS NULL OR m.position < ?)"
            f" ORDER BY m.position {order} LIMIT ?"
        )
        with self._store.read() as db:
            found = db.execute(sql, (session, before, before, limit)).fetchall()
        return [rows.message(row) for row in found]

    def conversation(self, session: str) -> Conversation | None:
        """Return one session, or None."""
        with self._store.read() as db:
            row = db.execute(f"{rows.CONVERSATION} WHERE session = ?", (session,)).fetchone()
        return None if row is None else rows.conversation(row)

    def sessions_of(self, contact: str) -> list[Conversation]:
        """Return the sessions of a contact, oldest first; the empty contact has those without one."""
        with self._store.read() as db:
            found = db.execute(f"{rows.CONVERSATION} WHERE contact = ? ORDER BY position", (contact,)).fetchall()
        return [rows.conversation(row) for row in found]

    def contactless_sessions(self) -> list[Conversation]:
        """Return the sessions without a contact, oldest first."""
        return self.sessions_of("")

    def session_tokens(self, contact: str, *, within: frozenset[str] | None = None) -> frozenset[str]:
        """Return the index filter tokens of the sessions of a contact and all it is linked with.

        The empty contact has those without one.
        """
        sql = "SELECT token FROM conversations WHERE contact IN (SELECT value FROM json_each(?))"
        with self._store.read() as db:
            found = db.execute(sql, (rows.array(group_of(db, contact, within)),)).fetchall()
        return frozenset(row[0] for row in found)

    def has_contacts(self) -> bool:
        """Return whether any session or memory belongs to a contact: without one, no filter is needed."""
        sql = (
            "SELECT EXISTS (SELECT 1 FROM conversations WHERE contact > '')"
            " OR EXISTS (SELECT 1 FROM memories WHERE scope IS NOT NULL)"
        )
        with self._store.read() as db:
            (found,) = db.execute(sql).fetchone()
        return bool(found)


def _read_live(db: sqlite3.Connection, ids: Sequence[str], at: int) -> list[tuple[LiveItem, int | None]]:
    """Return those of the memories and messages that are live at a time, each with when it expires."""
    found: list[tuple[LiveItem, int | None]] = []
    if memories := [id_ for id_ in ids if "@" in id_]:
        read = db.execute(_LIVE_MEMORIES, (rows.array(memories), at))
        found.extend((rows.live_memory(row), row[rows.EXPIRES]) for row in read)
    if messages := [id_ for id_ in ids if "@" not in id_]:
        found.extend((rows.live_message(row), None) for row in db.execute(_LIVE_MESSAGES, (rows.array(messages),)))
    return found

"""Questions that exports and imports ask: what was forgotten, whose vectors are whose, and what is under way."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from projections.ledger.records import moment
from projections.ledger.rows import array
from projections.ledger.store import Store

__all__ = ["TransferQueries"]

_REJECTED = """
SELECT max(e.at) FROM rejections r JOIN memory_events e ON e.memory = r.memory AND e.topic = 'memory.rejected'
    AND e.address = substr(r.memory, 1, instr(r.memory, '@') - 1)
WHERE r.skeleton = ? AND r.scope IS ? AND e.position < ?
"""
_LOST = "SELECT id, session, role FROM messages WHERE forgotten = 1 AND session IN (SELECT value FROM json_each(?))"


class TransferQueries:
    """Reads for exports and imports; part of `Ledger`."""

    _store: Store

    def forgotten_messages(self, messages: Iterable[str]) -> set[str]:
        """Return which of these messages are forgotten."""
        return self._column(
            "SELECT id FROM messages WHERE forgotten = 1 AND id IN (SELECT value FROM json_each(?))", array(messages)
        )

    def forgotten_memories(self, memories: Iterable[str]) -> set[str]:
        """Return which of these versions are forgotten."""
        return self._column(
            "SELECT id FROM memories WHERE status = 'forgotten' AND id IN (SELECT value FROM json_each(?))",
            array(memories),
        )

    def kept_summaries(self, positions: Iterable[int]) -> set[int]:
        """Return at which of these positions a summary was written that lost no message."""
        with self._store.read() as db:
            sql = "SELECT position FROM summaries WHERE position IN (SELECT value FROM json_each(?))"
            return {int(row[0]) for row in db.execute(sql, (array(positions),))}

    def sessions_that_lost(self, contact: str | None) -> list[str]:
        """Return sessions in which a message was forgotten, of a contact or (None) all."""
        sql = (
            "SELECT DISTINCT m.session FROM messages m LEFT JOIN conversations c ON c.session = m.session"
            " WHERE m.forgotten = 1 AND (?1 IS NULL OR c.contact = ?1)"
        )
        with self._store.read() as db:
            return [str(row[0]) for row in db.execute(sql, (contact,))]

    def items_of(self, embeddings: Iterable[str]) -> dict[str, str]:
        """Return a message or memory for each of these embeddings whose text is not forgotten."""
        sql = (
            "SELECT embedding, min(item) FROM embedded WHERE embedding IN (SELECT value FROM json_each(?))"
            " GROUP BY embedding"
        )
        with self._store.read() as db:
            return {str(row[0]): str(row[1]) for row in db.execute(sql, (array(embeddings),))}

    def embeddings_of(self, items: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return for each of these messages and memories its embedding's id and the scope whose key that is under."""
        sql = "SELECT item, embedding, key_scope FROM embedded WHERE item IN (SELECT value FROM json_each(?))"
        with self._store.read() as db:
            return {str(item): (str(one), str(scope)) for item, one, scope in db.execute(sql, (array(items),))}

    def rejected_before(self, skeleton: str, scope: str | None, position: int) -> datetime | None:
        """Return when a statement was rejected before a position, None where it was not or is reinstated."""
        with self._store.read() as db:
            (found,) = db.execute(_REJECTED, (skeleton, scope, position)).fetchone()
        return None if found is None else moment(found)

    def importing(self) -> tuple[str, int] | None:
        """Return the import that is under way and where it began."""
        with self._store.read() as db:
            found = db.execute("SELECT run, position FROM importing ORDER BY position LIMIT 1").fetchone()
        return None if found is None else (str(found[0]), int(found[1]))

    def _column(self, sql: str, *parameters: object) -> set[str]:
        with self._store.read() as db:
            return {str(row[0]) for row in db.execute(sql, parameters)}

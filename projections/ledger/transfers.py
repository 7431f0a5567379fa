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


class TransferQueries:
    """Reads for exports and imports; part of `Ledger`."""

    _store: Store

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

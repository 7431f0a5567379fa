"""Questions the workers and the status ask: what waits for vectors, how far the ledger is, what it holds."""

from __future__ import annotations

from typing import Literal

from projections.ledger.records import Counts, IndexCounts, Pending
from projections.ledger.store import Store

__all__ = ["WorkQueries"]

_PENDING = """
SELECT embedding, key_scope, key_id, text, position, '', kind FROM items
WHERE waiting = 1 ORDER BY position
"""
_FAILED = """
SELECT e.id, i.key_scope, i.key_id, i.text, i.position, e.reason, i.kind
FROM embeddings e JOIN items i ON i.embedding = e.id AND i.embedding <> ''
WHERE e.state = 'failed' ORDER BY i.position
"""
_COMPLETE = "SELECT position, (SELECT min(position) FROM items WHERE waiting = 1) FROM checkpoint"
_COUNTS = """
SELECT (SELECT count(*) FROM conversations),
    (SELECT count(*) FROM messages WHERE forgotten = 0),
    (SELECT count(*) FROM memories WHERE status = 'live'),
    (SELECT count(*) FROM memories),
    (SELECT count(*) FROM items),
    (SELECT count(DISTINCT embedding) FROM items WHERE waiting = 1),
    (SELECT count(*) FROM embeddings e WHERE state = 'failed'
        AND EXISTS (SELECT 1 FROM items i WHERE i.embedding = e.id AND i.embedding <> ''))
"""

_INDEX_COUNTS = """
SELECT count(*), count(*) FILTER (WHERE i.embedding <> ''),
    count(*) FILTER (WHERE i.embedding <> '' AND coalesce(e.state, 'pending') <> 'computed')
FROM items i LEFT JOIN embeddings e ON e.id = i.embedding
"""


class WorkQueries:
    """Reads of embeddings, positions and sizes; part of `Ledger`."""

    _store: Store

    def pending_embeddings(self, limit: int = 64, *, state: Literal["pending", "failed"] = "pending") -> list[Pending]:
        """Return texts of live items without vectors, each once, oldest first."""
        found: dict[str, Pending] = {}
        with self._store.read() as db:
            for row in db.execute(_PENDING if state == "pending" else _FAILED):
                if len(found) == limit and row[0] not in found:
                    break
                found.setdefault(row[0], Pending(*row))
        return list(found.values())

    def complete_position(self) -> int:
        """Return the applied position, or the one below the first live item that waits for its vectors."""
        with self._store.read() as db:
            applied, waiting = db.execute(_COMPLETE).fetchone()
        return int(applied if waiting is None else min(applied, waiting - 1))

    def counts(self) -> Counts:
        """Return how much there is of everything."""
        with self._store.read() as db:
            found = db.execute(_COUNTS).fetchone()
        conversations, messages, memories, versions, items, pending, failed = found
        return Counts(
            conversations=conversations,
            messages=messages,
            memories=memories,
            versions=versions,
            items=items,
            pending=pending,
            failed=failed,
        )

    def recorded_after(self, position: int, subject: Literal["messages", "memories"]) -> int:
        """Return how many messages or versions of memories there are after a position, forgotten ones left out."""
        gone = "forgotten = 0" if subject == "messages" else "status <> 'forgotten'"
        with self._store.read() as db:
            (found,) = db.execute(
                f"SELECT count(*) FROM {subject} WHERE position > ? AND {gone}", (position,)
            ).fetchone()
        return int(found)

    def index_counts(self) -> IndexCounts:
        """Return what the indexes should hold."""
        with self._store.read() as db:
            items, embedded, without = db.execute(_INDEX_COUNTS).fetchone()
        return IndexCounts(items=items, embedded=embedded, without_vectors=without)

    def sample(self, limit: int) -> list[tuple[str, str]]:
        """Return ids and texts of indexed items, the same ones for the same content: ids are hashes."""
        with self._store.read() as db:
            return list(db.execute("SELECT id, text FROM items ORDER BY id LIMIT ?", (limit,)))

    @property
    def count(self) -> int:
        """Items that the indexes should hold."""
        with self._store.read() as db:
            (found,) = db.execute("SELECT count(*) FROM items").fetchone()
        return int(found)

"""Questions about what a conversation is at: turns that were answered."""

from __future__ import annotations

from projections.ledger.store import Store

__all__ = ["WorkingQueries"]

_ANSWERED = """
SELECT 1 FROM messages WHERE turn_id = ? AND turn_id <> '' AND session = ? AND role = 'assistant' LIMIT 1
"""


class WorkingQueries:
    """Reads of turns; part of `Ledger`."""

    _store: Store

    def answered(self, session: str, turn_id: str) -> bool:
        """Whether an assistant's message of this turn was recorded, forgotten since or not."""
        with self._store.read() as db:
            return db.execute(_ANSWERED, (turn_id, session)).fetchone() is not None

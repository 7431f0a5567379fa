"""Which instructions to stay quiet about something stand, in which scopes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from projections.ledger import rows
from projections.ledger.matching import MATCHES, matching
from projections.ledger.records import LiveItem
from projections.ledger.store import Store

__all__ = ["Suppressing", "SuppressionQueries"]

# CROSS keeps the order: a profile has few suppressions and many memories, and SQLite cannot know that.
_FROM = ", s.subject, s.place FROM suppressions s CROSS JOIN memories m ON m.id = s.memory"
_SUPPRESSING = f"""
{rows.LIVE_MEMORY.replace("FROM memories m", _FROM)}
WHERE {MATCHES} ORDER BY m.position DESC LIMIT ?
"""
_KNOWN_CONTACT = """
SELECT EXISTS (SELECT 1 FROM conversations WHERE lower(contact) = lower(?1))
    OR EXISTS (SELECT 1 FROM memories WHERE lower(scope) = lower(?1))
"""


class Suppressing(msgspec.Struct, frozen=True):
    """A live instruction, what it is about, and where or to whom it holds (empty: everywhere)."""

    item: LiveItem
    subject: str
    place: str


class SuppressionQueries:
    """Reads of suppressions; part of `Ledger`."""

    _store: Store

    def suppressing(
        self, *, now: datetime, scopes: Sequence[str | None] | None = None, limit: int = 200
    ) -> list[Suppressing]:
        """Return the suppressions that stand now in some scopes, newest first."""
        parameters = (*matching(now, scopes, frozenset({"instruction"})), limit)
        with self._store.read() as db:
            found = db.execute(_SUPPRESSING, parameters).fetchall()
        return [Suppressing(rows.live_memory(row[:-2]), row[-2], row[-1]) for row in found]

    def is_contact(self, name: str) -> bool:
        """Return whether a name is one of the contacts, whatever its case."""
        with self._store.read() as db:
            (known,) = db.execute(_KNOWN_CONTACT, (name,)).fetchone()
        return bool(known)

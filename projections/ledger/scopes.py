"""Everything that is said in one scope, for whoever looks for words in it rather than for an id."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from projections.ledger.records import micros
from projections.ledger.store import Store

__all__ = ["Said", "ScopeQueries", "Stated"]

_STATED = """
SELECT id, address, version, folded_key, text, status = 'live' AND (expires_at IS NULL OR expires_at > ?), pinned
FROM memories WHERE scope IS ? AND status <> 'forgotten' ORDER BY position DESC
"""
_SAID = """
SELECT m.id, m.content FROM messages m LEFT JOIN conversations c ON c.session = m.session
WHERE coalesce(c.contact, '') = ? AND m.forgotten = 0 ORDER BY m.position DESC
"""


class Stated(msgspec.Struct, frozen=True):
    """One version of a memory: what it says, whether it is live, and whether it is pinned."""

    id: str
    address: str
    version: int
    folded_key: str
    text: str
    live: bool
    pinned: bool


class Said(msgspec.Struct, frozen=True):
    """One message."""

    id: str
    text: str


class ScopeQueries:
    """Reads of one scope as written, without those it is linked with; part of `Ledger`."""

    _store: Store

    def stated_in(self, scope: str | None, *, now: datetime) -> list[Stated]:
        """Return every version of just this scope that is not forgotten, newest first."""
        with self._store.read() as db:
            found = db.execute(_STATED, (micros(now), scope)).fetchall()
        return [_stated(row) for row in found]

    def said_by(self, contact: str) -> list[Said]:
        """Return the messages of a contact's sessions (empty: of those without one), newest first."""
        with self._store.read() as db:
            return [Said(*row) for row in db.execute(_SAID, (contact,))]


def _stated(row: Sequence[Any]) -> Stated:
    return Stated(
        id=row[0],
        address=row[1],
        version=row[2],
        folded_key=row[3],
        text=row[4],
        live=bool(row[5]),
        pinned=bool(row[6]),
    )

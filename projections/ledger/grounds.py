"""Questions about what rests on what, and what still has to follow from messages forgotten and sessions closed."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from domain.events import Followed
from projections.ledger import rows
from projections.ledger.store import Store

__all__ = ["Closing", "GroundQueries", "Overdue", "Resting", "Untold"]

_MEMORIES = """
SELECT id, address, scope, text FROM memories WHERE id IN (SELECT value FROM json_each(?)) AND status <> 'forgotten'
ORDER BY position
"""
_GROUNDS = """
SELECT g.memory, g.position, g.part, g.message, f.actor, f.actor_type FROM grounds g
LEFT JOIN forgotten f ON f.message = g.message
LEFT JOIN messages m ON m.id = g.message
WHERE g.memory IN (SELECT value FROM json_each(?)) ORDER BY g.position, g.part, m.position
"""
# Members of a canonical statement that nobody has ended otherwise since.
_MEMBERS = """
SELECT e.other, e.memory FROM memory_events e JOIN memories m ON m.id = e.memory
WHERE e.other IN (SELECT value FROM json_each(?)) AND e.topic = 'memory.superseded'
    AND json_extract(e.detail, '$.rule') = 'consolidation'
    AND m.status = 'superseded' AND m.superseded_by = e.other
"""


class Resting(msgspec.Struct, frozen=True, kw_only=True):
    """A version that is not forgotten, and its grounds: messages that were read together, oldest ground first.

    ``forgotten`` tells who (principal, type) forgot which of them; ``members`` were consolidated into it.
    """

    memory: str
    address: str
    scope: str | None
    text: str
    grounds: tuple[tuple[str, ...], ...]
    forgotten: dict[str, tuple[str, str]]
    members: tuple[str, ...] = ()


class Overdue(msgspec.Struct, frozen=True):
    """A task that ends with its session, and who ended that."""

    memory: str
    actor: str
    actor_type: str


class Closing(msgspec.Struct, frozen=True):
    """A deleted session with something left of what was there at ``position``, and who deleted it."""

    session: str
    position: int
    actor: str
    actor_type: str


class Untold(msgspec.Struct, frozen=True):
    """A copy that has to be told what became of its original, and who did that."""

    memory: str
    profile: str
    copy: str
    how: Followed | Literal["erased"]
    event: str
    actor: str
    actor_type: str


class GroundQueries:
    """Reads of what memories rest on; part of `Ledger`."""

    _store: Store

    def resting_on(self, messages: Iterable[str]) -> list[str]:
        """Return the versions that have one of these messages among their grounds."""
        sql = "SELECT DISTINCT memory FROM grounds WHERE message IN (SELECT value FROM json_each(?)) ORDER BY memory"
        with self._store.read() as db:
            return [row[0] for row in db.execute(sql, (rows.array(messages),))]

    def bereft(self, limit: int) -> list[Resting]:
        """Return versions with a message among their grounds that was forgotten, as long as nothing came of it."""
        with self._store.read() as db:
            found = [row[0] for row in db.execute("SELECT memory FROM bereft ORDER BY memory LIMIT ?", (limit,))]
            return _resting(db, found)

    def resting(self, memories: Sequence[str]) -> list[Resting]:
        """Return on what each of these versions rests, those that are not forgotten, oldest first."""
        with self._store.read() as db:
            return _resting(db, memories)

    def overdue(self, limit: int) -> list[Overdue]:
        """Return live tasks whose session has ended."""
        with self._store.read() as db:
            return [Overdue(*row) for row in db.execute("SELECT * FROM overdue ORDER BY memory LIMIT ?", (limit,))]

    def closing(self, limit: int) -> list[Closing]:
        """Return deleted sessions of which something is left."""
        with self._store.read() as db:
            return [Closing(*row) for row in db.execute("SELECT * FROM deleting ORDER BY position LIMIT ?", (limit,))]

    def has_following(self) -> bool:
        """Whether something still follows from what was forgotten, ended or deleted."""
        tables = ("bereft", "overdue", "deleting", "untold", "misquotes")
        with self._store.read() as db:
            return any(db.execute(f"SELECT EXISTS (SELECT 1 FROM {one})").fetchone()[0] for one in tables)

    def untold(self, limit: int) -> list[Untold]:
        """Return copies that have to be told what became of their originals."""
        sql = "SELECT * FROM untold ORDER BY memory, profile, copy LIMIT ?"
        with self._store.read() as db:
            return [Untold(*row) for row in db.execute(sql, (limit,))]

    def standing_for(self, memories: Iterable[str]) -> list[str]:
        """Return what was consolidated into these versions and still counts as said by them, at whatever remove."""
        found: dict[str, None] = {}
        asked = list(memories)
        with self._store.read() as db:
            while asked:
                rows_ = db.execute(_MEMBERS, (rows.array(asked),)).fetchall()
                asked = [member for _, member in rows_ if member not in found]
                found |= dict.fromkeys(asked)
        return list(found)

    def said_in(self, session: str, before: int | None, limit: int) -> list[str]:
        """Return messages of a session below a position (None: all) that are not forgotten, oldest first."""
        sql = (
            "SELECT id FROM messages WHERE session = ? AND forgotten = 0 AND (? IS NULL OR position < ?)"
            " ORDER BY position LIMIT ?"
        )
        with self._store.read() as db:
            return [row[0] for row in db.execute(sql, (session, before, before, limit))]

    def tasks_of(self, session: str, before: int | None, *, live: bool = False) -> list[str]:
        """Return the tasks of a session below a position (None: all), ``live`` ones or all that are not forgotten."""
        sql = (
            "SELECT id FROM memories WHERE session = ? AND kind = 'task' AND (? IS NULL OR position < ?)"
            " AND status <> 'forgotten' AND (status = 'live' OR NOT ?) ORDER BY position"
        )
        with self._store.read() as db:
            return [row[0] for row in db.execute(sql, (session, before, before, live))]


def _resting(db: sqlite3.Connection, memories: Sequence[str]) -> list[Resting]:
    ids = rows.array(memories)
    grounds: dict[str, dict[tuple[int, int], list[str]]] = defaultdict(lambda: defaultdict(list))
    forgotten: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for memory, position, part, message, actor, actor_type in db.execute(_GROUNDS, (ids,)):
        grounds[memory][position, part].append(message)
        if actor is not None:
            forgotten[memory][message] = (actor, actor_type)
    members: dict[str, list[str]] = defaultdict(list)
    for memory, member in db.execute(_MEMBERS, (ids,)):
        members[memory].append(member)
    return [
        Resting(
            memory=memory,
            address=address,
            scope=scope,
            text=text,
            grounds=tuple(map(tuple, grounds[memory].values())),
            forgotten=forgotten[memory],
            members=tuple(members[memory]),
        )
        for memory, address, scope, text in db.execute(_MEMORIES, (ids,)).fetchall()
    ]

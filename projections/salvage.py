"""What a profile's ledger on disk still knows of events that its log holds no more; read without opening it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from domain.errors import DamagedError
from projections.generations import current_generations

__all__ = ["Known", "known_of"]

_MESSAGES = "SELECT position, id, content FROM messages WHERE position BETWEEN ? AND ? AND forgotten = 0"
_MEMORIES = "SELECT position, id, text FROM memories WHERE position BETWEEN ? AND ?"
_CHANGES = "SELECT e.position, e.memory, e.topic FROM memory_events e WHERE e.position BETWEEN ? AND ?"


class Known(msgspec.Struct, frozen=True):
    """One thing whose event is gone: a message or memory with its text, or what happened to a memory."""

    position: int
    what: Literal["message", "memory", "change"]
    id: str
    text: str


def known_of(root: Path, first: int, last: int, limit: int) -> list[Known]:
    """Return what the served ledger of a profile knows of the positions from ``first`` to ``last``, in their order.

    A ledger that is not there, of another version or damaged, knows nothing.
    """
    try:
        path = root / "ledger" / current_generations(root)["ledger"] / "ledger.sqlite"
        if not path.exists():
            return []
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as db:
            found = _read(lambda sql: db.execute(f"{sql} ORDER BY 1 LIMIT ?", (first, last, limit)).fetchall())
    except (sqlite3.Error, DamagedError):
        return []
    return sorted(found, key=lambda one: one.position)[:limit]


def _read(rows: Callable[[str], list[tuple[int, str, str]]]) -> list[Known]:
    stated = [Known(at, "memory", id_, text) for at, id_, text in rows(_MEMORIES)]
    said = [Known(at, "message", id_, text) for at, id_, text in rows(_MESSAGES)]
    told = {(one.position, one.id) for one in stated}
    changes = [Known(at, "change", id_, topic) for at, id_, topic in rows(_CHANGES) if (at, id_) not in told]
    return [*stated, *said, *changes]

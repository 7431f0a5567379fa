"""The last version of every aggregate, in a scratch file: there are as many as a log has subjects."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Versions"]


class Versions:
    """Tells where versions of an aggregate do not follow each other; made and thrown away by one look at a log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection
        self._skipped = 0

    def __enter__(self) -> Self:
        self._path.unlink(missing_ok=True)
        # Of one look at a time, however many threads its pages are looked at in.
        self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("CREATE TABLE seen (name TEXT PRIMARY KEY, version INT, skipped INT) WITHOUT ROWID")
        self._db.execute("BEGIN")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
        self._path.unlink(missing_ok=True)

    def skip(self, position: int) -> None:
        """Take note of a position whose event is not known: it may be any aggregate's."""
        del position
        self._skipped += 1

    def take(self, name: str, version: int, position: int) -> str:
        """Take the next event of an aggregate; returns what is wrong with its version, empty when nothing is.

        A gap that positions without an event since the aggregate's last one explain is not told a second time.
        """
        row = self._db.execute("SELECT version, skipped FROM seen WHERE name = ?", (name,)).fetchone()
        last, skipped = row or (0, 0)
        self._db.execute("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", (name, max(version, last), self._skipped))
        if version == last + 1 or last < version <= last + 1 + self._skipped - skipped:
            return ""
        if not version:
            return f"what is at position {position} was not written by Umbriel"
        return f"version {last + 1} of {name} was to follow, position {position} has version {version}"

    def commit(self) -> None:
        """Let go of what is held in memory."""
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

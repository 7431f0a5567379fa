"""What one instance forwarded to which place: how far it came in each profile, and what things are called there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

__all__ = ["FORWARDED_TABLES", "ForwardedQueries", "Kind"]

FORWARDED_TABLES = """
CREATE TABLE IF NOT EXISTS forwarding (
    profile TEXT NOT NULL, destination TEXT NOT NULL, stream TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (profile, destination, stream)
) STRICT;
CREATE TABLE IF NOT EXISTS forwarded (
    profile TEXT NOT NULL, destination TEXT NOT NULL, kind TEXT NOT NULL, local TEXT NOT NULL, remote TEXT NOT NULL,
    PRIMARY KEY (profile, destination, kind, local)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS forwarded_remote ON forwarded (profile, destination, kind, remote);
"""

Kind = Literal["message", "memory"]


class ForwardedQueries(ABC):
    """Positions and names of what was forwarded; part of `Directory`. A message's remote name is its session's."""

    @abstractmethod
    def _run(self, sql: str, *parameters: object) -> list[tuple[str, ...]]:
        """Run one statement as a transaction of its own."""

    def forwarded_to(self, profile: str, destination: str, stream: str) -> int:
        """Return the position up to which a stream of a profile was forwarded, 0 at first."""
        sql = "SELECT position FROM forwarding WHERE profile = ? AND destination = ? AND stream = ?"
        found = self._run(sql, profile, destination, stream)
        return int(found[0][0]) if found else 0

    def set_forwarded(self, profile: str, destination: str, stream: str, position: int) -> None:
        """Note how far a stream was forwarded."""
        self._run("INSERT OR REPLACE INTO forwarding VALUES (?, ?, ?, ?)", profile, destination, stream, position)

    def note_forwarded(self, profile: str, destination: str, kind: Kind, names: Mapping[str, str]) -> None:
        """Note what things (by local id) are called there."""
        sql = "INSERT OR REPLACE INTO forwarded SELECT ?, ?, ?, key, value FROM json_each(?)"
        self._run(sql, profile, destination, kind, msgspec.json.encode(dict(names)).decode())

    def remote_names(self, profile: str, destination: str, kind: Kind, local: Sequence[str]) -> dict[str, str]:
        """Return what these are called there, those that were forwarded."""
        sql = (
            "SELECT local, remote FROM forwarded WHERE profile = ? AND destination = ? AND kind = ?"
            " AND local IN (SELECT value FROM json_each(?))"
        )
        found = self._run(sql, profile, destination, kind, msgspec.json.encode(list(local)).decode())
        return {row[0]: row[1] for row in found}

    def local_names(self, profile: str, destination: str, kind: Kind, remote: str, limit: int = 100) -> list[str]:
        """Return what is called so there: equal memories share a name, and a session's messages do."""
        sql = (
            "SELECT local FROM forwarded WHERE profile = ? AND destination = ? AND kind = ? AND remote = ?"
            " ORDER BY local LIMIT ?"
        )
        return [row[0] for row in self._run(sql, profile, destination, kind, remote, limit)]

    def drop_forwarded(self, profile: str, destination: str, kind: Kind, local: Sequence[str]) -> None:
        """Forget what these are called there: they are no longer."""
        sql = (
            "DELETE FROM forwarded WHERE profile = ? AND destination = ? AND kind = ?"
            " AND local IN (SELECT value FROM json_each(?))"
        )
        self._run(sql, profile, destination, kind, msgspec.json.encode(list(local)).decode())

    def drop_session(self, profile: str, destination: str, remote: str) -> None:
        """Forget every message of a session there."""
        sql = "DELETE FROM forwarded WHERE profile = ? AND destination = ? AND kind = 'message' AND remote = ?"
        self._run(sql, profile, destination, remote)

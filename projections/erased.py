"""What one instance knows of destroyed keys and deleted profiles, and what others are still to delete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime

import msgspec

__all__ = ["ERASED_TABLES", "DeletedProfile", "ErasedQueries"]

ERASED_TABLES = """
CREATE TABLE IF NOT EXISTS destructions (profile TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deleted_profiles (
    profile TEXT PRIMARY KEY, at TEXT NOT NULL, actor TEXT NOT NULL, position INTEGER NOT NULL,
    lifted INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unforwarding (
    profile TEXT NOT NULL, destination TEXT NOT NULL, kind TEXT NOT NULL, remote TEXT NOT NULL,
    PRIMARY KEY (profile, destination, kind, remote)
) STRICT, WITHOUT ROWID;
"""


class DeletedProfile(msgspec.Struct, frozen=True):
    """The tombstone of a profile: its name, when it was deleted and by whom, and whether the name is free again."""

    name: str
    at: datetime
    actor: str
    position: int
    lifted: bool


class ErasedQueries(ABC):
    """Destroyed keys, deleted profiles, and what others are to delete; part of `Directory`."""

    @abstractmethod
    def _run(self, sql: str, *parameters: object) -> list[tuple[str, ...]]:
        """Run one statement as a transaction of its own."""

    @abstractmethod
    def remove_profile(self, name: str) -> None:
        """Forget a profile that is no more."""

    def note_destroyed(self, profile: str, position: int) -> None:
        """Note where in the log keys of a profile were destroyed last."""
        sql = (
            "INSERT INTO destructions VALUES (?, ?)"
            " ON CONFLICT (profile) DO UPDATE SET position = max(position, excluded.position)"
        )
        self._run(sql, profile, position)

    def destroyed(self, profile: str) -> int:
        """Return where in the log keys of a profile were destroyed last, 0 where none ever were."""
        found = self._run("SELECT position FROM destructions WHERE profile = ?", profile)
        return int(found[0][0]) if found else 0

    def with_destroyed(self) -> list[str]:
        """Return the profiles of which keys were destroyed, deleted ones included."""
        return [row[0] for row in self._run("SELECT profile FROM destructions ORDER BY profile")]

    def note_deleted(self, profile: str, at: datetime, actor: str, position: int) -> None:
        """Note that a profile was deleted: its name is taken until somebody gives it free."""
        shown = at.astimezone(UTC).isoformat(timespec="microseconds")
        sql = (
            "INSERT INTO deleted_profiles VALUES (?, ?, ?, ?, 0) ON CONFLICT (profile) DO UPDATE SET"
            " at = excluded.at, actor = excluded.actor, position = excluded.position, lifted = 0"
            " WHERE excluded.position > position"
        )
        self._run(sql, profile, shown, actor, position)
        self._run(
            "DELETE FROM profiles WHERE name = ? AND position < ?"
            " AND EXISTS (SELECT 1 FROM deleted_profiles WHERE profile = ? AND position = ?)",
            *(profile, position, profile, position),
        )

    def note_lifted(self, profile: str, position: int) -> None:
        """Note that a deleted profile's name may be used again."""
        self._run("UPDATE deleted_profiles SET lifted = 1 WHERE profile = ? AND position < ?", profile, position)

    def deleted_profiles(self) -> list[DeletedProfile]:
        """Return the tombstones of all deleted profiles by name."""
        found = self._run("SELECT profile, at, actor, position, lifted FROM deleted_profiles ORDER BY profile")
        return [
            DeletedProfile(name, datetime.fromisoformat(at), actor, int(position), bool(lifted))
            for name, at, actor, position, lifted in found
        ]

    def is_gone(self, profile: str) -> bool:
        """Whether a profile was deleted and has not begun again."""
        sql = (
            "SELECT 1 FROM deleted_profiles WHERE profile = ?"
            " AND NOT EXISTS (SELECT 1 FROM profiles p WHERE p.name = ?)"
        )
        return bool(self._run(sql, profile, profile))

    def deleted_profile(self, profile: str) -> DeletedProfile | None:
        """Return the tombstone of a profile, None where it was never deleted."""
        return next((one for one in self.deleted_profiles() if one.name == profile), None)

    # -- what is to be deleted elsewhere --------------------------------------------------------

    def note_unforwarding(self, profile: str, destination: str, kind: str, remote: str) -> None:
        """Note what is to be deleted where it was forwarded to."""
        self._run("INSERT OR IGNORE INTO unforwarding VALUES (?, ?, ?, ?)", profile, destination, kind, remote)

    def note_all_unforwarding(self, profile: str) -> None:
        """Note that whatever was forwarded of a profile is to be deleted there."""
        sql = (
            "INSERT OR IGNORE INTO unforwarding SELECT DISTINCT profile, destination,"
            " iif(kind = 'message', 'session', kind), remote FROM forwarded WHERE profile = ?"
        )
        self._run(sql, profile)

    def unforwarding(self, profile: str, destination: str) -> list[tuple[str, str]]:
        """Return the kind and remote name of what is still to be deleted elsewhere."""
        sql = "SELECT kind, remote FROM unforwarding WHERE profile = ? AND destination = ? ORDER BY kind, remote"
        return [(row[0], row[1]) for row in self._run(sql, profile, destination)]

    def unforwarded(self, profile: str, destination: str, kind: str, remote: str) -> None:
        """Note that something was deleted elsewhere."""
        sql = "DELETE FROM unforwarding WHERE profile = ? AND destination = ? AND kind = ? AND remote = ?"
        self._run(sql, profile, destination, kind, remote)

    def drop_failed(self, profile: str, items: str) -> None:
        """Drop the notes of failed work that name one of these items, in JSON."""
        sql = (
            "DELETE FROM failed_work WHERE profile = ? AND EXISTS"
            " (SELECT 1 FROM json_each(?) WHERE work LIKE '% ' || value)"
        )
        self._run(sql, profile, items)

    def scrub(self) -> None:
        """Leave nothing of deleted rows in the file beside the database."""
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")

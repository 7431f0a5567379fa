"""The directory view: one SQLite file per instance with the profiles, the reader's marks and failed work."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from domain.envelope import Envelope
from domain.errors import DamagedError, MismatchError, UnavailableError
from domain.events import ErasureLifted, KeyDestroyed, PassCompleted, ProfileCreated, ProfileDeleted
from projections.erased import ERASED_TABLES, ErasedQueries
from projections.forwarded import FORWARDED_TABLES, ForwardedQueries

__all__ = ["Directory", "FailedWork", "ProfileCounts", "ProfileRecord"]

_SCHEMA_VERSION = 1
_BUSY_SECONDS = 10.0
_TABLES = """
CREATE TABLE IF NOT EXISTS profiles (
    name TEXT PRIMARY KEY, created_at TEXT NOT NULL, position INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS marks (partition INTEGER PRIMARY KEY, position INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS incarnation (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS failed_work (
    profile TEXT NOT NULL, work TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (profile, work)
) STRICT;
CREATE TABLE IF NOT EXISTS counts (
    profile TEXT PRIMARY KEY, messages INTEGER NOT NULL, memories INTEGER NOT NULL, pending INTEGER NOT NULL,
    failed INTEGER NOT NULL, bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS passes (
    profile TEXT NOT NULL, name TEXT NOT NULL, day TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (profile, name)
) STRICT;
"""


class ProfileRecord(msgspec.Struct, frozen=True):
    """A profile, when it came into being, and where in the log."""

    name: str
    created_at: datetime
    position: int


class ProfileCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What a profile held when its views were last closed: nothing changes while they are."""

    messages: int = 0
    memories: int = 0
    pending: int = 0
    failed: int = 0
    bytes: int = 0


class FailedWork(msgspec.Struct, frozen=True):
    """A piece of work that was given up; ``work`` is its deterministic id."""

    profile: str
    work: str
    reason: str
    at: datetime


class Directory(ForwardedQueries, ErasedQueries):
    """What one instance knows about all profiles; safe for threads, each write durable when it returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._translated():
            self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA secure_delete = ON")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, _SCHEMA_VERSION):
            raise MismatchError(
                "the directory was written by another version", expected=f"schema {_SCHEMA_VERSION}", found=str(version)
            )
        self._db.executescript(
            f"BEGIN IMMEDIATE; {_TABLES} {FORWARDED_TABLES} {ERASED_TABLES}"
            f" PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;"
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
            raise UnavailableError("the directory cannot be used now", found=str(error)) from error
        except sqlite3.DatabaseError as error:
            raise DamagedError(
                "the directory's file is damaged; delete it and start again", expected="SQLite", found=str(error)
            ) from error

    def _run(self, sql: str, *parameters: object) -> list[tuple[str, ...]]:
        with self._lock, self._translated():
            return self._db.execute(sql, parameters).fetchall()

    # -- profiles -------------------------------------------------------------------------------

    def apply(self, envelope: Envelope) -> None:
        """Note a profile's creation, and a scheduled pass over it; other events and repeats change nothing."""
        match envelope.data:
            case ProfileCreated():
                self.add_profile(envelope.data.name, envelope.recorded_at, envelope.position)
            case KeyDestroyed():
                self.note_destroyed(envelope.profile, envelope.position)
            case ProfileDeleted():
                self.note_deleted(envelope.profile, envelope.recorded_at, envelope.actor.principal, envelope.position)
            case ErasureLifted():
                self.note_lifted(envelope.profile, envelope.position)
            case PassCompleted(scheduled=True):
                self._note_pass(envelope, envelope.data)

    def _note_pass(self, envelope: Envelope, event: PassCompleted) -> None:
        at = envelope.recorded_at.astimezone(UTC).isoformat(timespec="microseconds")
        sql = (
            "INSERT INTO passes VALUES (?, ?, ?, ?) ON CONFLICT (profile, name) DO UPDATE SET"
            " day = excluded.day, at = excluded.at WHERE excluded.day >= day"
        )
        self._run(sql, envelope.profile, event.name, event.day, at)

    def last_pass(self, profile: str, name: str) -> str:
        """Return the UTC day of a profile's last scheduled pass, empty when there was none."""
        found = self._run("SELECT day FROM passes WHERE profile = ? AND name = ?", profile, name)
        return found[0][0] if found else ""

    def passes(self, name: str) -> dict[str, str]:
        """Return the day of the last scheduled pass of every profile that had one."""
        return {row[0]: row[1] for row in self._run("SELECT profile, day FROM passes WHERE name = ?", name)}

    def add_profile(self, name: str, created_at: datetime, position: int) -> None:
        """Note a profile; the first position it was seen at stays."""
        sql = "INSERT OR IGNORE INTO profiles VALUES (?, ?, ?)"
        self._run(sql, name, created_at.astimezone(UTC).isoformat(timespec="microseconds"), position)

    def remove_profile(self, name: str) -> None:
        """Forget a deleted profile, its counts and its failed work."""
        self._run("DELETE FROM counts WHERE profile = ?", name)
        self._run("DELETE FROM failed_work WHERE profile = ?", name)
        self._run("DELETE FROM passes WHERE profile = ?", name)
        self._run("DELETE FROM forwarding WHERE profile = ?", name)
        self._run("DELETE FROM forwarded WHERE profile = ?", name)
        self._run("DELETE FROM profiles WHERE name = ?", name)

    def has_profile(self, name: str) -> bool:
        """Whether the profile exists."""
        return bool(self._run("SELECT 1 FROM profiles WHERE name = ?", name))

    def created_at(self, name: str) -> datetime | None:
        """Return when a profile came into being, None when there is none of that name."""
        found = self._run("SELECT created_at FROM profiles WHERE name = ?", name)
        return datetime.fromisoformat(found[0][0]) if found else None

    def profiles(self) -> list[ProfileRecord]:
        """Return every profile by name."""
        found = self._run("SELECT name, created_at, position FROM profiles ORDER BY name")
        return [ProfileRecord(name, datetime.fromisoformat(at), int(position)) for name, at, position in found]

    def names(self) -> list[str]:
        """Return the name of every profile, in order."""
        return [name for (name,) in self._run("SELECT name FROM profiles ORDER BY name")]

    def note_counts(self, name: str, counts: ProfileCounts) -> None:
        """Keep what a profile holds, for when its views are closed."""
        self._run("INSERT OR REPLACE INTO counts VALUES (?, ?, ?, ?, ?, ?)", name, *msgspec.structs.astuple(counts))

    def counts(self) -> dict[str, ProfileCounts]:
        """Return what was kept of each profile."""
        found = self._run("SELECT profile, messages, memories, pending, failed, bytes FROM counts")
        return {
            name: ProfileCounts(messages=int(m), memories=int(k), pending=int(p), failed=int(f), bytes=int(b))
            for name, m, k, p, f, b in found
        }

    # -- marks ----------------------------------------------------------------------------------

    def set_mark(self, position: int, *, partition: int = 0) -> None:
        """Note that everything of a partition up to ``position`` is committed; a mark never goes back."""
        sql = (
            "INSERT INTO marks VALUES (?, ?)"
            " ON CONFLICT (partition) DO UPDATE SET position = max(position, excluded.position)"
        )
        self._run(sql, partition, position)

    def low_water_mark(self) -> int:
        """Return the lowest mark of all partitions, 0 when there is none."""
        ((found,),) = self._run("SELECT coalesce(min(position), 0) FROM marks")
        return int(found)

    def reset_marks(self) -> None:
        """Start over from the beginning of the log, for a log that was restored."""
        self._run("DELETE FROM marks")

    def begin_again(self, end: int, incarnation: str) -> None:
        """Read a log anew that lost what came after ``end``, and forget the profiles that went with it."""
        for record in self.profiles():
            if record.position > end:
                self.remove_profile(record.name)
        self._run("UPDATE forwarding SET position = min(position, ?)", end)
        self.reset_marks()
        self.incarnation = incarnation

    # -- the log's incarnation, failed work -----------------------------------------------------

    @property
    def incarnation(self) -> str:
        """The log's incarnation that the marks belong to, empty before it is known."""
        found = self._run("SELECT name FROM incarnation")
        return found[0][0] if found else ""

    @incarnation.setter
    def incarnation(self, name: str) -> None:
        self._run("INSERT OR REPLACE INTO incarnation VALUES (1, ?)", name)

    def note_failed(self, failed: FailedWork) -> None:
        """Note a piece of work that was given up; the latest reason stays."""
        at = failed.at.astimezone(UTC).isoformat(timespec="microseconds")
        sql = "INSERT OR REPLACE INTO failed_work VALUES (?, ?, ?, ?)"
        self._run(sql, failed.profile, failed.work, failed.reason, at)

    def clear_failed(self, profile: str, work: str) -> None:
        """Drop a note: the work is done or tried again."""
        self._run("DELETE FROM failed_work WHERE profile = ? AND work = ?", profile, work)

    def failed_work(self, profile: str | None = None) -> list[FailedWork]:
        """Return what was given up, of one profile or of all, oldest first."""
        sql = "SELECT profile, work, reason, at FROM failed_work WHERE ? IS NULL OR profile = ? ORDER BY at, work"
        found = self._run(sql, profile, profile)
        return [FailedWork(name, work, reason, datetime.fromisoformat(at)) for name, work, reason, at in found]

    def close(self) -> None:
        """Close the file."""
        with self._lock, self._translated():
            self._db.close()

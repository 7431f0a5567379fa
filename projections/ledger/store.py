"""The ledger's SQLite file: one writer, a small pool of readers, vendor errors translated."""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import DamagedError, MismatchError, UmbrielError, UnavailableError
from projections.ledger.schema import SCHEMA_VERSION, TABLES

__all__ = ["Store", "translated"]

_BUSY_MS = 10_000
_IDLE_READERS = 4


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours: a broken file is DamagedError, anything else UnavailableError."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise UnavailableError("the ledger cannot be used now", expected="a working file", found=str(error)) from error
    except sqlite3.IntegrityError as error:
        raise DamagedError("an event does not fit the ledger", expected=path.name, found=str(error)) from error
    except sqlite3.DatabaseError as error:
        raise DamagedError("the ledger's file is damaged", expected="a SQLite file", found=str(error)) from error


def _says(text: str, folded: str) -> bool:
    """Whether a text holds another, in any case; SQLite's own LIKE knows the letters of ASCII only."""
    return folded in text.casefold()


class Store:
    """Connections to one file; every read is a snapshot, every write one durable transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._idle: deque[sqlite3.Connection] = deque()
        self._closed = False
        path.parent.mkdir(parents=True, exist_ok=True)
        with translated(path):
            self._writer = self._connect()
            try:
                self._prepare()
            except BaseException:
                self._writer.close()
                raise

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        db.create_function("says", 2, _says, deterministic=True)
        return db

    def _prepare(self) -> None:
        db = self._writer
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, SCHEMA_VERSION):
            raise MismatchError(
                "the ledger was written by another version", expected=f"schema {SCHEMA_VERSION}", found=str(version)
            )
        if version == 0:
            db.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction; it is on disk when the block has ended, and undone when the block raised."""
        with self._lock, translated(self.path):
            self._check_open()
            db = self._writer
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One snapshot: every query in the block sees the same committed state."""
        with translated(self.path):
            self._check_open()
            db = self._reader()
            try:
                db.execute("BEGIN")
                yield db
            finally:
                self._release(db)

    def _reader(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            db = self._connect()
            db.execute("PRAGMA query_only = ON")
            return db

    def _release(self, db: sqlite3.Connection) -> None:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if self._closed or len(self._idle) >= _IDLE_READERS:
            db.close()
        else:
            self._idle.append(db)

    def check(self) -> None:
        """Read the whole file and raise DamagedError when it is not sound."""
        with self.read() as db:
            found = [row[0] for row in db.execute("PRAGMA quick_check(3)")]
        if found != ["ok"]:
            raise DamagedError("the ledger's file is damaged", expected="a sound file", found="; ".join(found))

    @property
    def bytes_on_disk(self) -> int:
        """Size of the file and its write-ahead log, in bytes."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _check_open(self) -> None:
        if self._closed:
            raise UnavailableError("the ledger is closed", expected="an open ledger", found=self.path.parent.name)

    def close(self) -> None:
        """Close every connection; reads that still run close theirs when they end."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            try:
                self._writer.close()
            except sqlite3.Error as error:
                raise UmbrielError("the ledger did not close cleanly", found=str(error)) from error

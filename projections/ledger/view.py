"""The ledger: applies batches of events in one transaction together with its position."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from domain.envelope import Envelope
from domain.errors import InvalidInputError, MismatchError
from domain.indexing import Indexing
from projections.ledger.apply import project
from projections.ledger.changes import ChangeQueries
from projections.ledger.contacts import ContactQueries
from projections.ledger.days import DayQueries
from projections.ledger.episodes import EpisodeQueries
from projections.ledger.erasures import ErasureQueries
from projections.ledger.grounds import GroundQueries
from projections.ledger.memories import MemoryQueries
from projections.ledger.past import PastQueries
from projections.ledger.recalls import RecallQueries
from projections.ledger.records import Checkpoint
from projections.ledger.remembered import Remembered
from projections.ledger.schema import SCHEMA_VERSION
from projections.ledger.scopes import ScopeQueries
from projections.ledger.session_list import SessionListQueries
from projections.ledger.store import Store, translated
from projections.ledger.suppressions import SuppressionQueries
from projections.ledger.thinking import ThinkingQueries
from projections.ledger.times import TimeQueries
from projections.ledger.tombstones import Known, TombstoneQueries
from projections.ledger.transcripts import TranscriptQueries
from projections.ledger.transfers import TransferQueries
from projections.ledger.upkeep import UpkeepQueries
from projections.ledger.work import WorkQueries
from projections.ledger.working import WorkingQueries
from projections.outcome import Outcome

__all__ = ["Ledger", "model_of"]

_FILE = "ledger.sqlite"
_CHECKPOINT = "SELECT position, event_position, event_id FROM checkpoint"


class Ledger(
    MemoryQueries,
    PastQueries,
    ChangeQueries,
    RecallQueries,
    ScopeQueries,
    TimeQueries,
    EpisodeQueries,
    SuppressionQueries,
    ContactQueries,
    WorkQueries,
    ThinkingQueries,
    GroundQueries,
    UpkeepQueries,
    DayQueries,
    WorkingQueries,
    ErasureQueries,
    TransferQueries,
    TombstoneQueries,
    SessionListQueries,
    TranscriptQueries,
):
    """One profile's ledger in ``directory``; any number of threads may read while one applies.

    Opening raises MismatchError when the file was written for another embedding model or by another
    version of this code, and DamagedError when it is not a ledger.
    """

    def __init__(self, directory: Path, indexing: Indexing) -> None:
        self._indexing = indexing
        self._store = Store(directory / _FILE)
        self._known = Known()
        try:
            self._claim()
        except BaseException:
            self._store.close()
            raise

    def _claim(self) -> None:
        wanted = (self._indexing.model, self._indexing.dimension)
        with self._store.write() as db:
            db.execute("INSERT OR IGNORE INTO checkpoint VALUES (1, 0, 0, '', ?, ?)", wanted)
            *found, position = db.execute("SELECT model, dimension, position FROM checkpoint").fetchone()
        self._remembered = Remembered(position)
        if tuple(found) != wanted:
            raise MismatchError(
                "the ledger was built for another embedding model; rebuild the profile",
                expected=f"{wanted[0]} with {wanted[1]} dimensions",
                found=f"{found[0]} with {found[1]} dimensions",
            )

    def apply(self, envelopes: Sequence[Envelope], *, upto: int) -> Outcome:
        """Apply events in log order and move to ``upto`` (at least the last one's position), as one commit.

        Events at or below the position are skipped. MISMATCH: the event at the position is not the one that
        was applied there, so this is another log; nothing was changed then.
        """
        _check_order(envelopes)
        with self._store.write() as db:
            at = _checkpoint(db)
            if any(e.position == at.event_position and e.event_id != at.event_id for e in envelopes):
                return Outcome.MISMATCH
            new = [envelope for envelope in envelopes if envelope.position > at.position]
            target = max(upto, new[-1].position if new else upto)
            if target <= at.position:
                return Outcome.SEEN
            for envelope in new:
                project(db, envelope, self._indexing)
            _advance(db, target, new)
            self._remembered.change(at.position, target, new)
        self._remembered.changed()
        self._known.changed(new)
        return Outcome.APPLIED

    def advance(self, upto: int) -> Outcome:
        """Move to ``upto`` when nothing of this profile lies before it."""
        return self.apply((), upto=upto)

    @property
    def checkpoint(self) -> Checkpoint:
        """The position, and the last event applied."""
        with self._store.read() as db:
            return _checkpoint(db)

    @property
    def position(self) -> int:
        """Stream sequence up to which everything is applied."""
        return self.checkpoint.position

    @property
    def bytes_on_disk(self) -> int:
        """Size of the ledger's files."""
        return self._store.bytes_on_disk

    def check(self) -> None:
        """Read the whole file; raises DamagedError when it is not sound."""
        self._store.check()

    def close(self) -> None:
        """Close every connection."""
        self._store.close()


def model_of(directory: Path) -> tuple[str, int] | None:
    """Return the embedding model and dimension a ledger was built for; None when this version cannot tell."""
    path = directory / _FILE
    if not path.exists():
        return None
    with translated(path), closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        found = db.execute("SELECT model, dimension FROM checkpoint").fetchone() if version == SCHEMA_VERSION else None
    return None if found is None else (str(found[0]), int(found[1]))


def _checkpoint(db: sqlite3.Connection) -> Checkpoint:
    return Checkpoint(*db.execute(_CHECKPOINT).fetchone())


def _advance(db: sqlite3.Connection, position: int, applied: Sequence[Envelope]) -> None:
    db.execute("UPDATE checkpoint SET position = ?", (position,))
    if applied:
        last = applied[-1]
        db.execute("UPDATE checkpoint SET event_position = ?, event_id = ?", (last.position, last.event_id))


def _check_order(envelopes: Sequence[Envelope]) -> None:
    for before, after in pairwise(envelopes):
        if after.position <= before.position:
            raise InvalidInputError(
                "events must come in log order",
                expected=f"a position above {before.position}",
                found=str(after.position),
            )

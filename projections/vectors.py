"""The vector view: exact cosine search over the unit vectors of one profile, on FAISS.

What each commit changed is one immutable segment file; the manifest names the segments and the position, and is
replaced atomically. An item waits until the vectors of its embedding are known. Vectors are kept by embedding for
as long as the generation lives, even with no item left: an item that is restored, or stated again, has the same
embedding, and the log holds its vectors once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from domain.errors import MismatchError, UnavailableError
from domain.indexing import IndexChange
from domain.settings import VectorGrowth
from projections.hit import Hit
from projections.manifest import MANIFEST, Manifest, Progress, describe
from projections.outcome import Outcome
from projections.rows import VectorTable
from projections.segments import Added, Computed, Record, Removed, Rows, read_segment, write_segment
from projections.vector_batch import VectorBatch

__all__ = ["VERSION", "VectorView"]

#: Changes with every change of what this projection makes of events; a new generation is built then.
VERSION = 1

_MAX_SEGMENTS = 16
_DEAD_SHARE = 0.25
_FEW_RECORDS = 256
_GROWTH = VectorGrowth()


class _Item(msgspec.Struct, frozen=True):
    added: Added
    number: int


class VectorView:
    """The vectors of one generation; one writer at a time, any number of readers."""

    def __init__(self, directory: Path, model: str, dimension: int, growth: VectorGrowth = _GROWTH) -> None:
        """Open or create; raises DamagedError naming a damaged file, MismatchError for another model or dimension."""
        self._directory, self._model, self._dimension = directory, model, dimension
        self._lock = threading.Lock()
        self._closed = False
        self._items: dict[str, _Item] = {}
        self._waiting: dict[str, dict[str, int]] = {}
        self._waiting_items = 0
        self._known: dict[str, Rows] = {}
        self._records: dict[str, int] = {}
        self._growth = growth
        self._table = VectorTable(self._known, growth)
        directory.mkdir(parents=True, exist_ok=True)
        self._manifest = Manifest.load(directory) or Manifest(model=model, dimension=dimension, version=VERSION)
        self._manifest.check(directory, model, dimension, VERSION)
        self._clean()
        for entry in self._manifest.files:
            self._fold(entry.name, *read_segment(directory / entry.name, dimension))
        self._table.publish()
        self._progress = Progress(self._manifest.position, self._manifest.event_id)

    # -- what it says of itself -----------------------------------------------------------------

    @property
    def position(self) -> int:
        """Stream sequence of the last event taken into account."""
        return self._progress.position

    @property
    def event_id(self) -> str:
        """Id of the event at the position."""
        return self._progress.event_id

    @property
    def count(self) -> int:
        """Items that can be found."""
        return len(self._items) - self.waiting()

    @property
    def bytes_on_disk(self) -> int:
        """Bytes of the files of the last commit."""
        return self._manifest.bytes + (self._directory / MANIFEST).stat().st_size if self._manifest.files else 0

    @property
    def resident_bytes(self) -> int:
        """Bytes of vectors held in memory, without the pages of mapped files."""
        return self._table.resident_bytes

    def waiting(self) -> int:
        """Return how many items have no vectors yet."""
        return self._waiting_items

    def item(self, id_: str) -> Added | None:
        """Return what is known of an item, None when it is not in the index."""
        item = self._items.get(id_)
        return None if item is None else item.added

    def knows(self, embedding: str) -> bool:
        """Return whether the vectors of an embedding have come."""
        return embedding in self._known

    def vector_of(self, id_: str) -> bytes | None:
        """Return the first vector of an item as float32 bytes, or None when it has none yet."""
        item = self.item(id_)
        rows = None if item is None else self._known.get(item.embedding)
        return None if rows is None or not len(rows) else rows[0].tobytes()

    def verify(self) -> None:
        """Read the files of the last commit; raises DamagedError for one that is not as written."""
        with self._lock:
            self._manifest.check(self._directory, self._model, self._dimension, VERSION)

    # -- writing --------------------------------------------------------------------------------

    def apply(self, changes: Sequence[IndexChange], *, upto: int, event_id: str) -> Outcome:
        """Apply the changes above the position in one commit, and advance to ``upto``, whose event is ``event_id``."""
        with self._lock:
            outcome = self._check_advance(upto, event_id)
            if outcome is not Outcome.APPLIED:
                return outcome
            batch = VectorBatch(self, self._model, self._dimension)
            for change in changes:
                if change.position > self.position:
                    batch.change(change)
            if batch.records:
                self._commit(batch.records, batch.rows, upto, event_id)
            self._progress.advance(upto, event_id)
            return outcome

    def advance(self, upto: int, event_id: str) -> Outcome:
        """Advance past events of others; made durable with the next commit, or when the view is closed."""
        with self._lock:
            outcome = self._check_advance(upto, event_id)
            if outcome is Outcome.APPLIED:
                self._progress.advance(upto, event_id)
            return outcome

    def _check_advance(self, upto: int, event_id: str) -> Outcome:
        if self._closed:
            raise UnavailableError("the vector view is closed", expected="an open view", found=str(self._directory))
        return self._progress.outcome(upto, event_id)

    def _commit(self, records: Sequence[Record], rows: Sequence[bytes], upto: int, event_id: str) -> None:
        name = self._write(records, rows)
        entry = describe(self._directory / name)
        found = read_segment(self._directory / name, self._dimension)
        self._switch(
            msgspec.structs.replace(
                self._manifest, position=upto, event_id=event_id, files=(*self._manifest.files, entry)
            )
        )
        self._fold(name, *found)
        self._table.publish()
        # The commit stands; what could not be compacted now is tried again at the next one.
        with suppress(OSError):
            self._compact()

    def _switch(self, manifest: Manifest) -> None:
        manifest.store(self._directory)
        self._manifest = manifest

    def _write(self, records: Sequence[Record], rows: Sequence[bytes]) -> str:
        last = max((int(entry.name[1:9]) for entry in self._manifest.files), default=0)
        name = f"s{last + 1:08d}.seg"
        write_segment(self._directory / name, self._dimension, records, rows)
        return name

    def _fold(self, name: str, records: Sequence[Record], rows: Rows) -> None:
        self._records[name] = len(records)
        for record in records:
            match record:
                case Added():
                    self._fold_added(record)
                case Removed():
                    self._fold_removed(record.id)
                case Computed():
                    self._fold_computed(record.embedding, rows[record.first : record.first + record.chunks])

    def _fold_added(self, added: Added) -> None:
        self._fold_removed(added.id)
        number = self._table.add(added)
        self._items[added.id] = _Item(added, number)
        if (rows := self._known.get(added.embedding)) is not None:
            self._table.attach(number, rows)
        else:
            self._waiting.setdefault(added.embedding, {})[added.id] = number
            self._waiting_items += 1

    def _fold_removed(self, id_: str) -> None:
        item = self._items.pop(id_, None)
        if item is None:
            return
        self._table.drop(item.number)
        if (waiting := self._waiting.get(item.added.embedding)) is not None:
            del waiting[id_]
            self._waiting_items -= 1
            if not waiting:
                del self._waiting[item.added.embedding]

    def _fold_computed(self, embedding: str, rows: Rows) -> None:
        self._known[embedding] = rows
        waiting = self._waiting.pop(embedding, {})
        self._waiting_items -= len(waiting)
        for number in waiting.values():
            self._table.attach(number, rows)

    # -- compaction -----------------------------------------------------------------------------

    def _compact(self) -> None:
        records = sum(self._records.values())
        live = len(self._items) + len(self._known)
        if records > _FEW_RECORDS and records - live > _DEAD_SHARE * records:
            self._rewrite()
        elif len(self._manifest.files) > _MAX_SEGMENTS:
            self._join()

    def _rewrite(self) -> None:
        """Write what is live as one base segment."""
        records: list[Record] = []
        first = 0
        for embedding, rows in self._known.items():
            records.append(Computed(embedding, first, len(rows)))
            first += len(rows)
        records.extend(item.added for item in self._items.values())
        self._replace(0, records, [rows.tobytes() for rows in self._known.values()])

    def _join(self) -> None:
        """Write the newest segments as one, and with them older ones as long as those are not much larger.

        Joining everything each time would write the whole index again and again.
        """
        files = self._manifest.files
        start, size = len(files) - _MAX_SEGMENTS // 2, sum(entry.size for entry in files[-_MAX_SEGMENTS // 2 :])
        while start > 0 and files[start - 1].size <= 2 * size:
            start -= 1
            size += files[start].size
        records: list[Record] = []
        pieces: list[bytes] = []
        first = 0
        for entry in files[start:]:
            found, rows = read_segment(self._directory / entry.name, self._dimension)
            records.extend(_shifted(record, first) for record in found)
            pieces.append(rows.tobytes())
            first += len(rows)
        self._replace(start, records, pieces)

    def _replace(self, start: int, records: Sequence[Record], rows: Sequence[bytes]) -> None:
        """Put one new segment in the place of all segments from number ``start`` on."""
        name = self._write(records, rows)
        kept = self._manifest.files[:start]
        replaced = self._manifest.files[start:]
        self._switch(msgspec.structs.replace(self._manifest, files=(*kept, describe(self._directory / name))))
        for entry in replaced:
            del self._records[entry.name]
        self._records[name] = len(records)
        self._remap(name)
        self._clean()

    def _remap(self, name: str) -> None:
        records, rows = read_segment(self._directory / name, self._dimension)
        for record in records:
            if isinstance(record, Computed):
                self._known[record.embedding] = rows[record.first : record.first + record.chunks]

    def _clean(self) -> None:
        """Remove files that no commit names: what a crash left, or a compaction replaced."""
        named = {entry.name for entry in self._manifest.files}
        for path in self._directory.glob("s*.seg"):
            if path.name not in named:
                path.unlink(missing_ok=True)
        (self._directory / f"{MANIFEST}.new").unlink(missing_ok=True)

    # -- reading --------------------------------------------------------------------------------

    def search(
        self,
        vector: bytes | Rows,
        k: int,
        *,
        kinds: frozenset[str] | None = None,
        scopes: frozenset[str] | None = None,
    ) -> list[Hit]:
        """Return the ``k`` items nearest to a unit vector, as cosines in [-1, 1]; None filters nothing.

        Exact at any size; filters act before the cut. An item counts by its best chunk. Ties: the newer, then the id.
        Raises MismatchError for a vector of another dimension.
        """
        query = np.frombuffer(vector, dtype="<f4") if isinstance(vector, bytes) else np.asarray(vector, dtype="<f4")
        if query.size != self._dimension:
            raise MismatchError(
                "the query vector has another dimension", expected=str(self._dimension), found=str(query.size)
            )
        if k <= 0:
            return []
        return self._table.snapshot.search(query.reshape(1, -1).astype(np.float32), k, kinds, scopes)

    def close(self) -> None:
        """Make the position durable and let go of the files."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self.position > self._manifest.position:
                self._switch(msgspec.structs.replace(self._manifest, position=self.position, event_id=self.event_id))
            # Not cleared: who still searches looks rows up in it.
            self._known = {}
            self._table = VectorTable(self._known, self._growth)


def _shifted(record: Record, first: int) -> Record:
    return msgspec.structs.replace(record, first=record.first + first) if isinstance(record, Computed) else record

"""The keyword view: BM25 over the texts of one profile, on Whoosh.

A query is never parsed: it is cut into terms by the same rules as the texts, and any of them may match. The manifest
holds the position and the checksums of Whoosh's files, and is what commits.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import msgspec
from whoosh.index import IndexError as WhooshIndexError
from whoosh.reading import CorruptIndexError
from whoosh.writing import IndexingError

from domain.errors import DamagedError, UnavailableError
from domain.indexing import IndexChange, IndexItem
from projections.analysis import ANALYSIS, Terms, index_terms, query_terms
from projections.hit import Hit
from projections.keyword_store import KeywordStore
from projections.manifest import MANIFEST, Manifest, Progress, describe
from projections.outcome import Outcome
from projections.postings import Document, KeywordSnapshot

__all__ = ["VERSION", "KeywordView"]

#: Changes with every change of what this projection makes of events; a new generation is built then.
VERSION = 1
#: What a document takes in memory: its names and columns, and its share of the postings that are kept decoded.
_DOCUMENT_BYTES = 800


class _Batch:
    """What a commit leaves behind of each item it touches: its new document, or None."""

    def __init__(self, snapshot: KeywordSnapshot) -> None:
        self._before = snapshot
        self._after: dict[str, tuple[Document, IndexItem] | None] = {}

    def change(self, change: IndexChange) -> None:
        """Take in one change."""
        for id_ in change.remove:
            self._after[id_] = None
        if change.add is not None:
            self._add(change.add, change.position)

    def _add(self, item: IndexItem, position: int) -> None:
        document = Document(item.id, item.kind, item.scope, position, 0, _digest(item))
        current = self._current(item.id)
        # The same content again changes nothing, not even the order: a replay meets what it wrote before.
        if current is None or current.digest != document.digest:
            self._after[item.id] = document, item

    def _current(self, id_: str) -> Document | None:
        if id_ in self._after:
            after = self._after[id_]
            return None if after is None else after[0]
        return self._before.find(id_)

    def result(self) -> tuple[list[tuple[int, int]], list[tuple[Document, IndexItem]]]:
        """Return the places to remove and the documents to add."""
        remove, add = [], []
        for id_, after in self._after.items():
            before = self._before.find(id_)
            if before is not None and after is not None and _same(before, after[0]):
                continue
            if (place := self._before.place(id_)) is not None:
                remove.append(place)
            if after is not None:
                add.append(after)
        return remove, add


class KeywordView:
    """The texts of one generation; one writer at a time, any number of readers."""

    def __init__(self, directory: Path) -> None:
        """Open or create; raises DamagedError naming a damaged file, MismatchError for other rules of analysis."""
        self._directory = directory
        self._lock = threading.Lock()
        self._closed = False
        directory.mkdir(parents=True, exist_ok=True)
        self._store = KeywordStore(directory)
        self._manifest = Manifest.load(directory) or Manifest(model=ANALYSIS, version=VERSION)
        self._manifest.check(directory, ANALYSIS, 0, VERSION)
        self._clean()
        with _translated(directory):
            if not self._manifest.files:
                self._store.create()
                self._switch(0, "")
            self._snapshot = self._store.snapshot()
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
        return self._snapshot.count

    @property
    def bytes_on_disk(self) -> int:
        """Bytes of the files of the last commit."""
        return self._manifest.bytes + (self._directory / MANIFEST).stat().st_size

    @property
    def resident_bytes(self) -> int:
        """About how many bytes of memory its documents and what was decoded of them take."""
        return self._snapshot.count * _DOCUMENT_BYTES

    def verify(self) -> None:
        """Read the files of the last commit; raises DamagedError for one that is not as written."""
        with self._lock:
            self._manifest.check(self._directory, ANALYSIS, 0, VERSION)

    # -- writing --------------------------------------------------------------------------------

    def apply(self, changes: Sequence[IndexChange], *, upto: int, event_id: str) -> Outcome:
        """Apply the changes above the position in one commit, and advance to ``upto``, whose event is ``event_id``."""
        with self._lock:
            outcome = self._check_advance(upto, event_id)
            if outcome is not Outcome.APPLIED:
                return outcome
            batch = _Batch(self._snapshot)
            for change in changes:
                if change.position > self.position:
                    batch.change(change)
            remove, add = batch.result()
            if remove or add:
                self._commit(remove, add, upto, event_id)
            self._progress.advance(upto, event_id)
            return outcome

    def advance(self, upto: int, event_id: str) -> Outcome:
        """Advance past events of others; made durable with the next commit, or when the view is closed."""
        with self._lock:
            outcome = self._check_advance(upto, event_id)
            if outcome is Outcome.APPLIED:
                self._progress.advance(upto, event_id)
            return outcome

    def optimize(self) -> None:
        """Merge all segments into one; what is found, and how it scores, stays the same."""
        with self._lock:
            self._check_advance(self.position, "")
            self._commit([], [], self.position, self.event_id, merge_all=True)

    def _check_advance(self, upto: int, event_id: str) -> Outcome:
        if self._closed:
            raise UnavailableError("the keyword view is closed", expected="an open view", found=str(self._directory))
        return self._progress.outcome(upto, event_id)

    def _commit(
        self,
        remove: Sequence[tuple[int, int]],
        add: Sequence[tuple[Document, IndexItem]],
        upto: int,
        event_id: str,
        *,
        merge_all: bool = False,
    ) -> None:
        terms = [(document, index_terms(item.text)) for document, item in add]
        documents = [(msgspec.structs.replace(one, length=len(found.text)), found) for one, found in terms]
        with _translated(self._directory):
            try:
                self._store.write(remove, documents, merge_all=merge_all)
                snapshot = self._store.snapshot()
                self._switch(upto, event_id)
            except BaseException:
                # The next commit must start from what the manifest names.
                self._clean()
                raise
            self._snapshot = snapshot
            self._clean()

    def _switch(self, upto: int, event_id: str) -> None:
        known = {entry.name: entry for entry in self._manifest.files}
        files = tuple(known.get(path.name) or describe(path) for path in self._store.files())
        manifest = Manifest(position=upto, event_id=event_id, model=ANALYSIS, version=VERSION, files=files)
        manifest.store(self._directory)
        self._manifest = manifest

    def _clean(self) -> None:
        self._store.clean(frozenset(entry.name for entry in self._manifest.files))
        (self._directory / f"{MANIFEST}.new").unlink(missing_ok=True)

    # -- reading --------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        k: int,
        *,
        kinds: frozenset[str] | None = None,
        scopes: frozenset[str] | None = None,
    ) -> list[Hit]:
        """Return the ``k`` items that have any term of the query, by BM25 (> 0, unbounded); None filters nothing.

        Filters act before the cut. Ties: the newer, then the id. Any text is a query; one without terms finds nothing.
        """
        terms = _terms(query)
        snapshot = self._snapshot
        if k <= 0 or not snapshot.count or not (terms.text or terms.rest):
            return []
        with _translated(self._directory):
            return snapshot.search(terms, k, kinds, scopes)

    def search_windows(self, query: str, k: int, *, scopes: frozenset[str] | None = None) -> list[Hit]:
        """Return the ``k`` messages that have any term of the query in themselves or beside them, by BM25 of the three.

        As `search` otherwise.
        """
        terms = _terms(query)
        snapshot = self._snapshot
        if k <= 0 or not snapshot.count or not (terms.text or terms.rest):
            return []
        with _translated(self._directory):
            return snapshot.search_windows(terms, k, scopes)

    def close(self) -> None:
        """Make the position durable and let go of the files."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self.position > self._manifest.position:
                self._manifest = msgspec.structs.replace(self._manifest, position=self.position, event_id=self.event_id)
                self._manifest.store(self._directory)
            self._store.close()
            self._snapshot = KeywordSnapshot([], [], self._store.codes)


@lru_cache(maxsize=16)
def _terms(query: str) -> Terms:
    """Return a query's terms; the channels of one recall ask for the same ones."""
    return query_terms(query)


def _digest(item: IndexItem) -> bytes:
    content = msgspec.msgpack.encode((item.kind, item.scope, item.text))
    return hashlib.blake2b(content, digest_size=16).digest()


def _same(before: Document, after: Document) -> bool:
    return (before.digest, before.position) == (after.digest, after.position)


@contextmanager
def _translated(directory: Path) -> Iterator[None]:
    try:
        yield
    except (WhooshIndexError, IndexingError, CorruptIndexError) as error:
        raise DamagedError(f"{directory} cannot be used", expected="an index", found=str(error)) from error
    except OSError as error:
        raise UnavailableError(f"{directory} cannot be used", expected="a usable disk", found=str(error)) from error

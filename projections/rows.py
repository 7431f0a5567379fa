"""Vectors in memory: parts that one writer replaces and any number of readers search.

A reader works on a snapshot, whose parts never change. The writer puts new rows into a part of their own and
joins it with older ones as long as those are not much larger, as a binary counter carries: a commit copies a few
rows, and beside the parts that are as large as parts get there are never more than about log2(rows). A row whose item
has left is masked in the next snapshot, before any top-k; it leaves memory when its part is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import faiss
import numpy as np

from domain.settings import VectorGrowth
from projections.hit import Hit, ranked
from projections.segments import Added, Rows
from projections.vector_parts import Mask, Numbers, Part, joined, make_part

__all__ = ["Snapshot", "VectorTable"]

# float32 sums of one product differ by the order of their terms; scores closer than this are decided in float64.
_EPSILON = 1e-5
_DIGITS = 9
_MARGIN = 16
_GROWTH = 4
_DEAD_SHARE = 0.25
#: What an item takes beside its rows: its names, and where its rows are.
_ITEM_BYTES = 700


class _Column:
    """Numbers by item. Views handed out stay as they are: only what lies behind them is written."""

    def __init__(self) -> None:
        self._data: Numbers = np.zeros(64, dtype=np.int64)
        self._size = 0

    def append(self, value: int) -> None:
        if self._size == len(self._data):
            self._data = np.concatenate([self._data, np.zeros_like(self._data)])
        self._data[self._size] = value
        self._size += 1

    def view(self) -> Numbers:
        return self._data[: self._size]


class Snapshot:
    """The rows as of one commit; safe to search from any thread."""

    def __init__(self, parts: tuple[Part, ...], table: VectorTable, alive: Mask) -> None:
        self._parts = parts
        self._ids = table.ids
        self._kind_codes, self._scope_codes = table.kind_codes, table.scope_codes
        self._kinds, self._scopes = table.kinds.view(), table.scopes.view()
        self._positions = table.positions.view()
        self._alive = alive
        self._all_alive = [bool(alive[part.owners].all()) for part in parts]

    def search(self, query: Rows, k: int, kinds: frozenset[str] | None, scopes: frozenset[str] | None) -> list[Hit]:
        """Return the best ``k`` items by their best row."""
        # One query keeps one thread busy; waking a pool for it costs more than the search.
        faiss.omp_set_num_threads(1)
        masks = self._masks(kinds, scopes)
        fetch = k + _MARGIN
        while True:
            hits, floor = self._fetch(query, fetch, masks)
            best = ranked(hits, k)
            if floor is None or (len(best) == k and floor + _EPSILON < best[-1].score):
                return best
            fetch *= _GROWTH

    def _masks(self, kinds: frozenset[str] | None, scopes: frozenset[str] | None) -> list[Mask | None]:
        if kinds is None and scopes is None:
            pairs = zip(self._parts, self._all_alive, strict=True)
            return [None if whole else self._alive[part.owners] for part, whole in pairs]
        items = self._alive.copy()
        for wanted, codes, column in (
            (kinds, self._kind_codes, self._kinds),
            (scopes, self._scope_codes, self._scopes),
        ):
            if wanted is not None:
                items &= _chosen(wanted, codes)[column]
        return [items[part.owners] for part in self._parts]

    def _fetch(self, query: Rows, fetch: int, masks: list[Mask | None]) -> tuple[list[Hit], float | None]:
        """Return items among the best rows of each part, and the score that nothing else exceeds (None: no more)."""
        best: dict[int, float] = {}
        floor: float | None = None
        exact = query[0].astype(np.float64)
        length = float(np.linalg.norm(exact))
        for part, mask in zip(self._parts, masks, strict=True):
            found, rows, more = part.search(query, fetch, mask)
            if not len(found):
                continue
            if more:
                most = float(found[-1]) + length * part.slack
                floor = most if floor is None else max(floor, most)
            scores = np.round(part.rows(rows).astype(np.float64) @ exact, _DIGITS)
            for owner, score in zip(part.owners[rows].tolist(), scores.tolist(), strict=True):
                best[owner] = max(score, best.get(owner, score))
        positions = self._positions
        return [Hit(self._ids[item], score, int(positions[item])) for item, score in best.items()], floor


class VectorTable:
    """The writer's side: items by number, their rows, and the snapshot that readers see."""

    def __init__(self, known: Mapping[str, Rows], growth: VectorGrowth) -> None:
        """``known`` are the rows of each embedding as they were written; they may move, and never change."""
        self.ids: list[str] = []
        self._known, self._growth = known, growth
        self._embeddings: list[str] = []
        self.kind_codes: dict[str, int] = {}
        self.scope_codes: dict[str, int] = {}
        self.kinds, self.scopes, self.positions = _Column(), _Column(), _Column()
        self._alive = _Column()
        self._parts: list[Part] = []
        self._pending: list[tuple[int, Rows]] = []
        self.snapshot = Snapshot((), self, np.zeros(0, dtype=np.bool_))

    def add(self, item: Added) -> int:
        """Enter an item and return its number."""
        self.ids.append(item.id)
        self._embeddings.append(item.embedding)
        self.kinds.append(self.kind_codes.setdefault(item.kind, len(self.kind_codes)))
        self.scopes.append(self.scope_codes.setdefault(item.scope, len(self.scope_codes)))
        self.positions.append(item.position)
        self._alive.append(1)
        return len(self.ids) - 1

    def attach(self, item: int, rows: Rows) -> None:
        """Give an item its rows, from the next snapshot on."""
        if len(rows):
            self._pending.append((item, rows))

    def drop(self, item: int) -> None:
        """Take an item out of the next snapshot."""
        self._alive.view()[item] = 0

    @property
    def resident_bytes(self) -> int:
        """About how many bytes of memory it takes (the rows as written are mapped from their files)."""
        return sum(part.bytes for part in self._parts) + _ITEM_BYTES * len(self.ids)

    def publish(self) -> None:
        """Make everything since the last call visible at once."""
        alive = self._alive.view().astype(np.bool_)
        pending = [(item, rows) for item, rows in self._pending if alive[item]]
        self._pending.clear()
        cleaned = [self._cleaned(part, alive) for part in self._parts]
        self._parts = [part for part in cleaned if part.size]
        for batch in self._batches(pending):
            owners = np.repeat([item for item, _ in batch], [len(rows) for _, rows in batch])
            self._parts.append(self._made(np.concatenate([rows for _, rows in batch]), owners))
            while self._may_join():
                rows, owners = joined([self._parts[-2], self._parts[-1]], alive)
                self._parts[-2:] = [self._made(rows, owners)]
        self.snapshot = Snapshot(tuple(self._parts), self, alive)

    def _batches(self, pending: Sequence[tuple[int, Rows]]) -> Iterator[Sequence[tuple[int, Rows]]]:
        """Yield what is new in batches that fit a part: all of it at once may not fit into memory."""
        start = size = 0
        for at, (_, rows) in enumerate(pending):
            size += len(rows)
            if size >= self._growth.part_rows // 2:
                yield pending[start : at + 1]
                start, size = at + 1, 0
        if size:
            yield pending[start:]

    def _may_join(self) -> bool:
        if not self._parts[:-1]:
            return False
        first, second = self._parts[-2].size, self._parts[-1].size
        # Parts of the largest size stay: one scan over them takes as long as over one, and to join them ever longer.
        return first <= 2 * second and first + second <= self._growth.part_rows

    def _cleaned(self, part: Part, alive: Mask) -> Part:
        kept = alive[part.owners]
        if part.size - int(kept.sum()) <= _DEAD_SHARE * part.size:
            return part
        return self._made(part.rows(kept), part.owners[kept])

    def _made(self, rows: Rows, owners: Numbers) -> Part:
        known, embeddings = self._known, self._embeddings
        return make_part(rows, owners, lambda item: known[embeddings[item]], coded_from=self._growth.coded_from)


def _chosen(wanted: frozenset[str], codes: dict[str, int]) -> Mask:
    """Return which codes are wanted, as a table to look numbers up in."""
    table = np.zeros(len(codes) + 1, dtype=np.bool_)
    table[[code for value in wanted if (code := codes.get(value)) is not None]] = True
    return table

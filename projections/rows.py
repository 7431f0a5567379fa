"""Vectors in memory: FAISS flat indexes that one writer replaces and any number of readers search.

A reader works on a snapshot, whose parts never change. The writer puts new rows into a part of their own and
joins it with older ones as long as those are not much larger, as a binary counter carries: a commit copies a few
rows, and there are never more than about log2(rows) parts. A row whose item has left is masked in the next
snapshot, before any top-k; it leaves memory when its part is rewritten.
"""

from __future__ import annotations

import faiss
import numpy as np
import numpy.typing as npt

from projections.hit import Hit, ranked
from projections.segments import Rows

__all__ = ["Snapshot", "VectorTable"]

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# float32 sums of one product differ by the order of their terms; scores closer than this are decided in float64.
_EPSILON = 1e-5
_DIGITS = 9
_MARGIN = 16
_GROWTH = 4
_DEAD_SHARE = 0.25


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


class _Part:
    """An immutable FAISS index, and the item of each of its rows."""

    def __init__(self, rows: Rows, owners: Numbers) -> None:
        self.owners = owners
        self.index = faiss.IndexFlatIP(rows.shape[1])
        self.index.add(np.ascontiguousarray(rows))

    @property
    def size(self) -> int:
        return len(self.owners)

    def rows(self) -> Rows:
        """The rows, without a copy."""
        flat = faiss.rev_swig_ptr(self.index.get_xb(), self.size * self.index.d)
        return np.asarray(flat.reshape(self.size, self.index.d), dtype=np.float32)

    def search(self, query: Rows, fetch: int, allowed: Mask | None) -> tuple[npt.NDArray[np.float32], Numbers]:
        """Return the scores of the best ``fetch`` allowed rows, and those rows."""
        parameters = None
        if allowed is not None and not allowed.any():
            return np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int64)
        if allowed is not None and not allowed.all():
            bits = np.packbits(allowed, bitorder="little")
            # The stubs describe the C++ constructors; at run time faiss takes the array and the keyword.
            selector = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]
            parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        scores, rows = self.index.search(query, min(fetch, self.size), params=parameters)
        found = rows[0] >= 0
        return scores[0][found], rows[0][found]


class Snapshot:
    """The rows as of one commit; safe to search from any thread."""

    def __init__(self, parts: tuple[_Part, ...], table: VectorTable, alive: Mask) -> None:
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
        for part, mask in zip(self._parts, masks, strict=True):
            found, rows = part.search(query, fetch, mask)
            if not len(found):
                continue
            if len(found) == fetch and fetch < part.size:
                floor = float(found[-1]) if floor is None else max(floor, float(found[-1]))
            scores = np.round(part.rows()[rows].astype(np.float64) @ exact, _DIGITS)
            for owner, score in zip(part.owners[rows].tolist(), scores.tolist(), strict=True):
                best[owner] = max(score, best.get(owner, score))
        positions = self._positions
        return [Hit(self._ids[item], score, int(positions[item])) for item, score in best.items()], floor


class VectorTable:
    """The writer's side: items by number, their rows, and the snapshot that readers see."""

    def __init__(self, dimension: int) -> None:
        self.ids: list[str] = []
        self.kind_codes: dict[str, int] = {}
        self.scope_codes: dict[str, int] = {}
        self.kinds, self.scopes, self.positions = _Column(), _Column(), _Column()
        self._dimension = dimension
        self._alive = _Column()
        self._parts: list[_Part] = []
        self._pending: list[tuple[int, Rows]] = []
        self.snapshot = Snapshot((), self, np.zeros(0, dtype=np.bool_))

    def add(self, id: str, kind: str, scope: str, position: int) -> int:
        """Enter an item and return its number."""
        self.ids.append(id)
        self.kinds.append(self.kind_codes.setdefault(kind, len(self.kind_codes)))
        self.scopes.append(self.scope_codes.setdefault(scope, len(self.scope_codes)))
        self.positions.append(position)
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
        """Bytes of the rows that searches read, in memory (the rows as written are mapped from their files)."""
        return sum(part.size * (4 * self._dimension + 8) for part in self._parts)

    def publish(self) -> None:
        """Make everything since the last call visible at once."""
        alive = self._alive.view().astype(np.bool_)
        pending = [(item, rows) for item, rows in self._pending if alive[item]]
        self._pending.clear()
        if pending:
            owners = np.repeat([item for item, _ in pending], [len(rows) for _, rows in pending])
            self._parts.append(_Part(np.concatenate([rows for _, rows in pending]), owners))
        cleaned = [self._cleaned(part, alive) for part in self._parts]
        self._parts = [part for part in cleaned if part.size]
        while len(self._parts) > 1 and self._parts[-2].size <= 2 * self._parts[-1].size:
            self._join_last(alive)
        self.snapshot = Snapshot(tuple(self._parts), self, alive)

    def _cleaned(self, part: _Part, alive: Mask) -> _Part:
        kept = alive[part.owners]
        if part.size - int(kept.sum()) <= _DEAD_SHARE * part.size:
            return part
        return _Part(part.rows()[kept], part.owners[kept])

    def _join_last(self, alive: Mask) -> None:
        second, first = self._parts.pop(), self._parts.pop()
        rows = np.concatenate([part.rows()[alive[part.owners]] for part in (first, second)])
        owners = np.concatenate([part.owners[alive[part.owners]] for part in (first, second)])
        self._parts.append(_Part(rows, owners))


def _chosen(wanted: frozenset[str], codes: dict[str, int]) -> Mask:
    """Return which codes are wanted, as a table to look numbers up in."""
    table = np.zeros(len(codes) + 1, dtype=np.bool_)
    table[[code for value in wanted if (code := codes.get(value)) is not None]] = True
    return table

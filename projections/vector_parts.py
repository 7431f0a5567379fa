"""Parts of the vectors in memory: FAISS indexes that never change, whole while they are small, and then in codes.

A code has 8 bits a component, and only chooses candidates. A part knows how far the score by codes can be from the true
one (no row is farther from its code than ``slack``), and candidates are scored by the rows as written, which are mapped
from their files. So what is found is exact at any size, and does not depend on how rows came to be in one part or
another. An approximate index would find other rows after a rebuild than before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import faiss
import numpy as np
import numpy.typing as npt

from projections.segments import Rows

__all__ = ["CodedPart", "FlatPart", "Mask", "Numbers", "Part", "joined", "make_part"]

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float32]
#: Returns the rows of an item as they were written.
RowsOf = Callable[[int], Rows]

_BLOCK = 4_096
# Codes leave more in doubt than float32 does: asking for more at once is cheaper than asking again.
_DOUBT = 2


class Part(Protocol):
    """An immutable index, and the item of each of its rows."""

    @property
    def owners(self) -> Numbers:
        """The item of each row; the rows of one item are in order, and all in one part."""

    @property
    def size(self) -> int:
        """How many rows it has."""

    @property
    def slack(self) -> float:
        """The most that a unit query's score by this index is from the true one."""

    @property
    def bytes(self) -> int:
        """Bytes in memory."""

    def rows(self, which: Numbers | Mask | None = None) -> Rows:
        """Return these rows as they were written, all of them by default."""

    def search(self, query: Rows, fetch: int, allowed: Mask | None) -> tuple[Scores, Numbers, bool]:
        """Return the scores of the best allowed rows by the index, those rows, and whether there may be more.

        At least ``fetch``, as far as there are so many.
        """


def make_part(rows: Rows, owners: Numbers, rows_of: RowsOf, *, coded_from: int) -> Part:
    """Return a part of rows: coded when there are so many."""
    if len(owners) >= coded_from:
        return CodedPart(rows, owners, rows_of)
    return FlatPart(rows, owners)


class FlatPart:
    """Rows held whole."""

    slack = 0.0

    def __init__(self, rows: Rows, owners: Numbers) -> None:
        self.owners = owners
        self.index = faiss.IndexFlatIP(rows.shape[1])
        self.index.add(np.ascontiguousarray(rows))

    @property
    def size(self) -> int:
        """How many rows it has."""
        return len(self.owners)

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return self.size * (4 * self.index.d + 8)

    def rows(self, which: Numbers | Mask | None = None) -> Rows:
        """Return these rows, without a copy where all are wanted."""
        flat = faiss.rev_swig_ptr(self.index.get_xb(), self.size * self.index.d)
        found = np.asarray(flat.reshape(self.size, self.index.d), dtype=np.float32)
        return found if which is None else found[which]

    def search(self, query: Rows, fetch: int, allowed: Mask | None) -> tuple[Scores, Numbers, bool]:
        """Return the best allowed rows."""
        return _search(self.index, self.size, query, fetch, allowed)


class CodedPart:
    """Rows as codes of 8 bits a component; the rows themselves are asked for where their files are mapped."""

    def __init__(self, rows: Rows, owners: Numbers, rows_of: RowsOf) -> None:
        self.owners = owners
        self._rows_of = rows_of
        first = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
        self._chunks = (np.arange(len(owners)) - np.repeat(first, np.diff(np.r_[first, len(owners)]))).astype(np.int32)
        self.index = faiss.IndexScalarQuantizer(
            rows.shape[1], faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
        )
        # Trained on every row, so that none lies outside of what codes can say.
        self.index.train(rows)
        self.slack = 0.0
        for start in range(0, len(rows), _BLOCK):
            block = np.ascontiguousarray(rows[start : start + _BLOCK])
            self.index.add(block)
            off = block - self.index.reconstruct_n(start, len(block))
            self.slack = max(self.slack, float(np.linalg.norm(off, axis=1).max()))

    @property
    def size(self) -> int:
        """How many rows it has."""
        return len(self.owners)

    @property
    def bytes(self) -> int:
        """Bytes in memory, without the mapped pages of the rows."""
        return self.size * (self.index.d + 12)

    def rows(self, which: Numbers | Mask | None = None) -> Rows:
        """Return these rows, read where they were written."""
        owners, chunks = (self.owners, self._chunks) if which is None else (self.owners[which], self._chunks[which])
        found = np.empty((len(owners), self.index.d), dtype=np.float32)
        for at, (owner, chunk) in enumerate(zip(owners.tolist(), chunks.tolist(), strict=True)):
            found[at] = self._rows_of(owner)[chunk]
        return found

    def search(self, query: Rows, fetch: int, allowed: Mask | None) -> tuple[Scores, Numbers, bool]:
        """Return the best allowed rows by their codes."""
        return _search(self.index, self.size, query, _DOUBT * fetch, allowed)


def _search(
    index: faiss.Index, size: int, query: Rows, fetch: int, allowed: Mask | None
) -> tuple[Scores, Numbers, bool]:
    parameters = None
    if allowed is not None and not allowed.any():
        return np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int64), False
    if allowed is not None and not allowed.all():
        bits = np.packbits(allowed, bitorder="little")
        # The stubs describe the C++ constructors; at run time faiss takes the array and the keyword.
        selector = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]
        parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
    scores, rows = index.search(query, min(fetch, size), params=parameters)
    found = rows[0] >= 0
    return scores[0][found], rows[0][found], bool(found.all()) and fetch < size


def joined(parts: Sequence[Part], alive: Mask) -> tuple[Rows, Numbers]:
    """Return the live rows of parts as one matrix, and their items."""
    kept = [alive[part.owners] for part in parts]
    rows = np.concatenate([part.rows(mask) for part, mask in zip(parts, kept, strict=True)])
    return rows, np.concatenate([part.owners[mask] for part, mask in zip(parts, kept, strict=True)])

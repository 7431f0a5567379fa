"""Keyword scores over Whoosh's segments: BM25F on decoded postings, as arrays.

A segment never changes, so what was decoded once stays true and is kept; who has left is a mask beside it. Statistics
count live documents only, so that scores do not depend on what was deleted but not yet merged away. The formula is
Whoosh's own `whoosh.scoring.BM25F` for one field, with its default k1 and b.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from math import log
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from whoosh.codec.whoosh3 import W3LeafMatcher
from whoosh.matching.mcore import Matcher
from whoosh.reading import SegmentReader, TermNotFound

from projections.analysis import Terms
from projections.bounded import Bounded
from projections.hit import Hit, ranked
from projections.windows import K1, B, Windows

__all__ = ["Codes", "Document", "KeywordSegment", "KeywordSnapshot", "Postings", "Term"]

#: Numbers kept, of decoded postings (for each segment, 12 bytes each) and of what terms add (16 bytes each).
_KEPT = 500_000

#: A field and a term of it.
Term = tuple[str, str]


class Document(msgspec.Struct, frozen=True, array_like=True):
    """What is stored of an item. ``length`` is its number of scored terms, ``digest`` that of its content."""

    id: str
    kind: str
    scope: str
    position: int
    length: int
    digest: bytes


class Postings(msgspec.Struct, frozen=True):
    """Documents that have a term, ascending, and how often they have it."""

    documents: npt.NDArray[np.int32]
    frequencies: npt.NDArray[np.float64]


class Codes(msgspec.Struct, frozen=True):
    """Numbers for kinds and scopes, the same in all segments of a view; they are only ever added to."""

    kinds: dict[str, int]
    scopes: dict[str, int]


class KeywordSegment:
    """One segment of the index: its documents as columns, and its postings as they are asked for."""

    def __init__(self, reader: SegmentReader, documents: Sequence[Document], codes: Codes) -> None:
        self.ids = [document.id for document in documents]
        self.numbers = {id_: number for number, id_ in enumerate(self.ids)}
        self.documents = documents
        self.kinds = _coded([document.kind for document in documents], codes.kinds)
        self.scopes = _coded([document.scope for document in documents], codes.scopes)
        self.positions = np.asarray([document.position for document in documents], dtype=np.int64)
        self.lengths = np.asarray([document.length for document in documents], dtype=np.float64)
        self._reader = reader
        self._decoded: Bounded[Term, Postings] = Bounded(_KEPT, lambda found: len(found.documents))
        # Readers of older snapshots may still use the segment: its files are let go of with the last of them.
        weakref.finalize(self, reader.close)

    def postings(self, term: Term) -> Postings:
        """Return the postings of a term; some of the documents may have left since."""
        return self._decoded.get(term, self._decode)

    def _decode(self, term: Term) -> Postings:
        numbers: list[int] = []
        weights: list[float] = []
        try:
            matcher = self._reader.postings(*term)
        except TermNotFound:
            return _NOTHING
        _read(matcher, numbers, weights)
        return Postings(np.asarray(numbers, dtype=np.int32), np.asarray(weights, dtype=np.float64))


_NOTHING = Postings(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float64))


def _read(matcher: Matcher, numbers: list[int], weights: list[float]) -> None:
    if isinstance(matcher, W3LeafMatcher):
        # Whole blocks: going from posting to posting takes ten times as long.
        while matcher.is_active():
            matcher.id()
            matcher.weight()
            numbers.extend(matcher._ids or ())  # noqa: SLF001
            weights.extend(matcher._weights or ())  # noqa: SLF001
            matcher._next_block()  # noqa: SLF001
        return
    while matcher.is_active():
        numbers.append(matcher.id())
        weights.append(matcher.weight())
        matcher.next()


def _coded(values: Sequence[str], codes: dict[str, int]) -> npt.NDArray[np.int32]:
    return np.asarray([codes.setdefault(value, len(codes)) for value in values], dtype=np.int32)


class _Live(msgspec.Struct, frozen=True):
    segment: KeywordSegment
    mask: npt.NDArray[np.bool_] | None


class _Columns(msgspec.Struct, frozen=True):
    """The documents of all segments as one row, each segment's from its offset on."""

    ids: list[str]
    offsets: list[int]
    live: npt.NDArray[np.bool_]
    kinds: npt.NDArray[np.int32]
    scopes: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.float64]


class _Added(msgspec.Struct, frozen=True):
    """What one term adds to the scores of documents; without documents, nothing."""

    documents: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]


class KeywordSnapshot:
    """The segments as of one commit, with who is live in each; safe to search from any thread.

    Channels ask the same question several times, each of its own kinds: what terms add is kept, and the last sums.
    """

    def __init__(
        self, segments: Sequence[KeywordSegment], masks: Sequence[npt.NDArray[np.bool_] | None], codes: Codes
    ) -> None:
        self._live = [_Live(segment, mask) for segment, mask in zip(segments, masks, strict=True)]
        self._codes = codes
        self.count = sum(len(one.segment.ids) if one.mask is None else int(one.mask.sum()) for one in self._live)
        self._own: Bounded[Term, _Added] = Bounded(_KEPT, _size)
        self._around: Bounded[Term, _Added] = Bounded(_KEPT, _size)
        self._last: dict[str, tuple[Terms, npt.NDArray[np.float64]]] = {}

    def find(self, id_: str) -> Document | None:
        """Return the live document of an item."""
        place = self.place(id_)
        return None if place is None else self._live[place[0]].segment.documents[place[1]]

    def place(self, id_: str) -> tuple[int, int] | None:
        """Return the segment (by order) and the number of an item's live document."""
        for order, live in enumerate(self._live):
            number = live.segment.numbers.get(id_)
            if number is not None and (live.mask is None or live.mask[number]):
                return order, number
        return None

    def search(self, terms: Terms, k: int, kinds: frozenset[str] | None, scopes: frozenset[str] | None) -> list[Hit]:
        """Return the best ``k`` documents that have any of the terms, by the sum of their scores."""
        return self._best(self._summed("own", terms, self._own, self._add), k, kinds, scopes)

    def search_windows(self, terms: Terms, k: int, scopes: frozenset[str] | None) -> list[Hit]:
        """Return the best ``k`` messages by the terms of the message and of the ones beside it in its session."""
        if not self._windows.count:
            return []
        return self._best(self._summed("around", terms, self._around, self._add_around), k, None, scopes)

    def _summed(
        self, name: str, terms: Terms, kept: Bounded[Term, _Added], make: Callable[[Term], _Added]
    ) -> npt.NDArray[np.float64]:
        last = self._last.get(name)
        if last is not None and last[0] == terms:
            return last[1]
        scores = np.zeros(len(self._columns.ids))
        for term in (*(("text", term) for term in terms.text), *(("rest", term) for term in terms.rest)):
            added = kept.get(term, make)
            scores[added.documents] += added.scores
        self._last[name] = terms, scores
        return scores

    def _found(self, term: Term) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the live documents that have a term, and how often they have it."""
        columns = self._columns
        found = [live.segment.postings(term) for live in self._live]
        documents = _joined([one.documents + at for one, at in zip(found, columns.offsets, strict=True)], np.int64)
        live = columns.live[documents]
        return documents[live], _joined([one.frequencies for one in found], np.float64)[live]

    def _add(self, term: Term) -> _Added:
        documents, frequencies = self._found(term)
        idf = log(self.count / (len(documents) + 1)) + 1 if self.count else 0.0
        norm = K1 * ((1 - B) + B * (self._columns.lengths[documents] / self._average))
        return _Added(documents, idf * (frequencies * (K1 + 1) / (frequencies + norm)))

    def _add_around(self, term: Term) -> _Added:
        scores = np.zeros(self._windows.size)
        self._windows.add(*self._found(term), scores)
        documents = np.flatnonzero(scores)
        return _Added(documents, scores[documents])

    @cached_property
    def _columns(self) -> _Columns:
        segments = [live.segment for live in self._live]
        masks = [np.ones(len(one.segment.ids), np.bool_) if one.mask is None else one.mask for one in self._live]
        return _Columns(
            ids=[id_ for segment in segments for id_ in segment.ids],
            offsets=[int(at) for at in np.cumsum([0, *(len(segment.ids) for segment in segments)])[:-1]],
            live=_joined(masks, np.bool_),
            kinds=_joined([segment.kinds for segment in segments], np.int32),
            scopes=_joined([segment.scopes for segment in segments], np.int32),
            positions=_joined([segment.positions for segment in segments], np.int64),
            lengths=_joined([segment.lengths for segment in segments], np.float64),
        )

    @cached_property
    def _average(self) -> float:
        """The mean number of scored terms of a live document, 1 where there is none."""
        lengths = self._columns.lengths[self._columns.live]
        return (float(lengths.sum()) / len(lengths) if len(lengths) else 0.0) or 1.0

    @cached_property
    def _windows(self) -> Windows:
        columns = self._columns
        return Windows(
            sizes=[len(live.segment.ids) for live in self._live],
            messages=(columns.kinds == self._codes.kinds.get("message", -1)) & columns.live,
            scopes=columns.scopes,
            positions=columns.positions,
            lengths=columns.lengths,
        )

    def _best(
        self,
        scores: npt.NDArray[np.float64],
        k: int,
        kinds: frozenset[str] | None,
        scopes: frozenset[str] | None,
    ) -> list[Hit]:
        columns, numbers = self._columns, np.flatnonzero(scores)
        for wanted, codes, column in (
            (kinds, self._codes.kinds, columns.kinds),
            (scopes, self._codes.scopes, columns.scopes),
        ):
            if (table := _table(wanted, codes)) is not None:
                numbers = numbers[table[column[numbers]]]
        found = scores[numbers]
        kept = found >= _cut(found, k)
        numbers = numbers[kept]
        hits = zip(numbers.tolist(), found[kept].tolist(), columns.positions[numbers].tolist(), strict=True)
        return ranked([Hit(columns.ids[number], score, position) for number, score, position in hits], k)


def _size(added: _Added) -> int:
    return len(added.documents)


def _joined(parts: Sequence[npt.NDArray[Any]], kind: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)


def _table(wanted: frozenset[str] | None, codes: dict[str, int]) -> npt.NDArray[np.bool_] | None:
    if wanted is None:
        return None
    table = np.zeros(len(codes) + 1, dtype=np.bool_)
    table[[code for value in wanted if (code := codes.get(value)) is not None]] = True
    return table


def _cut(scores: npt.NDArray[np.float64], k: int) -> float:
    """Return the ``k``-th best score: what equals it is a tie at the cut."""
    return float(np.partition(scores, -k)[-k]) if len(scores) > k else 0.0

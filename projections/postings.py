"""Keyword scores over Whoosh's segments: BM25F on decoded postings, as arrays.

A segment never changes, so what was decoded once stays true and is kept; who has left is a mask beside it. Statistics
count live documents only, so that scores do not depend on what was deleted but not yet merged away. The formula is
Whoosh's own `whoosh.scoring.BM25F` for one field, with its default k1 and b.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
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
from projections.hit import Hit, ranked
from projections.windows import K1, B, Windows

__all__ = ["Codes", "Document", "KeywordSegment", "KeywordSnapshot", "Postings"]

#: Postings kept decoded, for each segment; 12 bytes each.
_CACHED_POSTINGS = 500_000
_TERM_COST = 16


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
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[str, str], Postings] = OrderedDict()
        self._cached = 0
        # Readers of older snapshots may still use the segment: its files are let go of with the last of them.
        weakref.finalize(self, reader.close)

    def postings(self, field: str, term: str) -> Postings:
        """Return the postings of a term; some of the documents may have left since."""
        key = field, term
        with self._lock:
            found = self._cache.get(key)
            if found is None:
                found = self._cache[key] = self._decode(field, term)
                self._cached += len(found.documents) + _TERM_COST
                while self._cached > _CACHED_POSTINGS and len(self._cache) > 1:
                    _, dropped = self._cache.popitem(last=False)
                    self._cached -= len(dropped.documents) + _TERM_COST
            else:
                self._cache.move_to_end(key)
            return found

    def _decode(self, field: str, term: str) -> Postings:
        numbers: list[int] = []
        weights: list[float] = []
        try:
            matcher = self._reader.postings(field, term)
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
    count: int
    length: float


class KeywordSnapshot:
    """The segments as of one commit, with who is live in each; safe to search from any thread."""

    def __init__(
        self, segments: Sequence[KeywordSegment], masks: Sequence[npt.NDArray[np.bool_] | None], codes: Codes
    ) -> None:
        self._live = [_live(segment, mask) for segment, mask in zip(segments, masks, strict=True)]
        self._codes = codes
        self.count = sum(live.count for live in self._live)
        length = sum(live.length for live in self._live)
        self._average = (length / self.count if self.count else 0.0) or 1.0

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
        scores = [np.zeros(len(live.segment.ids)) for live in self._live]
        for field, term in [*(("text", term) for term in terms.text), *(("rest", term) for term in terms.rest)]:
            self._add(field, term, scores)
        return self._best(scores, k, kinds, scopes)

    def _add(self, field: str, term: str, scores: Sequence[npt.NDArray[np.float64]]) -> None:
        found = [live.segment.postings(field, term) for live in self._live]
        frequency = sum(
            len(one.documents) if live.mask is None else int(live.mask[one.documents].sum())
            for live, one in zip(self._live, found, strict=True)
        )
        idf = log(self.count / (frequency + 1)) + 1 if self.count else 0.0
        for live, one, score in zip(self._live, found, scores, strict=True):
            if len(one.documents):
                norm = K1 * ((1 - B) + B * (live.segment.lengths[one.documents] / self._average))
                score[one.documents] += idf * (one.frequencies * (K1 + 1) / (one.frequencies + norm))

    def search_windows(self, terms: Terms, k: int, scopes: frozenset[str] | None) -> list[Hit]:
        """Return the best ``k`` messages by the terms of the message and of the ones beside it in its session."""
        windows = self._windows
        scores = [np.zeros(len(live.segment.ids)) for live in self._live]
        if not windows.count:
            return []
        flat = np.zeros(windows.size)
        for field, term in [*(("text", term) for term in terms.text), *(("rest", term) for term in terms.rest)]:
            found = [live.segment.postings(field, term) for live in self._live]
            documents = np.concatenate([one.documents + at for one, at in zip(found, windows.offsets, strict=True)])
            windows.add(documents, np.concatenate([one.frequencies for one in found]), flat)
        for score, at in zip(scores, windows.offsets, strict=True):
            score[:] = flat[at : at + len(score)]
        return self._best(scores, k, None, scopes)

    @cached_property
    def _windows(self) -> Windows:
        segments = [live.segment for live in self._live]
        code = self._codes.kinds.get("message", -1)
        counted = [(live.segment.kinds == code) & (True if live.mask is None else live.mask) for live in self._live]
        return Windows(
            sizes=[len(segment.ids) for segment in segments],
            messages=_joined(counted, np.bool_),
            scopes=_joined([segment.scopes for segment in segments], np.int32),
            positions=_joined([segment.positions for segment in segments], np.int64),
            lengths=_joined([segment.lengths for segment in segments], np.float64),
        )

    def _best(
        self,
        scores: Sequence[npt.NDArray[np.float64]],
        k: int,
        kinds: frozenset[str] | None,
        scopes: frozenset[str] | None,
    ) -> list[Hit]:
        kind_table, scope_table = _table(kinds, self._codes.kinds), _table(scopes, self._codes.scopes)
        chosen = []
        for live, score in zip(self._live, scores, strict=True):
            numbers = np.flatnonzero(score)
            if live.mask is not None:
                numbers = numbers[live.mask[numbers]]
            if kind_table is not None:
                numbers = numbers[kind_table[live.segment.kinds[numbers]]]
            if scope_table is not None:
                numbers = numbers[scope_table[live.segment.scopes[numbers]]]
            chosen.append(numbers)
        cut = _cut(np.concatenate([score[numbers] for score, numbers in zip(scores, chosen, strict=True)]), k)
        hits: list[Hit] = []
        for live, score, numbers in zip(self._live, scores, chosen, strict=True):
            segment = live.segment
            hits.extend(
                Hit(segment.ids[number], float(score[number]), int(segment.positions[number]))
                for number in numbers[score[numbers] >= cut].tolist()
            )
        return ranked(hits, k)


def _joined(parts: Sequence[npt.NDArray[Any]], kind: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)


def _live(segment: KeywordSegment, mask: npt.NDArray[np.bool_] | None) -> _Live:
    if mask is None:
        return _Live(segment, None, len(segment.ids), float(segment.lengths.sum()))
    return _Live(segment, mask, int(mask.sum()), float(segment.lengths[mask].sum()))


def _table(wanted: frozenset[str] | None, codes: dict[str, int]) -> npt.NDArray[np.bool_] | None:
    if wanted is None:
        return None
    table = np.zeros(len(codes) + 1, dtype=np.bool_)
    table[[code for value in wanted if (code := codes.get(value)) is not None]] = True
    return table


def _cut(scores: npt.NDArray[np.float64], k: int) -> float:
    """Return the ``k``-th best score: what equals it is a tie at the cut."""
    return float(np.partition(scores, -k)[-k]) if len(scores) > k else 0.0

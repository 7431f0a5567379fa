"""Which memories of a profile say the same: newest of a scope and kind, near, and with nothing that tells them apart.

Stored vectors and rules decide: no model is asked here, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

import msgspec
import numpy as np

from domain.ids import digest128
from domain.merging import Comparer, Relation
from domain.settings import ConsolidationPreferences
from projections.ledger import Ledger, MemoryRecord
from projections.vectors import VectorView

__all__ = ["Cluster", "clusters"]


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Memories that are near: ``anchor`` is to stand for ``members``.

    All of them say the ``same`` by rule, or only a model can tell; then each pair of them is near. ``fixed``: the
    anchor's words are a person's, pinned, or under a key that a caller chose, and stay as they are. ``cosine`` is the
    lowest of any pair.
    """

    anchor: MemoryRecord
    members: tuple[MemoryRecord, ...]
    cosine: float
    same: bool
    fixed: bool

    @property
    def id(self) -> str:
        """A hash of all that are held together: the same ones are the same cluster, whoever finds it."""
        return digest128(*sorted((self.anchor.id, *(one.id for one in self.members))))


def clusters(
    ledger: Ledger,
    vectors: VectorView,
    comparer: Comparer,
    prefer: ConsolidationPreferences,
    as_of: datetime,
    *,
    words: bool,
) -> Iterator[Cluster]:
    """Yield what is to be merged, scope by scope, large ones first; with ``words`` also what a model is to word.

    A memory is in one of them at most; blocks.
    """
    for scope in ledger.scopes_to_merge(as_of):
        newest = ledger.newest(scope, as_of=as_of, limit=prefer.sample)
        newest.sort(key=lambda one: one.kind)
        found: list[Cluster] = []
        for _, group in groupby(newest, key=lambda one: one.kind):
            found += _Near(list(group), ledger, vectors, comparer, prefer.cosine).clusters(words=words)
        yield from sorted(found, key=lambda one: (-len(one.members), -one.anchor.position))


class _Near:
    """The memories of one scope and kind, and how near each two of them are."""

    def __init__(
        self,
        records: Sequence[MemoryRecord],
        ledger: Ledger,
        vectors: VectorView,
        comparer: Comparer,
        cosine: float,
    ) -> None:
        known = {one.id: vector for one in records if (vector := vectors.vector_of(one.id)) is not None}
        self._records = sorted((one for one in records if one.id in known), key=_weight, reverse=True)
        self._comparer, self._least = comparer, cosine
        self._contradicting = ledger.contradicting(list(known))
        matrix = np.array([np.frombuffer(known[one.id], dtype="<f4") for one in self._records], dtype=np.float32)
        self._cosines = matrix @ matrix.T if len(self._records) else matrix
        self._relations: dict[tuple[int, int], Relation] = {}

    def clusters(self, *, words: bool) -> list[Cluster]:
        """Return the clusters; what weighs most in one is its anchor, and decides whether a model may word it."""
        taken: set[int] = set()
        found = []
        for at, anchor in enumerate(self._records):
            if at in taken:
                continue
            fixed = _is_fixed(anchor)
            members = self._alike(at, taken) if words and not fixed else self._same(at, taken)
            if members:
                taken.update((at, *members))
                found.append(self._cluster(at, members, fixed=fixed))
        return found

    def _same(self, at: int, taken: set[int]) -> list[int]:
        """Return what says the same as the anchor by rule, and is near to one of those that do."""
        members: list[int] = []
        left = self._left(at, taken)
        # What is near is known; what says the same is worked out for that only.
        while (one := next((one for one in left if self._joins(one, (at, *members))), None)) is not None:
            members.append(one)
            left.remove(one)
        return members

    def _joins(self, one: int, cluster: Sequence[int]) -> bool:
        return any(self._near(one, other) for other in cluster) and all(
            self._relation(one, other) == "same" for other in cluster
        )

    def _alike(self, at: int, taken: set[int]) -> list[int]:
        """Return what is near the anchor and near each other, so that no chain joins what is far apart."""
        members: list[int] = []
        for one in self._left(at, taken):
            if not _is_fixed(self._records[one]) and all(
                self._near(one, other) and self._relation(one, other) != "apart" for other in (at, *members)
            ):
                members.append(one)
        return members

    def _left(self, at: int, taken: set[int]) -> list[int]:
        """Return what weighs less than an anchor, is in no cluster yet, and may go."""
        return [one for one in range(at + 1, len(self._records)) if one not in taken and not self._records[one].pinned]

    def _cluster(self, at: int, members: Sequence[int], *, fixed: bool) -> Cluster:
        pairs = [(one, other) for one in (at, *members) for other in members if one < other]
        return Cluster(
            anchor=self._records[at],
            members=tuple(self._records[other] for other in members),
            cosine=round(min(float(self._cosines[pair]) for pair in pairs), 6),
            same=all(self._relation(*pair) == "same" for pair in pairs),
            fixed=fixed,
        )

    def _near(self, one: int, other: int) -> bool:
        return bool(self._cosines[one, other] >= self._least)

    def _relation(self, one: int, other: int) -> Relation:
        if one == other:
            return "same"
        pair = min(one, other), max(one, other)
        if pair not in self._relations:
            self._relations[pair] = self._compare(*pair)
        return self._relations[pair]

    def _compare(self, at: int, other_at: int) -> Relation:
        one, other = self._records[at], self._records[other_at]
        if not _can_be_one(one, other) or frozenset((one.id, other.id)) in self._contradicting:
            return "apart"
        return self._comparer.relation(one.text, other.text)


def _weight(record: MemoryRecord) -> tuple[bool, bool, bool, float, datetime, str]:
    """Return what decides which of several stands: pinned, a person's, under a caller's key, trusted, said last."""
    said_at = record.stated_at or record.recorded_at
    return record.pinned, record.author_type == "person", _has_own_key(record), record.confidence, said_at, record.id


def _has_own_key(record: MemoryRecord) -> bool:
    return bool(record.key) and record.source == "explicit"


def _is_fixed(record: MemoryRecord) -> bool:
    return record.pinned or record.author_type == "person" or _has_own_key(record)


def _can_be_one(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether nothing but the words tells two memories of a scope and kind apart."""
    if _has_own_key(one) and _has_own_key(other) and one.folded_key != other.folded_key:
        return False  # each is what a caller gets by its key
    if one.pinned and one.author_type != "person" and other.author_type == "person":
        return False  # neither can go
    times = ((m.occurred_at, m.valid_from, m.valid_to, m.expires_at) for m in (one, other))
    return len(set(times)) == 1

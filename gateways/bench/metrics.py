"""Retrieval metrics as pure functions over one ranking and the set of what is relevant.

A ranking is labels, best first, each at most once. Relevance is binary. Every score is a share in
[0, 1]; definitions follow Manning, Raghavan, Schütze, *Introduction to Information Retrieval*, ch. 8.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

__all__ = ["CUTS", "NAMES", "distinct", "hit", "mean", "ndcg", "percentile", "recall", "reciprocal_rank", "score"]

T = TypeVar("T", bound=Hashable)

#: The depths at which recall and hits are reported.
CUTS = (5, 10, 20, 50)
_HIT_CUTS = (1, 5, 10)
_NDCG_CUT = 10

#: The names of all metrics, in the order in which they are shown.
NAMES = (
    *(f"R@{cut}" for cut in CUTS),
    *(f"hit@{cut}" for cut in _HIT_CUTS),
    "MRR",
    f"nDCG@{_NDCG_CUT}",
)


def distinct(labels: Iterable[T]) -> list[T]:
    """Return the labels in order, each at its first place only."""
    return list(dict.fromkeys(labels))


def recall(ranking: Sequence[T], relevant: Collection[T], depth: int) -> float:
    """Return the share of the relevant labels that are among the first ``depth`` (nothing relevant: ValueError)."""
    return len(_relevant(relevant).intersection(ranking[:depth])) / len(set(relevant))


def hit(ranking: Sequence[T], relevant: Collection[T], depth: int) -> float:
    """Return 1 when any of the first ``depth`` labels is relevant, else 0."""
    return float(not _relevant(relevant).isdisjoint(ranking[:depth]))


def reciprocal_rank(ranking: Sequence[T], relevant: Collection[T]) -> float:
    """Return one over the rank (from 1) of the first relevant label, 0 when there is none."""
    wanted = _relevant(relevant)
    return next((1 / rank for rank, label in enumerate(ranking, start=1) if label in wanted), 0.0)


def ndcg(ranking: Sequence[T], relevant: Collection[T], depth: int) -> float:
    """Return the discounted cumulative gain of the first ``depth`` labels over that of an ideal ranking.

    Gains are 1 / log2(rank + 1), ranks from 1 (Järvelin and Kekäläinen 2002, binary relevance).
    """
    wanted = _relevant(relevant)
    gained = sum(_gain(rank) for rank, label in enumerate(ranking[:depth], start=1) if label in wanted)
    return gained / sum(_gain(rank) for rank in range(1, min(len(wanted), depth) + 1))


def score(ranking: Sequence[T], relevant: Collection[T]) -> dict[str, float]:
    """Return every metric of one ranking by name (`NAMES`)."""
    return {
        **{f"R@{cut}": recall(ranking, relevant, cut) for cut in CUTS},
        **{f"hit@{cut}": hit(ranking, relevant, cut) for cut in _HIT_CUTS},
        "MRR": reciprocal_rank(ranking, relevant),
        f"nDCG@{_NDCG_CUT}": ndcg(ranking, relevant, _NDCG_CUT),
    }


def mean(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric over questions that count alike; empty for no questions."""
    if not scores:
        return {}
    return {name: math.fsum(one[name] for one in scores) / len(scores) for name in scores[0]}


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least ``percent`` of the values do not exceed (nearest rank); 0 for none."""
    if not values:
        return 0.0
    rank = math.ceil(percent / 100 * len(values))
    return sorted(values)[max(rank, 1) - 1]


def _relevant(labels: Collection[T]) -> set[T]:
    if not labels:
        raise ValueError("a question without anything relevant has no score")
    return set(labels)


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)

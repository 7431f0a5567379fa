"""Fusion: one order from several channels. Pure functions over ranked hits.

Two methods behind one signature: `score_sum` adds each channel's min-max normalised score times its weight
(the best measured; the default), `reciprocal_rank` adds weight / (k + rank) (Cormack et al., SIGIR 2009).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

__all__ = [
    "Candidate",
    "ChannelHits",
    "Found",
    "Fused",
    "Fusion",
    "confidence_factor",
    "contributions",
    "fuse",
    "reciprocal_rank",
    "score_sum",
]

#: Evidence closer than this is equal: sums of the same numbers may differ in their last bits.
_DIGITS = 9


class Candidate(msgspec.Struct, frozen=True):
    """One hit of a channel with the channel's own score."""

    id: str
    score: float


class ChannelHits(msgspec.Struct, frozen=True, kw_only=True):
    """One channel's live hits, best first.

    Channels with the same ``scale`` are normalised together, so that a lone bad hit of one is not taken for as
    good as the best of the other; an empty ``scale`` means that scores are in [0, 1] already.
    """

    channel: str
    weight: float
    hits: Sequence[Candidate]
    scale: str = ""


class Found(msgspec.Struct, frozen=True):
    """How one channel found an item: its rank from 1, its own score, and the channel's weight.

    ``contribution`` is what it added to the item's evidence, where that was asked for.
    """

    channel: str
    rank: int
    score: float
    weight: float
    contribution: float = 0.0


class Fused(msgspec.Struct, frozen=True):
    """An item with its fused score, and the channels that found it."""

    id: str
    score: float
    found: tuple[Found, ...]


#: Evidence by id.
Fusion = Callable[[Sequence[ChannelHits]], dict[str, float]]


def confidence_factor(confidence: float) -> float:
    """Return 0.8 + 0.2 × confidence, in [0.8, 1]: it orders equal evidence and outweighs no clear lead."""
    return 0.8 + 0.2 * min(1.0, max(0.0, confidence))


def reciprocal_rank(k: float = 60.0) -> Fusion:
    """Return the fusion score(d) = Σ weight / (k + rank); a smaller ``k`` favours the first ranks."""

    def evidence(channels: Sequence[ChannelHits]) -> dict[str, float]:
        total: dict[str, float] = defaultdict(float)
        for channel in channels:
            for rank, hit in enumerate(channel.hits, 1):
                total[hit.id] += channel.weight / (k + rank)
        return dict(total)

    return evidence


def score_sum(depth: int = 100) -> Fusion:
    """Return the fusion score(d) = Σ weight × (s - low) / (high - low).

    The range goes from the best to the ``depth``-th best score of all channels on one scale.
    """

    def evidence(channels: Sequence[ChannelHits]) -> dict[str, float]:
        ranges = _ranges(channels, depth)
        total: dict[str, float] = defaultdict(float)
        for channel in channels:
            low, high = ranges[channel.scale]
            weight, span = channel.weight, high - low
            for hit in channel.hits:
                # Every recall comes by here some thousand times: what is normalised is cut to [0, 1] in place.
                share = (hit.score - low) / span if span > 0 else float(hit.score >= high)
                total[hit.id] += weight * (1.0 if share > 1 else share if share > 0 else 0.0)
        return dict(total)

    return evidence


def _ranges(channels: Sequence[ChannelHits], depth: int) -> dict[str, tuple[float, float]]:
    scores: dict[str, list[float]] = defaultdict(list)
    for channel in channels:
        scores[channel.scale].extend(hit.score for hit in channel.hits)
    ranges = {"": (0.0, 1.0)}
    for scale, values in scores.items():
        best = sorted(values, reverse=True)[:depth]
        if scale and best:
            ranges[scale] = (best[-1], best[0])
        elif scale:
            ranges[scale] = (0.0, 1.0)
    return ranges


def contributions(channels: Sequence[ChannelHits], method: Fusion) -> dict[str, dict[str, float]]:
    """Return what each channel adds to each item's evidence, by channel and id.

    Both methods add up over channels, each in proportion to its weight: without the weights of the others, what one
    adds is left, on the scale that they share.
    """
    return {
        one.channel: method([msgspec.structs.replace(c, weight=c.weight if c is one else 0.0) for c in channels])
        for one in channels
    }


def fuse(
    channels: Sequence[ChannelHits],
    method: Fusion,
    *,
    factors: Mapping[str, float],
    positions: Mapping[str, int],
) -> list[Fused]:
    """Return every item best first: evidence × factor, then the newer by position, then the id.

    ``factors`` and ``positions`` have an entry for every id among the hits.
    """
    found: dict[str, list[Found]] = defaultdict(list)
    for channel in channels:
        for rank, hit in enumerate(channel.hits, 1):
            found[hit.id].append(Found(channel.channel, rank, hit.score, channel.weight))
    fused = [
        Fused(id_, round(score * factors[id_], _DIGITS), tuple(found[id_])) for id_, score in method(channels).items()
    ]
    return sorted(fused, key=lambda one: (-one.score, -positions[one.id], one.id))

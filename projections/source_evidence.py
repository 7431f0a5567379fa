"""Evidence of sources: a memory that was read from a message is heard where the message is.

What a message says and the fact that was read from it are one thing in two wordings, and the fact is the shorter and
the checked one: it gains part of the evidence that its message has, and so stands before it. Of several facts read
from one message those gain that match by themselves, for the others are about something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from projections.channels import Gathered, Plan
from projections.fusion import Candidate, Fusion
from projections.ledger import LiveItem

__all__ = ["CHANNEL", "with_sources"]

CHANNEL = "memory_source"


def with_sources(planned: Plan, gathered: Gathered, method: Fusion, factor: Callable[[LiveItem], float]) -> Gathered:
    """Return what was gathered with the hits of the source channel, where it is planned; it adds no memory.

    A hit's score is a memory's evidence × the best evidence × factor among its messages that were found, in [0, 1].
    """
    if CHANNEL not in planned.channels:
        return gathered
    evidence, items = method(gathered.channels), gathered.items
    hits = [
        Candidate(id_, min(1.0, score) * lent)
        for id_, score in evidence.items()
        if items[id_].kind != "message"
        and (lent := max((_lent(one, evidence, items, factor) for one in items[id_].sources), default=0.0)) > 0
    ]
    hits.sort(key=lambda hit: (-hit.score, -items[hit.id].position, hit.id))
    channels = [
        msgspec.structs.replace(one, hits=[hit for hit in hits if hit.score > 0]) if one.channel == CHANNEL else one
        for one in gathered.channels
    ]
    return msgspec.structs.replace(gathered, channels=channels)


def _lent(
    message: str, evidence: Mapping[str, float], items: Mapping[str, LiveItem], factor: Callable[[LiveItem], float]
) -> float:
    # A memory's source may be no message, and a message may not be for who asks.
    if message not in evidence or items[message].kind != "message":
        return 0.0
    return min(1.0, evidence[message] * factor(items[message]))

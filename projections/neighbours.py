"""Evidence of neighbours: in a conversation the answer often stands beside the line that matches the question.

A message gains a part of the evidence that the messages before and after it have by themselves. Measured on
LoCoMo turns: see the README's decisions.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

import msgspec

from projections.channels import Gathered, Plan, Views
from projections.fusion import Candidate, ChannelHits, Fusion

__all__ = ["CHANNEL", "with_neighbours"]

CHANNEL = "message_neighbour"


def with_neighbours(views: Views, planned: Plan, gathered: Gathered, method: Fusion, now: datetime) -> Gathered:
    """Return what was gathered with the hits of the neighbour channel, where it is planned.

    A hit's score is the sum of its neighbours' evidence by the other channels. Neighbours that no other channel
    found are added when they are live and in scope.
    """
    channel = planned.channels.get(CHANNEL)
    if channel is None:
        return gathered
    evidence = {id_: score for id_, score in method(gathered.channels).items() if _is_message(gathered, id_)}
    if not evidence:
        return gathered
    scores: dict[str, float] = defaultdict(float)
    for id_, near in views.ledger.neighbours(list(evidence)).items():
        for neighbour in near:
            scores[neighbour] += evidence[id_]
    items = dict(gathered.items)
    unknown = [id_ for id_ in scores if id_ not in items]
    seen = views.ledger.live(unknown, now)
    items.update({id_: item for id_, item in seen.items.items() if planned.scope.allows(item)})
    hits = [Candidate(id_, score) for id_, score in scores.items() if score > 0 and id_ in items]
    hits.sort(key=lambda hit: (-hit.score, -items[hit.id].position, hit.id))
    channels = [
        ChannelHits(channel=CHANNEL, weight=channel.weight, hits=hits[: channel.depth])
        if one.channel == CHANNEL
        else one
        for one in gathered.channels
    ]
    used = {hit.id for one in channels for hit in one.hits}
    return msgspec.structs.replace(gathered, channels=channels, items={id_: items[id_] for id_ in used})


def _is_message(gathered: Gathered, id_: str) -> bool:
    return gathered.items[id_].kind == "message"

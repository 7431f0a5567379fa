"""Evidence of neighbours: in a conversation the answer often stands beside the line that matches the question.

A message gains a part of the evidence that the messages before and after it have by themselves: more of a question
that it answers, less the more it says itself. Measured on LoCoMo and BEAM: see the README's decisions.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

import msgspec

from projections.channels import Gathered, Plan, Views
from projections.fusion import Candidate, ChannelHits, Fusion
from projections.ledger import LiveItem
from projections.wording import stated_share

__all__ = ["CHANNEL", "with_neighbours"]

CHANNEL = "message_neighbour"

#: Characters from which on a line stands by itself: a longer one hears less of what is beside it.
_ALONE = 1000
#: What is heard of the line before, against that of the line after; up to twice as much where the former only asks.
_BEFORE = 0.8
#: The same without a name: what a user writes to a program is taken up by the answer, not by the answer before it.
_BEFORE_WITHOUT_NAME = 0.4


def with_neighbours(views: Views, planned: Plan, gathered: Gathered, method: Fusion, now: datetime) -> Gathered:
    """Return what was gathered with the hits of the neighbour channel, where it is planned.

    A hit's score is the sum of what it hears of its neighbours' evidence by the other channels. Neighbours that no
    other channel found are added when they are live and in scope.
    """
    channel = planned.channels.get(CHANNEL)
    if channel is None:
        return gathered
    evidence = {id_: score for id_, score in method(gathered.channels).items() if _is_message(gathered, id_)}
    if not evidence:
        return gathered
    near = views.ledger.neighbours(list(evidence))
    items = dict(gathered.items)
    unknown = [id_ for ids in near.values() for id_ in ids if id_ not in items]
    seen = views.ledger.live(list(dict.fromkeys(unknown)), now)
    items.update({id_: item for id_, item in seen.items.items() if planned.scope.allows(item)})
    scores: dict[str, float] = defaultdict(float)
    for id_, ids in near.items():
        for neighbour in ids:
            if neighbour in items:
                scores[neighbour] += evidence[id_] * _heard(items[id_], items[neighbour])
    hits = [Candidate(id_, score) for id_, score in scores.items() if score > 0]
    hits.sort(key=lambda hit: (-hit.score, -items[hit.id].position, hit.id))
    channels = [
        ChannelHits(channel=CHANNEL, weight=channel.weight, hits=hits[: channel.depth])
        if one.channel == CHANNEL
        else one
        for one in gathered.channels
    ]
    used = {hit.id for one in channels for hit in one.hits}
    return msgspec.structs.replace(gathered, channels=channels, items={id_: items[id_] for id_ in used})


def _heard(said: LiveItem, hearer: LiveItem) -> float:
    """Return which part of a line's evidence the one beside it hears."""
    part = min(1.0, _ALONE / max(1, len(hearer.text)))
    if said.position > hearer.position:
        return part
    asked = 1 - stated_share(said.text) if said.text.rstrip().endswith("?") else 0.0
    return part * (_BEFORE if hearer.name else _BEFORE_WITHOUT_NAME) * (1 + asked)


def _is_message(gathered: Gathered, id_: str) -> bool:
    return gathered.items[id_].kind == "message"

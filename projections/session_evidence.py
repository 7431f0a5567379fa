"""Evidence of sessions: a line that matches weakly is likelier in a conversation about what is asked.

A message gains in proportion to the best that its session has, measured against the best of all. Measured on LoCoMo
and BEAM: see the README's decisions.
"""

from __future__ import annotations

import msgspec

from projections.channels import Gathered, Plan
from projections.fusion import Candidate, ChannelHits, Fusion

__all__ = ["CHANNEL", "with_sessions"]

CHANNEL = "message_session"


def with_sessions(planned: Plan, gathered: Gathered, method: Fusion) -> Gathered:
    """Return what was gathered with the hits of the session channel, where it is planned; it adds no message.

    A hit's score is in [0, 1].
    """
    channel = planned.channels.get(CHANNEL)
    if channel is None:
        return gathered
    evidence = {
        id_: score
        for id_, score in method(gathered.channels).items()
        if score > 0 and gathered.items[id_].kind == "message"
    }
    best: dict[str, float] = {}
    for id_, score in evidence.items():
        session = gathered.items[id_].session
        best[session] = max(score, best.get(session, 0.0))
    top = max(best.values(), default=0.0)
    hits = [Candidate(id_, best[gathered.items[id_].session] / top) for id_ in evidence]
    hits.sort(key=lambda hit: (-hit.score, -gathered.items[hit.id].position, hit.id))
    channels = [
        ChannelHits(channel=CHANNEL, weight=channel.weight, hits=hits) if one.channel == CHANNEL else one
        for one in gathered.channels
    ]
    return msgspec.structs.replace(gathered, channels=channels)

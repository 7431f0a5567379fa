"""Recall: channels over the views, liveness from one ledger snapshot, fusion, and what is shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from projections.channels import Embed, Gathered, Plan, Views, fill, gather, plan
from projections.fusion import Fused, confidence_factor, fuse, reciprocal_rank, score_sum
from projections.ledger import LiveItem
from projections.recall_types import RecallAnswer, RecallHit, RecallQuery, RecallSettings
from projections.relevance import keyword_relevance, matched_share, vector_relevance

__all__ = ["RecallAnswer", "RecallHit", "RecallQuery", "RecallSettings", "recall"]

_DEFAULT = RecallSettings()
# A message states nothing by itself: it counts as the least trusted path that writes a memory.
_MESSAGE_CONFIDENCE = 0.5


def recall(
    views: Views,
    request: RecallQuery,
    *,
    embed_query: Embed,
    now: datetime,
    settings: RecallSettings = _DEFAULT,
) -> RecallAnswer:
    """Return what answers the query, best first; expiry is judged at ``now``.

    ``embed_query`` is called at most once, and only when a vector channel has anything to search. Raises
    InvalidInputError for a channel or kind that does not exist.
    """
    planned = plan(views.ledger, request, settings, now)
    gathered = gather(views, planned, request, embed_query, now)
    fused = _fuse(gathered, settings)
    relevant = [
        hit for one in fused if (hit := _hit(one, gathered.items[one.id], request)).relevance >= request.min_score
    ]
    chosen = _share_out(relevant, request.limit, settings.message_share)
    return RecallAnswer(
        results=[*chosen, *_filled(views, planned, request, chosen, now)],
        position=gathered.position,
        truncated=len(relevant) > len(chosen),
        channels={channel.channel: [hit.id for hit in channel.hits] for channel in gathered.channels},
    )


def _filled(
    views: Views, planned: Plan, request: RecallQuery, chosen: Sequence[RecallHit], now: datetime
) -> list[RecallHit]:
    places = min(request.fill, request.limit - len(chosen)) if request.min_score <= 0 else 0
    if places <= 0:
        return []
    found = fill(views, planned, frozenset(hit.item.id for hit in chosen), places, now)
    return [RecallHit(item=item, score=0.0, relevance=0.0, channels=(how,)) for how, item in found]


def _fuse(gathered: Gathered, settings: RecallSettings) -> list[Fused]:
    method = (
        score_sum(settings.scale_depth) if settings.fusion == "score_sum" else reciprocal_rank(settings.rank_constant)
    )
    factors = {id_: _factor(item) for id_, item in gathered.items.items()}
    positions = {id_: item.position for id_, item in gathered.items.items()}
    return fuse(gathered.channels, method, factors=factors, positions=positions)


def _factor(item: LiveItem) -> float:
    return confidence_factor(_MESSAGE_CONFIDENCE if item.confidence is None else item.confidence)


def _hit(one: Fused, item: LiveItem, request: RecallQuery) -> RecallHit:
    relevance = max(_channel_relevance(found.channel, found.score, request, item) for found in one.found)
    return RecallHit(item=item, score=one.score, relevance=relevance, channels=one.found)


def _channel_relevance(channel: str, score: float, request: RecallQuery, item: LiveItem) -> float:
    match channel:
        case "vector" | "message_vector":
            return vector_relevance(score)
        case "key":
            return score * matched_share(request.text, item.key)
        case _:
            return keyword_relevance(score, request.text, f"{item.name} {item.text}")


def _share_out(hits: Sequence[RecallHit], limit: int, message_share: float) -> list[RecallHit]:
    """Return the first ``limit`` hits; beyond their share, messages only fill what memories leave over."""
    allowed = int(limit * message_share)
    messages = [hit for hit in hits if hit.item.kind == "message"]
    if len(messages) <= allowed or message_share >= 1.0:
        return list(hits[:limit])
    memories = len(hits) - len(messages)
    kept = {hit.item.id for hit in messages[: max(allowed, limit - memories)]}
    return [hit for hit in hits if hit.item.kind != "message" or hit.item.id in kept][:limit]

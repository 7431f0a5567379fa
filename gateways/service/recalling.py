"""From a recall request to a query over the views, and from their answer to the reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from domain.grants import Reach
from domain.settings import Limits
from gateways.service.positions import Positions
from projections.recall import RecallAnswer, RecallHit, RecallQuery
from umbriel.types import ChannelHit, RecallReply, RecallRequest, RecallResult

__all__ = ["fitting", "query_of", "reply_of"]

#: Characters a token stands for; the estimate by content comes with the context call.
_CHARS_PER_TOKEN = 3.5
#: The channels that ask each index.
_ASKS = {
    "vectors": ("vector", "hyde_vector", "message_vector", "message_hyde_vector"),
    "keywords": ("keyword", "terms", "message_keyword", "message_terms", "message_window"),
}
_MEMORIES = frozenset({"fact", "event", "instruction", "task"})


def query_of(request: RecallRequest, reach: Reach) -> RecallQuery:
    """Return the query that a request asks of the views.

    Without a contact, sessions without one are heard only where every contact may be.
    """
    kinds = frozenset(request.kinds)
    if not request.contact and not reach.hears(""):
        kinds = (kinds or _MEMORIES) - {"message"}
    return RecallQuery(
        text=request.query,
        contact=request.contact,
        kinds=kinds,
        channels=frozenset(request.channels),
        limit=request.limit,
        min_score=request.min_score,
        within=reach.reads,
    )


def reply_of(
    answer: RecallAnswer,
    request: RecallRequest,
    *,
    positions: Positions,
    position: int,
    limits: Limits,
    off: Mapping[str, str],
) -> RecallReply:
    """Return the reply; results beyond the token budget or the reply's size are left off and said so."""
    results = fitting((_result(hit, positions) for hit in answer.results), request, limits)
    return RecallReply(
        results=results,
        position=positions.show(position),
        truncated=answer.truncated or len(results) < len(answer.results),
        channels=answer.channels if request.explain else {},
        off={channel: off[view] for view in off for channel in _ASKS.get(view, ()) if channel in answer.channels},
    )


def fitting(results: Iterable[RecallResult], request: RecallRequest, limits: Limits) -> list[RecallResult]:
    """Return the first results, as many as the token budget and the size of a reply hold."""
    fits: list[RecallResult] = []
    size, tokens = 0, 0.0
    for result in results:
        size += len(msgspec.json.encode(result))
        tokens += len(result.text) / _CHARS_PER_TOKEN
        if size > limits.reply_bytes or (request.token_budget is not None and tokens > request.token_budget):
            break
        fits.append(result)
    return fits


def _result(hit: RecallHit, positions: Positions) -> RecallResult:
    item = hit.item
    return RecallResult(
        id=item.id,
        text=item.text,
        kind=item.kind,
        score=hit.score,
        relevance=hit.relevance,
        position=positions.show(item.position),
        key=item.key,
        contact=item.contact,
        session=item.session,
        role=item.role,
        name=item.name,
        confidence=item.confidence,
        source=item.source,
        sources=list(item.sources),
        recorded_at=item.recorded_at,
        at=item.at,
        channels=[ChannelHit(channel=f.channel, rank=f.rank, score=f.score, weight=f.weight) for f in hit.channels],
    )

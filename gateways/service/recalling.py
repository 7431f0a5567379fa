"""From a recall request to a query over the views, and from their answer to the reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from domain.grants import Reach
from domain.settings import Limits
from domain.tokens import estimated_tokens
from gateways.extraction.periods import OPEN_END, OPEN_START, periods_of
from gateways.provenance import fenced, line_of
from gateways.service.dated import facts_of, when_of
from gateways.service.positions import Positions
from projections.recall import RecallAnswer, RecallHit, RecallQuery, Span
from umbriel.types import ChannelHit, RecallReply, RecallRequest, RecallResult

__all__ = ["fitting", "query_of", "reference_of", "reply_of"]

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
        periods=tuple(Span(one.start, one.end) for one in periods_of(request.query, reference_of(request))),
        during=Span(request.since or OPEN_START, request.until or OPEN_END) if request.since or request.until else None,
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
    at = reference_of(request)
    shown = (_dated(_result(hit, positions), at) for hit in answer.results)
    results = fitting(shown, request, limits)
    return RecallReply(
        results=results,
        position=positions.show(position),
        truncated=answer.truncated or len(results) < len(answer.results),
        channels=answer.channels if request.explain else {},
        off={channel: off[view] for view in off for channel in _ASKS.get(view, ()) if channel in answer.channels},
        facts=facts_of(request.query, periods_of(request.query, at), results, at),
    )


def reference_of(request: RecallRequest) -> datetime:
    """Return the time that a question's relative dates are counted from, in its own zone."""
    return request.reference_date or datetime.now(UTC)


def fitting(results: Iterable[RecallResult], request: RecallRequest, limits: Limits) -> list[RecallResult]:
    """Return the results that the token budget and the size of a reply hold, in their order.

    Tokens are those of a prompt that shows them fenced, with where they come from. One that is too long is left off
    whole, and shorter ones after it are still taken.
    """
    fits: list[RecallResult] = []
    size, tokens = 0, estimated_tokens(fenced([]))
    for result in results:
        size += len(msgspec.json.encode(result))
        if size > limits.reply_bytes:
            break
        if request.token_budget is not None:
            needed = estimated_tokens(line_of(result) + "\n")
            if tokens + needed > request.token_budget:
                continue
            tokens += needed
        fits.append(result)
    return fits


def _dated(result: RecallResult, at: datetime) -> RecallResult:
    return msgspec.structs.replace(result, when=when_of(result, at))


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
        factors=hit.factors,
        stated_at=item.stated_at,
        valid_from=item.valid_from,
        valid_to=item.valid_to,
        channels=[ChannelHit(channel=f.channel, rank=f.rank, score=f.score, weight=f.weight) for f in hit.channels],
    )

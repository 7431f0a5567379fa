"""From a recall request to a query over the views, and from their answer to the reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from domain.grants import Reach
from domain.settings import Limits
from domain.tokens import estimated_tokens
from gateways.extraction.periods import Period, periods_of
from gateways.provenance import fenced, line_of
from gateways.service.dated import facts_of, when_of
from gateways.service.positions import Positions
from projections.analysis import query_terms
from projections.fusion import Found
from projections.ledger import LiveItem
from projections.recall import RecallAnswer, RecallHit, RecallQuery, Span
from umbriel.answers import QueryAnalysis
from umbriel.types import ChannelHit, RecallReply, RecallRequest, RecallResult

__all__ = [
    "RESULTS",
    "cut_to",
    "fitting",
    "off_channels",
    "query_of",
    "reference_of",
    "reply_of",
    "shown",
    "suppressed",
]

#: how many results there are at most, where a request does not say
RESULTS = 10

_DIGITS = 9
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
    periods = periods_of(request.query, reference_of(request))
    return RecallQuery(
        text=request.query,
        periods=tuple(Span(one.start, one.end) for one in periods),
        only_periods=bool(periods) and not query_terms(_undated(request.query, periods)).text,
        during=Span.between(request.since, request.until),
        contact=request.contact,
        kinds=kinds,
        channels=frozenset(request.channels),
        limit=request.limit or RESULTS,
        min_score=request.min_score,
        within=reach.reads,
        explain=request.explain,
    )


def _undated(question: str, periods: Iterable[Period]) -> str:
    for period in periods:
        question = question.replace(period.words, " ", 1)
    return question


def reply_of(
    answer: RecallAnswer,
    request: RecallRequest,
    *,
    positions: Positions,
    position: int,
    limits: Limits,
    off: Mapping[str, str],
    analysis: QueryAnalysis | None = None,
) -> RecallReply:
    """Return the reply; results beyond the token budget or the reply's size are left off and said so."""
    at = reference_of(request)
    quiet = [suppressed(item, positions, at) for item in answer.suppressions]
    told = frozenset(one.id for one in quiet)
    found = [shown(hit, positions, at) for hit in answer.results if hit.item.id not in told]
    fits = fitting([*quiet, *found], request, limits)
    results = [one for one in fits if one.id not in told]
    return RecallReply(
        results=results,
        position=positions.show(position),
        truncated=answer.truncated or len(fits) < len(quiet) + len(found),
        channels=answer.channels if request.explain else {},
        weights=answer.weights if request.explain else {},
        heard=answer.heard if request.inspect else {},
        off=off_channels(answer, off),
        facts=facts_of(request.query, periods_of(request.query, at), results, at),
        suppressions=[one for one in fits if one.id in told],
        analysis=analysis,
    )


def _found(one: Found) -> ChannelHit:
    return ChannelHit(
        channel=one.channel,
        rank=one.rank,
        score=one.score,
        weight=one.weight,
        contribution=round(one.contribution, _DIGITS),
    )


def suppressed(item: LiveItem, positions: Positions, at: datetime) -> RecallResult:
    """Return an instruction that is handed out beside the results as a hit of no channel."""
    return shown(RecallHit(item=item, score=0.0, relevance=0.0, channels=()), positions, at)


def reference_of(request: RecallRequest) -> datetime:
    """Return the time that a question's relative dates are counted from, in its own zone."""
    return request.reference_date or datetime.now(UTC)


def fitting(results: Iterable[RecallResult], request: RecallRequest, limits: Limits) -> list[RecallResult]:
    """Return the results that the token budget and the size of a reply hold, in their order.

    Tokens are those of a prompt that shows them fenced, with where they come from. One that is too long is left off
    whole, and shorter ones after it are still taken.
    """
    if request.token_budget is None:
        return cut_to(results, limits.reply_bytes)
    left = request.token_budget - estimated_tokens(fenced([]))
    fits: list[RecallResult] = []
    for result in results:
        needed = estimated_tokens(line_of(result) + "\n")
        if needed <= left:
            left -= needed
            fits.append(result)
    return cut_to(fits, limits.reply_bytes)


def cut_to(results: Iterable[RecallResult], reply_bytes: int) -> list[RecallResult]:
    """Return the first results, as many as a reply of so many bytes carries."""
    fits: list[RecallResult] = []
    for result in results:
        reply_bytes -= len(msgspec.json.encode(result))
        if reply_bytes < 0:
            break
        fits.append(result)
    return fits


def off_channels(answer: RecallAnswer, off: Mapping[str, str]) -> dict[str, str]:
    """Return the channels of an answer that a view which is off could not serve, and why."""
    return {channel: off[view] for view in off for channel in _ASKS.get(view, ()) if channel in answer.channels}


def shown(hit: RecallHit, positions: Positions, at: datetime) -> RecallResult:
    """Return a hit as it goes over the wire, with how far it is from the reference date."""
    result = _result(hit, positions)
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
        channels=[_found(one) for one in hit.channels],
    )

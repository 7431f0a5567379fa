"""Recall: channels over the views, liveness from one ledger snapshot, fusion, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from math import prod

import msgspec

from domain.text import fold_content
from projections.authorship import author_factor
from projections.channels import Embed, Gathered, Plan, Views, fill, gather, plan
from projections.fusion import Fused, Fusion, confidence_factor, contributions, fuse, reciprocal_rank, score_sum
from projections.ledger import LiveItem
from projections.neighbours import with_neighbours
from projections.periods import with_periods
from projections.recall_types import RecallAnswer, RecallHit, RecallQuery, RecallSettings, Span
from projections.relevance import keyword_relevance, matched_share, vector_relevance
from projections.session_evidence import with_sessions
from projections.source_evidence import with_sources
from projections.suppressing import suppressing
from projections.wording import wording_factor

__all__ = ["RecallAnswer", "RecallHit", "RecallQuery", "RecallSettings", "Span", "recall"]

_DEFAULT = RecallSettings()
# A message states nothing by itself: it counts as the least trusted path that writes a memory.
_MESSAGE_CONFIDENCE = 0.5
#: What is shown of what a channel found, beside the results: so many of each, so many characters.
_HEARD, _HEARD_CHARS = 10, 300
_Weigh = Callable[[LiveItem], dict[str, float]]


def recall(
    views: Views,
    request: RecallQuery,
    *,
    embed_query: Embed,
    now: datetime,
    settings: RecallSettings = _DEFAULT,
) -> RecallAnswer:
    """Return what answers the query, best first; expiry is judged at ``now``.

    ``embed_query`` is called at most once a text, and only when a vector channel has anything to search. Raises
    InvalidInputError for a channel or kind that does not exist.
    """
    planned = plan(views.ledger, request, settings, now)
    method = _method(settings)
    gathered = with_periods(views, planned, gather(views, planned, request, embed_query, now), request, now)
    gathered = with_neighbours(views, planned, gathered, method, now)
    gathered = with_sessions(planned, gathered, method)
    weigh = _weighing(gathered, request, settings)
    gathered = with_sources(planned, gathered, method, lambda item: prod(weigh(item).values()))
    fused: Iterable[Fused] = _fuse(gathered, method, weigh)
    if request.distinct:
        fused = _distinct(fused, gathered)
    relevant = (
        one for one in fused if request.min_score <= 0 or _relevance(one, gathered, request) >= request.min_score
    )
    # Relevance reads texts; what cannot be shown is not looked at.
    enough = list(islice(relevant, request.limit + 1) if settings.message_share >= 1 else relevant)
    messages = frozenset(one.id for one in enough if gathered.items[one.id].kind == "message")
    chosen = [
        _hit(one, gathered, request, weigh)
        for one in _share_out(enough, messages, request.limit, settings.message_share)
    ]
    if request.explain:
        chosen = _explained(chosen, gathered, method)
    results = [*chosen, *_filled(views, planned, request, chosen, now)]
    return RecallAnswer(
        results=results,
        position=gathered.position,
        truncated=len(enough) > len(chosen),
        channels={channel.channel: [hit.id for hit in channel.hits] for channel in gathered.channels},
        weights={name: channel.weight for name, channel in planned.channels.items()},
        heard=_heard(gathered) if request.explain else {},
        suppressions=suppressing(views, planned, request, results, now),
    )


def _explained(chosen: Sequence[RecallHit], gathered: Gathered, method: Fusion) -> list[RecallHit]:
    """Return hits with what each channel added to them."""
    added = contributions(gathered.channels, method)
    return [
        msgspec.structs.replace(
            hit,
            channels=tuple(
                msgspec.structs.replace(one, contribution=added[one.channel][hit.item.id]) for one in hit.channels
            ),
        )
        for hit in chosen
    ]


def _heard(gathered: Gathered) -> dict[str, str]:
    """Return the beginnings of the texts that each channel found first."""
    first = (hit.id for channel in gathered.channels for hit in channel.hits[:_HEARD])
    return {id_: gathered.items[id_].text[:_HEARD_CHARS] for id_ in first}


def _filled(
    views: Views, planned: Plan, request: RecallQuery, chosen: Sequence[RecallHit], now: datetime
) -> list[RecallHit]:
    places = min(request.fill, request.limit - len(chosen)) if request.min_score <= 0 else 0
    if places <= 0:
        return []
    found = fill(views, planned, frozenset(hit.item.id for hit in chosen), places, now)
    return [RecallHit(item=item, score=0.0, relevance=0.0, channels=(how,)) for how, item in found]


def _method(settings: RecallSettings) -> Fusion:
    if settings.fusion == "score_sum":
        return score_sum(settings.scale_depth)
    return reciprocal_rank(settings.rank_constant)


def _weighing(gathered: Gathered, request: RecallQuery, settings: RecallSettings) -> _Weigh:
    """Return what an item's evidence is weighed by: how far it is trusted, who said it and how, whom it is about."""
    author = author_factor(
        request.text, gathered.items.values(), other_role=settings.other_role, other_speaker=settings.other_speaker
    )
    wording = wording_factor(
        request.text, empty=settings.empty_line, impersonal=settings.impersonal_line, unfitting=settings.unfitting_line
    )
    of_one = request.contact not in {"", "*"}
    known: dict[str, dict[str, float]] = {}

    def weigh(item: LiveItem) -> dict[str, float]:
        if item.id not in known:
            scope = settings.agent_wide if of_one and not item.contact else 1.0
            found = {"confidence": _trust(item), "author": author(item), "wording": wording(item), "scope": scope}
            known[item.id] = found
        return known[item.id]

    return weigh


def _distinct(fused: Iterable[Fused], gathered: Gathered) -> Iterator[Fused]:
    """Yield memories, and of messages by one speaker that say the same the best: a limit is for different things."""
    said: set[tuple[str, ...]] = set()
    for one in fused:
        item = gathered.items[one.id]
        words = (item.contact, item.role, item.name, fold_content(item.text))
        if item.kind == "message" and words in said:
            continue
        said.add(words)
        yield one


def _fuse(gathered: Gathered, method: Fusion, weigh: _Weigh) -> list[Fused]:
    factors = {id_: prod(weigh(item).values()) for id_, item in gathered.items.items()}
    positions = {id_: item.position for id_, item in gathered.items.items()}
    return fuse(gathered.channels, method, factors=factors, positions=positions)


def _trust(item: LiveItem) -> float:
    return confidence_factor(_MESSAGE_CONFIDENCE if item.confidence is None else item.confidence)


def _hit(one: Fused, gathered: Gathered, request: RecallQuery, weigh: _Weigh) -> RecallHit:
    item, relevance = gathered.items[one.id], _relevance(one, gathered, request)
    return RecallHit(item=item, score=one.score, relevance=relevance, channels=one.found, factors=weigh(item))


def _relevance(one: Fused, gathered: Gathered, request: RecallQuery) -> float:
    item = gathered.items[one.id]
    return max(_channel_relevance(found.channel, found.score, request, item) for found in one.found)


def _channel_relevance(channel: str, score: float, request: RecallQuery, item: LiveItem) -> float:
    match channel:
        case "vector" | "message_vector":
            return vector_relevance(score)
        case "message_window" | "message_neighbour" | "message_session" | "memory_source":
            return 0.0  # what stands beside an answer, or was read from it, is not shown to be one
        case "period" | "message_period":
            return 0.0  # what happened at the time is not what was asked about it
        case "hyde_vector" | "message_hyde_vector" | "terms" | "message_terms":
            return 0.0  # like a guess at the answer is not like the question
        case "key":
            return score * matched_share(request.text, item.key)
        case _:
            return keyword_relevance(score, request.text, f"{item.name} {item.text}")


def _share_out(found: Sequence[Fused], messages: frozenset[str], limit: int, message_share: float) -> list[Fused]:
    """Return the first ``limit``; beyond their share, messages only fill what memories leave over."""
    allowed = max(int(limit * message_share), limit - (len(found) - len(messages)))
    if message_share >= 1 or len(messages) <= allowed:
        return list(found[:limit])
    kept = frozenset([one.id for one in found if one.id in messages][:allowed])
    return [one for one in found if one.id not in messages or one.id in kept][:limit]

"""Recall answered by the managed memory: what it found, as far as the caller may see it and it still stands here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

import msgspec

from domain.errors import UmbrielError
from domain.grants import Reach
from domain.settings import ProfileSettings
from gateways.extraction.periods import periods_of
from gateways.managed import Candidate, ManagedClient, RemoteRecall
from gateways.service.context import Core
from gateways.service.dated import facts_of, when_of
from gateways.service.models import KEPT
from gateways.service.policy import passes
from gateways.service.profiles import OpenProfile
from gateways.service.recalling import RESULTS, fitting, reference_of, suppressed
from projections.ledger import MemoryRecord
from projections.recall import RecallQuery
from projections.suppressing import suppressing_beside
from umbriel.answers import Synthesis
from umbriel.types import ChannelHit, RecallReply, RecallRequest, RecallResult

__all__ = ["managed_recall"]

_CHANNEL = "managed"
#: characters of an answer that are handed on
_ANSWER_CHARS = 20_000
_SUBJECTS: tuple[Literal["messages", "memories"], ...] = ("messages", "memories")


class _Visible(msgspec.Struct, frozen=True):
    """Who may see what: memories by their scope, sessions by their contact, and what this log knows nothing of."""

    memory: Callable[[str | None], bool]
    session: Callable[[str], bool]
    unknown: bool


async def managed_recall(
    core: Core, profile: str, reach: Reach, request: RecallRequest, query: RecallQuery, set_to: ProfileSettings
) -> RecallReply | str:
    """Return the managed memory's reply, or why the local one has to answer.

    What not to speak of, dates and facts are added here as to a local reply, for the service knows none of them. A
    result's id is ``managed:`` and its id there; the memory it is here is its first source. The profile is not lent
    while the service is asked.
    """
    client = core.managed
    if client is None:
        return "no managed memory is configured"
    if request.channels:
        return "the managed memory has no channels to choose"
    if request.since or request.until:
        return "the managed memory cannot be asked about a time"
    if not passes(core, profile, set_to.data_flow, "queries", client.settings.name, client.settings.reaches):
        return KEPT
    async with core.profiles.use(profile) as opened:
        behind = await core.in_thread(lambda: _behind(core, opened, client, request))
    if behind:
        return "the managed memory has not got everything up to that position yet"
    try:
        async with asyncio.timeout(core.settings.answering.seconds if request.answer else core.settings.wait_seconds):
            found = await _ask(client, profile, request)
    except TimeoutError:
        return "the managed memory did not answer in time"
    except UmbrielError as error:
        return str(error)
    async with core.profiles.use(profile) as opened:
        position = core.applied(opened)
        results = await core.in_thread(lambda: _results(core, opened, client, reach, request, found.candidates))
        chosen = results[: request.limit or RESULTS]
        quiet = await core.in_thread(lambda: _quiet(core, opened, request, query, set_to, chosen))
    told = frozenset(one.id for one in quiet)
    # The same instruction among the results would stand there twice.
    chosen = [one for one in chosen if told.isdisjoint(one.sources[:1])]
    fits = fitting([*quiet, *chosen], request, core.settings.limits)
    shown, at = [one for one in fits if one.id not in told], reference_of(request)
    return RecallReply(
        results=shown,
        position=core.positions.show(position),
        truncated=len(fits) < len(quiet) + len(chosen) or len(results) > (request.limit or RESULTS),
        facts=facts_of(request.query, periods_of(request.query, at), shown, at),
        suppressions=[one for one in fits if one.id in told],
        channels={_CHANNEL: [one.id for one in shown]} if request.explain else {},
        provider=client.settings.name,
        # The service was not told what not to speak of: a model of ours is.
        answer=None if quiet else _answer(client, request, found, shown),
    )


def _quiet(
    core: Core,
    opened: OpenProfile,
    request: RecallRequest,
    query: RecallQuery,
    set_to: ProfileSettings,
    results: list[RecallResult],
) -> list[RecallResult]:
    """Return what not to speak of, as the question or one of the results brings it up; blocks."""
    reaches, model = core.embedder_reaches, core.embedder.model
    sent = reaches == "local" or passes(core, opened.name, set_to.data_flow, "queries", model, reaches)
    embed, texts = core.embedder.embed_query if sent else None, [one.text for one in results]
    found = suppressing_beside(opened.views, query, texts, embed, datetime.now(UTC))
    return [suppressed(item, core.positions, reference_of(request)) for item in found]


async def _ask(client: ManagedClient, profile: str, request: RecallRequest) -> RemoteRecall:
    if not request.answer:
        return await client.recall(profile, request.query)
    return await client.recall(
        profile, request.query, thinking=request.thinking, length=request.length, reference=request.reference_date
    )


def _answer(
    client: ManagedClient, request: RecallRequest, found: RemoteRecall, shown: list[RecallResult]
) -> Synthesis | None:
    """Return the service's own answer; None where it may rest on what this request does not see.

    The service knows nothing of contacts, grants, or what was forgotten here: its words cannot be sorted as its results
    are, so they count only where every one of those is among the results.
    """
    text = (found.answer or "").strip()
    whole = len(shown) == len(found.candidates) and found.count <= len(shown)
    if not (request.answer and shown and whole and text):
        return None
    return Synthesis(text=text[:_ANSWER_CHARS], cited=[one.id for one in shown], model=client.settings.name)


def _behind(core: Core, opened: OpenProfile, client: ManagedClient, request: RecallRequest) -> bool:
    """Whether something written up to ``at_least`` was not forwarded yet."""
    asked, place = core.positions.read(request.at_least, field="at_least"), client.settings.destination
    for subject in _SUBJECTS:
        position = core.directory.forwarded_to(opened.name, place, subject)
        if asked > position and opened.views.ledger.recorded_after(position, subject):
            return True
    return False


def _results(
    core: Core,
    opened: OpenProfile,
    client: ManagedClient,
    reach: Reach,
    request: RecallRequest,
    candidates: list[Candidate],
) -> list[RecallResult]:
    visible, kinds = _visible(opened, reach, request.contact), frozenset(request.kinds)
    results: list[RecallResult] = []
    at = reference_of(request)
    for rank, candidate in enumerate(candidates, start=1):
        result = _result(core, opened, client.settings.destination, visible, candidate, rank)
        if result is None or (kinds and result.kind not in kinds) or result.relevance < request.min_score:
            continue
        results.append(msgspec.structs.replace(result, when=when_of(result, at)))
    return results


def _visible(opened: OpenProfile, reach: Reach, contact: str) -> _Visible:
    """Return what a request for a contact sees, as the local recall does: ``*`` all, empty what is nobody's."""
    ledger = opened.views.ledger
    if contact == "*" or (not contact and not ledger.has_contacts()):
        return _Visible(reach.sees, reach.hears, reach.reads is None)
    named = frozenset(ledger.linked(contact, within=reach.reads) if contact else ())
    return _Visible(
        lambda scope: (not scope or scope in named) and reach.sees(scope),
        lambda of: (of in named if contact else not of) and reach.hears(of),
        unknown=False,
    )


def _result(
    core: Core, opened: OpenProfile, place: str, visible: _Visible, candidate: Candidate, rank: int
) -> RecallResult | None:
    """Return a candidate as a result, None when it may not be seen or stands no more."""
    shown = RecallResult(
        id=f"{_CHANNEL}:{candidate.id}",
        text=candidate.summary,
        kind="fact",
        score=candidate.score,
        relevance=min(1.0, max(0.0, candidate.score)),
        position=core.positions.show(0),
        channels=[ChannelHit(channel=_CHANNEL, rank=rank, score=candidate.score, weight=1.0)],
    )
    ledger, directory = opened.views.ledger, core.directory
    known = directory.local_names(opened.name, place, "memory", candidate.id)
    if known:
        now = datetime.now(UTC)
        records = ledger.memories(known).values()
        standing = [one for one in records if one.status_at(now) == "live" and visible.memory(one.scope)]
        return _as_memory(core, shown, standing[0]) if standing else None
    said = directory.local_names(opened.name, place, "message", candidate.session_id or "", limit=1)
    message = ledger.message(said[0]) if said else None
    if message is None:
        return shown if visible.unknown else None
    if not visible.session(message.contact):
        return None
    return msgspec.structs.replace(
        shown,
        session=message.session,
        contact=message.contact,
        at=message.at,
        recorded_at=message.recorded_at,
        position=core.positions.show(message.position),
    )


def _as_memory(core: Core, shown: RecallResult, record: MemoryRecord) -> RecallResult:
    return msgspec.structs.replace(
        shown,
        kind=record.kind,
        key=record.key,
        contact=record.scope or "",
        session=record.session,
        confidence=record.confidence,
        source=record.source,
        sources=[record.id, *record.sources],
        at=record.occurred_at,
        stated_at=record.stated_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        recorded_at=record.recorded_at,
        position=core.positions.show(record.position),
    )

"""The verbs that read: recall, get, list, history and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from domain.errors import NotFoundError
from domain.grants import Reach
from domain.ids import split_memory_id
from domain.settings import ProfileSettings
from domain.text import fold_key
from gateways.service.access import Accesses
from gateways.service.analysing import Prepared, prepared
from gateways.service.context import Caller, Core
from gateways.service.fitting import fitted, how_many_fit
from gateways.service.gone import tombstone
from gateways.service.inspector import noted_as
from gateways.service.managed_recall import managed_recall
from gateways.service.models import KEPT
from gateways.service.policy import passes
from gateways.service.preferences import recall_settings, shown_since, shown_then
from gateways.service.profiles import OpenProfile
from gateways.service.reading import reading, reading_then
from gateways.service.recalling import query_of, reply_of
from gateways.service.served import HandedOut
from gateways.service.show import show_event, show_memory, show_source
from gateways.service.validate import check_get, check_list, check_recall
from projections.channels import Embed
from projections.ledger import AsOf, Ledger, MemoryRecord, Page
from projections.off import OffView
from projections.recall import RecallAnswer, RecallQuery
from projections.recall import recall as recall_views
from umbriel.types import (
    GetRequest,
    HistoryReply,
    IdRequest,
    ListReply,
    ListRequest,
    Memory,
    RecallReply,
    RecallRequest,
    WhyReply,
)

__all__ = ["Found", "get", "history", "list_memories", "local_recall", "reading", "recall", "why"]


async def recall(
    core: Core, handed_out: HandedOut, caller: Caller, profile: str, request: RecallRequest, *, session: str = ""
) -> RecallReply:
    """Find what answers a query, best first, with the channels that found it.

    ``session`` is where the query was said, if it was: it is on record under that session's key then.
    """
    request = check_recall(request, core.settings.limits)
    reach = caller.reach
    query = query_of(request, reach)

    def noted(reply: RecallReply, set_to: ProfileSettings, memories: Sequence[str]) -> RecallReply:
        handed_out.note(
            set_to.access,
            profile,
            caller,
            verb=noted_as(request),
            query=request.query,
            results=[one.id for one in (*reply.suppressions, *reply.results)],
            memories=() if request.inspect else memories,
            contact=request.contact,
            session=session,
            provider=reply.provider,
        )
        return reply

    def shown(opened: OpenProfile, position: int, asked: Prepared, found: Found) -> RecallReply:
        reply = reply_of(
            found.answer,
            request,
            positions=core.positions,
            position=position,
            limits=core.settings.limits,
            off={**opened.views.off, **found.off},
            analysis=asked.shown if request.explain or asked.missed else None,
        )
        return noted(reply, found.set_to, [one.id for one in reply.results if one.kind != "message"])

    async def ask(opened: OpenProfile) -> RecallReply | ProfileSettings:
        asked = await prepared(core, opened, reach, query)
        position = core.applied(opened)
        found = await core.in_thread(lambda: _search(core, opened, asked))
        return shown(opened, position, asked, found) if isinstance(found, Found) else found

    empty = RecallReply(results=[], position=core.positions.show(core.reader.passed))
    if not request.contact and not reach.hears("") and set(request.kinds) == {"message"}:
        return empty
    found: RecallReply | ProfileSettings
    found = await reading(core, profile, request.at_least, ask, absent=empty, visibility=request.visibility)
    if isinstance(found, RecallReply):
        return found
    set_to = found
    remote = await managed_recall(core, profile, reach, request, query, set_to)
    if isinstance(remote, RecallReply):
        return noted(remote, set_to, _memories_of(remote))
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        asked = await prepared(core, opened, reach, query, fallback=True)
        position = core.applied(opened)
        fallback = await core.in_thread(lambda: local_recall(core, opened, asked.query, set_to, embed=asked.embed))
        return msgspec.structs.replace(shown(opened, position, asked, fallback), fallback=remote)


def _memories_of(reply: RecallReply) -> list[str]:
    """Return the memories of this log that the managed memory found."""
    return [source for one in reply.results for source in one.sources[:1] if "@" in source]


class Found(msgspec.Struct, frozen=True):
    """What the views answered, under which settings, and which views were left out, with why."""

    answer: RecallAnswer
    set_to: ProfileSettings
    off: dict[str, str] = {}


class _Unembedded(msgspec.Struct, frozen=True):
    """A profile's views without vectors: the query may not go to the embedder."""

    ledger: Ledger
    keywords: Any
    vectors: OffView


def _search(core: Core, opened: OpenProfile, asked: Prepared) -> Found | ProfileSettings:
    """Ask the views under the profile's settings, which one turn in a thread reads as well.

    Only the settings come back where another provider is to be asked first.
    """
    set_to = opened.views.ledger.settings()
    if set_to.provider.recall == "managed":
        return set_to
    return local_recall(core, opened, asked.query, set_to, embed=asked.embed)


def local_recall(
    core: Core,
    opened: OpenProfile,
    query: RecallQuery,
    set_to: ProfileSettings,
    *,
    fill: int | None = None,
    embed: Embed | None = None,
    now: datetime | None = None,
    since: datetime | None = None,
) -> Found:
    """Ask the views; without vectors where the query may not go to the embedder.

    ``now`` is the present unless it is given; what was recorded before ``since``, or before what the settings show, is
    left out.
    """
    now = now or datetime.now(UTC)
    views = opened.views
    reaches = core.embedder_reaches
    sent = reaches == "local" or passes(core, opened.name, set_to.data_flow, "queries", core.embedder.model, reaches)
    found = recall_views(
        views if sent else _Unembedded(views.ledger, views.keywords, OffView(lambda: views.ledger.position)),
        msgspec.structs.replace(
            query, fill=set_to.recall.fill if fill is None else fill, since=since or shown_since(set_to, now)
        ),
        embed_query=embed or core.embedder.embed_query,
        now=now,
        settings=recall_settings(set_to),
    )
    return Found(found, set_to, {} if sent else {"vectors": KEPT})


async def get(core: Core, accesses: Accesses, reach: Reach, profile: str, request: GetRequest) -> Memory:
    """Return one memory by id (any version) or the newest live one under a key, and count the access.

    As of a point of the past it is as it was, and nothing is counted: looking back keeps nothing alive.
    """
    request = check_get(request, core.settings.limits)
    if request.id:
        split_memory_id(request.id)

    async def work(opened: OpenProfile, as_of: AsOf | None) -> Memory:
        now = as_of.clock if as_of else datetime.now(UTC)
        record = await core.in_thread(lambda: _lookup(opened, reach, request, now, as_of))
        if record is None or record.status == "forgotten" or not reach.sees(record.scope):
            found = request.id or request.key
            raise NotFoundError("no such memory", expected="the id or key of a memory", found=repr(found))
        if as_of is None and (await core.in_thread(opened.views.ledger.settings)).access.counted:
            accesses.count(profile, [record.id], now)
        return show_memory(record, now, core.positions.show)

    return await reading_then(core, profile, request.as_of, request.at_least, work)


def _lookup(
    opened: OpenProfile, reach: Reach, request: GetRequest, now: datetime, as_of: AsOf | None
) -> MemoryRecord | None:
    ledger = opened.views.ledger
    if request.id:
        return ledger.memory(request.id, as_of=as_of)
    scopes: Sequence[str | None] = [request.contact, None] if request.contact else [None]
    return ledger.by_key(fold_key(request.key), scopes, request.kind, now=now, within=reach.reads, as_of=as_of)


async def list_memories(core: Core, reach: Reach, profile: str, request: ListRequest) -> ListReply:
    """Return a page of memories, newest first, as they are or as they were."""
    request = check_list(request, core.settings.limits)

    async def work(opened: OpenProfile, as_of: AsOf | None) -> ListReply:
        now, position = (as_of.clock, as_of.position) if as_of else (datetime.now(UTC), core.applied(opened))
        page = await core.in_thread(lambda: _page(opened, reach, request, request.limit, now, as_of))
        entries = [show_memory(record, now, core.positions.show) for record in page.entries]
        fits = how_many_fit(entries, core.settings.limits.reply_bytes)
        if fits < len(entries):
            page = await core.in_thread(lambda: _page(opened, reach, request, fits, now, as_of))
            entries = [show_memory(record, now, core.positions.show) for record in page.entries]
        return ListReply(
            entries=entries,
            cursor=page.cursor,
            position=core.positions.show(position),
        )

    if request.as_of:
        return await reading_then(core, profile, request.as_of, request.at_least, work)
    empty = ListReply(entries=[], position=core.positions.show(core.reader.passed))
    return await reading(core, profile, request.at_least, lambda opened: work(opened, None), absent=empty)


def _page(
    opened: OpenProfile, reach: Reach, request: ListRequest, limit: int, now: datetime, as_of: AsOf | None
) -> Page:
    ledger = opened.views.ledger
    return ledger.list_memories(
        session=request.session or None,
        contact=request.contact or None,
        kind=request.kind,
        status=request.status,
        text=request.text,
        cursor=request.cursor,
        limit=limit,
        now=now,
        within=reach.reads,
        since=shown_then(ledger, as_of) if as_of else shown_since(ledger.settings(), now),
        as_of=as_of,
    )


async def history(core: Core, reach: Reach, profile: str, request: IdRequest) -> HistoryReply:
    """Return every version at a memory's address and every event that touched it."""
    why_reply = await why(core, reach, profile, request)
    return HistoryReply(
        versions=why_reply.versions, events=why_reply.events, position=why_reply.position, omitted=why_reply.omitted
    )


async def why(core: Core, reach: Reach, profile: str, request: IdRequest) -> WhyReply:
    """Return why a memory says what it says: versions, decisions and source lines."""
    address, _ = split_memory_id(request.id)

    async def work(opened: OpenProfile) -> WhyReply:
        # Taken before the reading: what is applied meanwhile may not be in it.
        position = core.positions.show(core.applied(opened))
        try:
            reply = await core.in_thread(lambda: _why(core, reach, opened, address, request.id))
        except NotFoundError:
            # Whose it was is known to nobody: only who may see everybody's is told that it was there.
            if reach.limited or (found := await tombstone(core, opened, request.id)) is None:
                raise
            reply = found
        return fitted(msgspec.structs.replace(reply, position=position), core.settings.limits.reply_bytes)

    return await reading(core, profile, request.at_least, work)


def _why(core: Core, reach: Reach, opened: OpenProfile, address: str, memory: str) -> WhyReply:
    ledger, now, show = opened.views.ledger, datetime.now(UTC), core.positions.show
    versions = ledger.versions(address)
    asked = next((version for version in versions if version.id == memory), None)
    if asked is None or not reach.sees(asked.scope):
        raise NotFoundError("no such memory", expected="the id of a memory", found=memory)
    before = [source for version in versions if version.version < asked.version for source in version.sources]
    sources = asked.sources or dict.fromkeys(before)
    found = [message for source in sources if (message := ledger.message(source)) is not None]
    # What everybody may know can rest on what only one contact said.
    messages = [message for message in found if reach.hears(message.contact)]
    return WhyReply(
        memory=show_memory(asked, now, show),
        versions=[show_memory(version, now, show) for version in versions],
        events=[show_event(event, show) for event in ledger.history(address)],
        sources=[show_source(message) for message in messages],
        position="",
    )

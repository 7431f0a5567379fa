"""The feed: a profile's events after a position, as a long poll that the client repeats."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import msgspec

from domain.envelope import Envelope
from domain.errors import InvalidInputError
from domain.events import (
    ContactSet,
    ContactsLinked,
    ContactsUnlinked,
    Event,
    MemoryRemembered,
    MemoryRestored,
    MessageForgotten,
    MessageRecorded,
)
from domain.ids import check_profile
from gateways.service.context import Core
from gateways.service.profiles import OpenProfile
from gateways.service.validate import check_limit
from umbriel.types import FeedEvent, FeedReply, FeedRequest

__all__ = ["QUIET", "feed"]

#: Categories that are left out unless they are asked for.
QUIET = frozenset({"embedding", "access", "usage", "recall"})
_CATEGORIES = frozenset(
    {"message", "conversation", "memory", "extraction", "reflection", "goal", "profile", "refusal", "seal"} | QUIET
)
_PAGE = 500


async def feed(core: Core, profile: str, request: FeedRequest) -> FeedReply:
    """Return events after a position in log order, waiting up to ``wait`` seconds for the first one.

    The reply's position is where to ask next: it passes over what the filter leaves out.
    """
    after = _check(core, profile, request)
    deadline = time.monotonic() + min(request.wait, core.settings.limits.feed_wait_seconds)
    while True:
        reply = await _page(core, profile, request, after)
        remaining = deadline - time.monotonic()
        if reply.events or remaining <= 0:
            return reply
        after = core.positions.read(reply.position, field="position")
        await core.reader.wait_until(partial(_moved, core, after), remaining)


def _moved(core: Core, after: int) -> bool:
    return core.reader.passed > after


def _check(core: Core, profile: str, request: FeedRequest) -> int:
    check_profile(profile)
    check_limit(request.limit, core.settings.limits.feed_limit)
    unknown = set(request.kinds) - _CATEGORIES
    if unknown:
        raise InvalidInputError(
            "unknown event category", expected=", ".join(sorted(_CATEGORIES)), found=", ".join(sorted(unknown))
        )
    return core.positions.read(request.after, field="after")


async def _page(core: Core, profile: str, request: FeedRequest, after: int) -> FeedReply:
    """Return the next events that pass the filter, reading on over what it leaves out."""
    events: list[FeedEvent] = []
    size, limit = 0, core.settings.limits.reply_bytes
    # What the reader has passed before the log is read is surely read, even when no event of it is ours.
    passed = core.reader.passed
    if not await core.known_profile(profile):
        return FeedReply(events=[], position=core.positions.show(max(after, passed)))
    async with core.profiles.use(profile) as opened:
        linked = await core.in_thread(lambda: opened.views.ledger.linked(request.contact))
        while True:
            part = await core.events.read(after, _PAGE, profile)
            for envelope in part.envelopes:
                shown = await _show(core, opened, request, linked, envelope)
                if shown is not None:
                    size += len(msgspec.json.encode(shown))
                    if events and (size > limit or len(events) == request.limit):
                        return FeedReply(events=events, position=core.positions.show(after))
                    events.append(shown)
                after = envelope.position
            if part.position == after and not part.envelopes:
                return FeedReply(events=events, position=core.positions.show(max(after, passed)))
            after = max(after, part.position)


async def _show(
    core: Core, opened: OpenProfile, request: FeedRequest, linked: Sequence[str], envelope: Envelope
) -> FeedEvent | None:
    category = envelope.data.category()
    if category not in request.kinds if request.kinds else category in QUIET:
        return None
    if request.contact and not await _concerns(core, opened, linked, envelope.data):
        return None
    return FeedEvent(
        position=core.positions.show(envelope.position),
        topic=envelope.topic,
        recorded_at=envelope.recorded_at,
        event_id=envelope.event_id,
        actor=envelope.actor.principal,
        actor_type=envelope.actor.type,
        data=msgspec.to_builtins(envelope.data.without_blob()),
    )


async def _concerns(core: Core, opened: OpenProfile, linked: Sequence[str], event: Event) -> bool:
    """Whether an event is about linked contacts: their memories, their conversations' messages, their links."""
    ledger = opened.views.ledger
    match event:
        case ContactSet():
            return event.contact in linked
        case ContactsLinked() | ContactsUnlinked():
            return event.first in linked or event.second in linked
        case MemoryRemembered():
            return event.scope in linked
        case MemoryRestored():
            return event.content.scope in linked
        case MessageRecorded() | MessageForgotten():
            conversation = await core.in_thread(lambda: ledger.conversation(event.session))
            return conversation is not None and conversation.contact in linked
    memory = getattr(event, "memory", "") or next(iter(getattr(event, "memories", ())), "")
    record = await core.in_thread(lambda: ledger.memory(memory)) if memory else None
    return record is not None and record.scope in linked

"""The feed: a profile's events after a position, as a long poll that the client repeats."""

from __future__ import annotations

import time
from functools import partial

import msgspec

from domain.envelope import Envelope
from domain.errors import DamagedError, InvalidInputError
from domain.events import ContactSet, Event, MemoryRemembered, MemoryRestored, MessageForgotten, MessageRecorded
from domain.grants import Reach
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


async def feed(core: Core, reach: Reach, profile: str, request: FeedRequest) -> FeedReply:
    """Return events after a position in log order, waiting up to ``wait`` seconds for the first one.

    The reply's position is where to ask next: it passes over what the filter leaves out.
    """
    after = _check(core, profile, request)
    deadline = time.monotonic() + min(request.wait, core.settings.limits.feed_wait_seconds)
    while True:
        reply = await _page(core, reach, profile, request, after)
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


async def _page(core: Core, reach: Reach, profile: str, request: FeedRequest, after: int) -> FeedReply:
    """Return the next events that pass the filter, reading on over what it leaves out."""
    events: list[FeedEvent] = []
    size, limit = 0, core.settings.limits.reply_bytes
    # What the reader has passed before the log is read is surely read, even when no event of it is ours.
    passed = core.reader.passed
    if not await core.known_profile(profile):
        return FeedReply(events=[], position=core.positions.show(max(after, passed)))
    async with core.profiles.use(profile) as opened:
        # Whose an event is, the ledger knows once it has applied it: what is beyond is for the next page.
        known = core.applied(opened) if reach.limited or request.contact else None
        while True:
            part = await core.events.read(after, _PAGE, profile)
            if request.contact and part.envelopes:
                # Whom an event is about is the ledger's to say: it must have seen what was read.
                await core.reader.wait_for(part.envelopes[-1].position, core.settings.wait_seconds)
            for envelope in part.envelopes:
                if known is not None and envelope.position > known:
                    return FeedReply(events=events, position=core.positions.show(after))
                shown = await _show(core, reach, opened, request, envelope)
                if shown is not None:
                    size += len(msgspec.json.encode(shown))
                    if events and (size > limit or len(events) == request.limit):
                        return FeedReply(events=events, position=core.positions.show(after))
                    events.append(shown)
                after = envelope.position
            if part.poison:
                if events:
                    return FeedReply(events=events, position=core.positions.show(after))
                raise DamagedError(
                    "the feed cannot go on past an event that cannot be read; to leave it out, go on from its position",
                    expected="a readable event",
                    found=part.poison[profile],
                )
            if part.position == after and not part.envelopes:
                return FeedReply(events=events, position=core.positions.show(max(after, passed)))
            after = max(after, part.position)


async def _show(
    core: Core, reach: Reach, opened: OpenProfile, request: FeedRequest, envelope: Envelope
) -> FeedEvent | None:
    category = envelope.data.category()
    if category not in request.kinds if request.kinds else category in QUIET:
        return None
    if reach.limited or request.contact:
        owner = await _owner(core, opened, envelope.data)
        if owner is None or not _allowed(reach, owner) or (request.contact and owner.contact != request.contact):
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


class _Owner(msgspec.Struct, frozen=True):
    """Whom an event is about: a contact (empty: nobody), as what was said or as what is remembered."""

    contact: str
    said: bool = False


def _allowed(reach: Reach, owner: _Owner) -> bool:
    return reach.hears(owner.contact) if owner.said else reach.sees(owner.contact)


async def _owner(core: Core, opened: OpenProfile, event: Event) -> _Owner | None:
    """Return whom a memory's or a conversation's event is about; None for an event of the whole profile."""
    ledger = opened.views.ledger
    match event:
        case ContactSet():
            return _Owner(event.contact, said=True)
        case MemoryRemembered():
            return _Owner(event.scope or "")
        case MemoryRestored():
            return _Owner(event.content.scope or "")
        case MessageRecorded() | MessageForgotten():
            conversation = await core.in_thread(lambda: ledger.conversation(event.session))
            return None if conversation is None else _Owner(conversation.contact, said=True)
    memory = getattr(event, "memory", "") or next(iter(getattr(event, "memories", ())), "")
    record = await core.in_thread(lambda: ledger.memory(memory)) if memory else None
    return None if record is None else _Owner(record.scope or "")

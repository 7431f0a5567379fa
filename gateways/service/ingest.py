"""Ingest: validate all, read heads in bulk, append only what is new, report each message.

Messages go straight to the log, one subject each; a repeated call finds its subjects taken and writes
nothing, for ever. A race that is lost is decided again from fresh heads.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Literal

import msgspec

from domain.conversation import Conversation
from domain.envelope import Envelope
from domain.errors import ConflictError, ErasedError
from domain.events import MessageForgotten, MessageRecorded
from domain.ids import base_message_id, keyed_id, numbered, originator_id
from domain.ingest import Incoming, Resolution, Seen, derive_session, resolve
from domain.kinds import conversation_scope
from gateways.service.aggregates import change, ensure_profile
from gateways.service.context import Caller, Core
from gateways.service.sessions import check_session
from gateways.service.tombstones import blocked
from gateways.service.turns import end_turns
from gateways.service.validate import check_ingest
from umbriel.types import IngestReply, IngestRequest, Message, MessageOutcome

__all__ = ["ingest"]

_ATTEMPTS = 8
_LOOK_AHEAD = 4
_PAUSE = 0.05


class _Planned(msgspec.Struct, frozen=True):
    """One message of the call with what was decided about it."""

    event: MessageRecorded
    resolution: Resolution


async def ingest(core: Core, caller: Caller, profile: str, request: IngestRequest) -> IngestReply:
    """Record the messages of one session that are new."""
    request = check_ingest(request, core.settings.limits)
    first = request.messages[0]
    session = request.session or derive_session(
        request.contact, request.channel, (first.role, first.content), first.id, first.at
    )
    await check_session(core, caller.reach, profile, session, request.contact)
    await ensure_profile(core, caller, profile)
    if await _erased(core, profile, session, request.contact):
        return await _blocked(core, session, request)
    attached = 0
    if request.contact:
        attached = await _attach_contact(core, caller, profile, session, request)
    outcomes = await _record(core, caller, profile, session, request)
    await end_turns(core, profile, session, request.messages)
    position = max(attached, *(outcome.position for outcome in outcomes))
    core.said[profile] = max(position, core.said.get(profile, 0))
    if request.wait:
        async with core.profiles.use(profile) as opened:
            await core.settle(opened, position, session=session)
    show = core.positions.show
    return IngestReply(
        session=session,
        outcomes=[MessageOutcome(id=o.id, outcome=o.outcome, position=show(o.position)) for o in outcomes],
        position=show(position),
    )


async def _erased(core: Core, profile: str, session: str, contact: str) -> bool:
    """Whether nothing more is recorded here: the session or whom it is with was erased."""
    if await blocked(core, profile, contacts=[contact] if contact else [], session=session):
        return True
    try:
        await core.events.keys.key(profile, conversation_scope(session))
    except ErasedError:
        return True
    return False


async def _blocked(core: Core, session: str, request: IngestRequest) -> IngestReply:
    position = core.positions.show(await core.events.log.last_position())
    bases = [base_message_id(session, one.role, one.content) for one in request.messages]
    named = [numbered(base, number) for base, number in zip(bases, _ordinals(request.messages, bases), strict=True)]
    outcomes = [MessageOutcome(id=one, outcome="blocked", position=position) for one in named]
    return IngestReply(session=session, outcomes=outcomes, position=position)


class _Outcome(msgspec.Struct, frozen=True):
    id: str
    outcome: Literal["recorded", "duplicate", "blocked"]
    position: int


async def _attach_contact(core: Core, caller: Caller, profile: str, session: str, request: IngestRequest) -> int:
    """Attach the session to the call's contact; returns the position of that, 0 when it was before."""
    aggregate_id = await core.events.subject_id(profile, Conversation.CATEGORY, session)

    def decide(conversation: Conversation) -> bool:
        # Again: somebody else may have attached it since.
        if conversation.contact:
            caller.reach.check_write(conversation.contact)
        return conversation.set_contact(session, request.contact, request.channel, caller.context())

    _, position = await change(core, Conversation, aggregate_id, decide)
    return position


async def _record(core: Core, caller: Caller, profile: str, session: str, request: IngestRequest) -> list[_Outcome]:
    secret = await core.events.secret(profile)
    for attempt in range(_ATTEMPTS):
        plan = await _plan(core, profile, secret, session, request)
        fresh = [one.event for one in plan if one.resolution.outcome == "recorded"]
        envelopes = [_envelope(caller, profile, secret, event) for event in fresh]
        try:
            positions = await core.events.append(envelopes, expected=0) if envelopes else []
        except ConflictError:
            # Another writer recorded one of these first; what it wrote is a duplicate now.
            if attempt == _ATTEMPTS - 1:
                raise
            # Bulk heads may come from a replica that lags behind the one that refused.
            await asyncio.sleep(_PAUSE * attempt)
            continue
        written = dict(zip((event.message for event in fresh), positions, strict=True))
        return [
            _Outcome(
                one.event.message,
                one.resolution.outcome,
                written.get(one.event.message, one.resolution.position),
            )
            for one in plan
        ]
    raise AssertionError("unreachable")


def _envelope(caller: Caller, profile: str, secret: bytes, event: MessageRecorded) -> Envelope:
    context = caller.context()
    return Envelope(
        originator_id=originator_id(profile, "message", keyed_id(secret, event.message)),
        originator_version=1,
        event_id=uuid.uuid4().hex,
        recorded_at=context.now,
        actor=context.actor,
        data=event,
        key_scope=conversation_scope(event.session),
    )


async def _plan(core: Core, profile: str, secret: bytes, session: str, request: IngestRequest) -> list[_Planned]:
    bases = [base_message_id(session, message.role, message.content) for message in request.messages]
    ordinals = _ordinals(request.messages, bases)
    wanted: dict[str, set[int]] = defaultdict(set)
    for base, ordinal in zip(bases, ordinals, strict=True):
        wanted[base].add(ordinal)
    seen = await _seen(core, profile, secret, wanted)
    plan = []
    for message, base, ordinal in zip(request.messages, bases, ordinals, strict=True):
        resolution = resolve(seen[base], Incoming(ordinal, message.id, message.at))
        number = resolution.occurrence
        if resolution.outcome == "recorded":
            seen[base] += [None] * (number - len(seen[base]))
            seen[base][number - 1] = Seen(message.id, message.at)
        event = MessageRecorded(
            message=numbered(base, number),
            session=session,
            role=message.role,
            content=message.content,
            occurrence=number,
            at=message.at.astimezone(UTC) if message.at else None,
            utc_offset=_minutes_east(message.at),
            name=message.name,
            caller_id=message.id,
            turn_id=message.turn_id,
            channel=request.channel,
            attachment=message.attachment,
        )
        plan.append(_Planned(event, resolution))
    return plan


def _minutes_east(at: datetime | None) -> int:
    """Return the offset of a clock that said so, which its UTC time no longer tells."""
    offset = at.utcoffset() if at else None
    return round(offset / timedelta(minutes=1)) if offset else 0


def _ordinals(messages: Sequence[Message], bases: Sequence[str]) -> list[int]:
    """Return each message's ordinal among its equals: as sent, else counted within this request."""
    counts: Counter[str] = Counter()
    named: dict[tuple[str, str], int] = {}
    ordinals = []
    for message, base in zip(messages, bases, strict=True):
        # One message that a call names twice by its id is one occurrence.
        known = named.get((base, message.id)) if message.id else None
        if known is None:
            counts[base] += 1
            known = named[base, message.id] = message.occurrence or counts[base]
        ordinals.append(known)
    return ordinals


async def _seen(
    core: Core, profile: str, secret: bytes, wanted: Mapping[str, set[int]]
) -> dict[str, list[Seen | None]]:
    """Return the occurrences in the log of each base id, by number; None where one was never recorded.

    Each round asks for the numbers wanted and, as long as they exist without a gap, for a few more.
    """
    found: dict[str, dict[int, Seen]] = defaultdict(dict)
    asking = {base: numbers | set(range(1, len(numbers) + 1)) for base, numbers in wanted.items()}
    while asking:
        asked = {
            originator_id(profile, "message", keyed_id(secret, numbered(base, number))): (base, number)
            for base, numbers in asking.items()
            for number in numbers
        }
        for originator, seen in (await _heads(core, list(asked))).items():
            base, number = asked[originator]
            found[base][number] = seen
        asking = {base: more for base in asking if (more := _beyond(asking[base], found[base]))}
    return {base: [found[base].get(n) for n in range(1, max(found[base], default=0) + 1)] for base in wanted}


def _beyond(asked: set[int], found: Mapping[int, Seen]) -> set[int]:
    """Return the next numbers to ask for, none once the run from 1 has ended within what was asked."""
    end = next(number for number in count(1) if number not in found)
    return set() if end in asked else set(range(end, end + len(asked) + _LOOK_AHEAD))


async def _heads(core: Core, originators: Sequence[str]) -> dict[str, Seen]:
    heads = await core.events.log.heads(originators)
    entries = list(heads.values())
    # Each by itself: one message that cannot be read says nothing about the others.
    parts = [await core.events.decode([entry], entry.position) for entry in entries]
    seen = {originator: Seen(forgotten=True, position=entry.position) for originator, entry in heads.items()}
    for envelope in (envelope for part in parts for envelope in part.envelopes):
        event = envelope.data
        if isinstance(event, MessageRecorded):
            seen[envelope.originator_id] = Seen(
                event.caller_id, event.at, forgotten=event.redacted, position=envelope.position
            )
        elif isinstance(event, MessageForgotten):
            seen[envelope.originator_id] = Seen(event.caller_id, event.at, forgotten=True, position=envelope.position)
    return seen

"""Ingest: validate all, read heads in bulk, append only what is new, report each message.

Messages go straight to the log, one subject each; a repeated call finds its subjects taken and writes
nothing, for ever. A race that is lost is decided again from fresh heads.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal

import msgspec

from domain.conversation import Conversation
from domain.envelope import Envelope
from domain.errors import ConflictError
from domain.events import MessageForgotten, MessageRecorded
from domain.ids import base_message_id, keyed_id, originator_id
from domain.ingest import Incoming, Resolution, Seen, derive_session, resolve
from domain.kinds import conversation_scope
from gateways.service.aggregates import change, ensure_profile
from gateways.service.context import Caller, Core
from gateways.service.sessions import check_session
from gateways.service.validate import check_ingest
from umbriel.types import IngestReply, IngestRequest, MessageOutcome

__all__ = ["ingest"]

_ATTEMPTS = 8
_LOOK_AHEAD = 4


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
    attached = 0
    if request.contact:
        attached = await _attach_contact(core, caller, profile, session, request)
    outcomes = await _record(core, caller, profile, session, request)
    position = max(attached, *(outcome.position for outcome in outcomes))
    if request.wait:
        async with core.profiles.use(profile) as opened:
            await core.wait_for(opened, position, "complete")
    show = core.positions.show
    return IngestReply(
        session=session,
        outcomes=[MessageOutcome(id=o.id, outcome=o.outcome, position=show(o.position)) for o in outcomes],
        position=show(position),
    )


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
    seen = await _seen(core, profile, secret, Counter(bases))
    ordinals: Counter[str] = Counter()
    counted: set[tuple[str, str]] = set()
    plan = []
    for message, base in zip(request.messages, bases, strict=True):
        # One message that a call names twice by its id is one occurrence.
        if not message.id or (base, message.id) not in counted:
            ordinals[base] += 1
            counted.add((base, message.id))
        incoming = Incoming(message.occurrence or ordinals[base], message.id, message.at)
        resolution = resolve(seen[base], incoming)
        if resolution.outcome == "recorded":
            seen[base].append(Seen(message.id, message.at))
        number = resolution.occurrence
        event = MessageRecorded(
            message=base if number == 1 else f"{base}.{number}",
            session=session,
            role=message.role,
            content=message.content,
            occurrence=number,
            at=message.at,
            name=message.name,
            caller_id=message.id,
            turn_id=message.turn_id,
            channel=request.channel,
        )
        plan.append(_Planned(event, resolution))
    return plan


async def _seen(core: Core, profile: str, secret: bytes, bases: Counter[str]) -> dict[str, list[Seen]]:
    """Return the occurrences in the log of each base id, first to last.

    Occurrences are numbered without gaps, so each round asks for a few more of those whose last asked
    occurrence exists.
    """
    seen: dict[str, list[Seen]] = defaultdict(list)
    open_bases = dict(bases)
    while open_bases:
        asked: dict[str, tuple[str, int]] = {}
        for base, count in open_bases.items():
            start = len(seen[base]) + 1
            for number in range(start, start + (count if start == 1 else count + _LOOK_AHEAD)):
                public = base if number == 1 else f"{base}.{number}"
                asked[originator_id(profile, "message", keyed_id(secret, public))] = (base, number)
        found = await _heads(core, list(asked))
        for originator, (base, number) in asked.items():
            if originator in found and number == len(seen[base]) + 1:
                seen[base].append(found[originator])
        full = {base for base in open_bases if _all_found(asked, found, base)}
        open_bases = {base: bases[base] for base in full}
    return seen


def _all_found(asked: dict[str, tuple[str, int]], found: dict[str, Seen], base: str) -> bool:
    return all(originator in found for originator, (of, _) in asked.items() if of == base)


async def _heads(core: Core, originators: Sequence[str]) -> dict[str, Seen]:
    heads = await core.events.log.heads(originators)
    entries = list(heads.values())
    part = await core.events.decode(entries, 0)
    seen = {originator: Seen(forgotten=True, position=entry.position) for originator, entry in heads.items()}
    for envelope in part.envelopes:
        event = envelope.data
        if isinstance(event, MessageRecorded):
            seen[envelope.originator_id] = Seen(event.caller_id, event.at, position=envelope.position)
        elif isinstance(event, MessageForgotten):
            seen[envelope.originator_id] = Seen(event.caller_id, event.at, forgotten=True, position=envelope.position)
    return seen

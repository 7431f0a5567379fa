"""The verbs that write memories: remember and forget."""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import UTC, datetime

from domain.addresses import address_of
from domain.envelope import Envelope
from domain.errors import ConflictError, InvalidInputError, NotFoundError
from domain.events import MemoryRemembered, MessageForgotten, MessageRecorded
from domain.ids import split_message_id
from domain.kinds import CONFIDENCE, conversation_scope, fold_kind
from domain.memory import Memory, Remembered, Version
from domain.suppression import FACT_TYPE, suppression_of
from domain.text import fold_content
from gateways.service.aggregates import change, ensure_profile, load, note_ended
from gateways.service.context import Caller, Core
from gateways.service.finding import aggregate_of, check_memory, find_by_id, find_by_key
from gateways.service.profiles import OpenProfile
from gateways.service.rejections import in_question, rejected_among, said_elsewhere, settle
from gateways.service.sessions import check_session
from gateways.service.show import show_version
from gateways.service.validate import check_forget, check_remember
from umbriel.types import ForgetRequest, RememberReply, RememberRequest, TouchedReply

__all__ = ["forget", "remember"]


async def remember(core: Core, caller: Caller, profile: str, request: RememberRequest) -> RememberReply:
    """State one explicit memory at its address."""
    request = check_remember(request, core.settings.limits)
    draft = _draft(request)
    if request.session:
        await check_session(core, caller.reach, profile, request.session, request.contact)
    await ensure_profile(core, caller, profile)
    aggregate_id = await core.events.subject_id(profile, Memory.CATEGORY, draft.address)
    async with core.profiles.use(profile) as opened:
        version, decided, position = await _decide(core, caller, opened, aggregate_id, draft)
    if not position:
        position = await core.events.log.last_position()
    if request.wait:
        async with core.profiles.use(profile) as opened:
            await core.settle(opened, position)
    return RememberReply(
        memory=show_version(version, position=core.positions.show(position)),
        outcome=decided.outcome,
        position=core.positions.show(position),
        superseded=decided.superseded,
    )


async def _decide(
    core: Core, caller: Caller, profile: OpenProfile, aggregate_id: str, draft: MemoryRemembered
) -> tuple[Version, Remembered, int]:
    """State the draft; what was said or rejected at other addresses is asked for only where the ledger knows of it."""
    await settle(core, profile)

    def plainly(memory: Memory) -> tuple[Version, Remembered] | None:
        if in_question(core, profile, draft, datetime.now(UTC)):
            return None
        return _stated(memory, draft, caller, rejected=False)

    done, position = await change(core, Memory, aggregate_id, plainly)
    if done is not None:
        return *done, position
    rejected = caller.type != "person" and bool(await rejected_among(core, profile, [draft.text], draft.scope))
    elsewhere = None if rejected else await said_elsewhere(core, profile, draft)
    if elsewhere is not None:
        return elsewhere, Remembered(elsewhere.written.memory, "duplicate"), 0
    stated, position = await change(
        core, Memory, aggregate_id, lambda one: _stated(one, draft, caller, rejected=rejected)
    )
    return *stated, position


def _stated(memory: Memory, draft: MemoryRemembered, caller: Caller, *, rejected: bool) -> tuple[Version, Remembered]:
    decided = memory.remember(draft, caller.context(), rejected=rejected)
    return memory.find(decided.memory), decided


def _draft(request: RememberRequest) -> MemoryRemembered:
    kind, fact_type = fold_kind(request.kind, request.fact_type)
    if fact_type == FACT_TYPE and suppression_of(request.content) is None:
        raise InvalidInputError(
            "a suppression says what not to speak of",
            expected="'Stay quiet about X' or 'Do not mention X to Y'",
            found=repr(request.content[:80]),
        )
    contact = request.contact or None
    address = address_of(
        kind,
        contact=contact,
        key=request.key,
        content=request.content,
        session=request.session,
        occurred_at=request.occurred_at,
    )
    return MemoryRemembered(
        memory="",
        address=address,
        version=0,
        kind=kind,
        fact_type=fact_type,
        text=request.content,
        folded=fold_content(request.content),
        source="explicit",
        confidence=CONFIDENCE["explicit"],
        scope=contact,
        key=request.key,
        session=request.session,
        occurred_at=request.occurred_at,
        valid_from=request.valid_from,
        valid_to=request.valid_to,
        expires_at=request.expires_at,
        metadata=request.metadata,
        request_id=request.request_id,
    )


async def forget(core: Core, caller: Caller, profile: str, request: ForgetRequest) -> TouchedReply:
    """Take a memory (every version at its address) or a message out of every view.

    With ``with_sources`` the messages that the memory rests on go too.
    """
    request = check_forget(request, core.settings.limits)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    async with core.profiles.use(profile) as opened:
        memory = await _find(core, opened, request)
        if memory is None:
            touched, position = await _forget_message(core, caller, opened, request.id, preview=request.preview)
        else:
            touched, position = await _forget_memory(core, caller, opened, memory, request)
    if not touched and not request.preview:
        position = await core.events.log.last_position()
    return TouchedReply(touched=touched, position=core.positions.show(position), preview=request.preview)


async def _find(core: Core, profile: OpenProfile, request: ForgetRequest) -> str | None:
    """Return the memory id that is meant, or None when the id is a message's."""
    if request.key:
        return await find_by_key(core, profile, request.key, request.contact)
    if "@" in request.id:
        return find_by_id(request.id)
    split_message_id(request.id)
    return None


async def _forget_memory(
    core: Core, caller: Caller, profile: OpenProfile, memory_id: str, request: ForgetRequest
) -> tuple[list[str], int]:
    aggregate_id = aggregate_of(profile, memory_id)
    memory = await load(core, Memory, aggregate_id)
    check_memory(caller.reach, memory, memory_id)
    sources = [source for version in memory.versions for source in version.written.sources]
    sources = list(dict.fromkeys(sources)) if request.with_sources else []
    for source in sources:
        caller.reach.check_write(await _contact_of(core, profile, source) if caller.reach.limited else None)
    if request.preview:
        standing = [v.written.memory for v in memory.versions if v.status != "forgotten"]
        return standing + sources, await core.events.log.last_position()
    touched, position = await change(
        core,
        Memory,
        aggregate_id,
        lambda one: one.forget(caller.context(), with_sources=request.with_sources, request_id=request.request_id),
    )
    gone = list(touched)
    for source in sources:
        with suppress(NotFoundError):  # a source that came from elsewhere has no message here
            more, at = await _forget_message(core, caller, profile, source, preview=False)
            gone += more
            position = max(position, at)
    return gone, position


async def _contact_of(core: Core, profile: OpenProfile, message: str) -> str:
    """Return the contact of a message's session as the log has it, empty without one."""
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    record = await core.in_thread(lambda: profile.views.ledger.message(message))
    return record.contact if record is not None else ""


async def _forget_message(
    core: Core, caller: Caller, profile: OpenProfile, message: str, *, preview: bool
) -> tuple[list[str], int]:
    subject = profile.subject("message", message)
    head = await core.events.log.head(subject)
    contact = await _contact_of(core, profile, message) if caller.reach.limited else None
    if head is None or not caller.reach.hears(contact):
        raise NotFoundError("no such message", expected="the id of a message", found=message)
    caller.reach.check_write(contact)
    recorded = (await core.events.decode([head], head.position)).envelopes
    if not recorded or not isinstance(recorded[0].data, MessageRecorded):
        return [], head.position
    if preview:
        return [message], head.position
    said = recorded[0].data
    context = caller.context()
    envelope = Envelope(
        originator_id=subject,
        originator_version=head.version + 1,
        event_id=uuid.uuid4().hex,
        recorded_at=context.now,
        actor=context.actor,
        data=MessageForgotten(message=message, session=said.session, caller_id=said.caller_id, at=said.at),
        key_scope=conversation_scope(said.session),
    )
    try:
        (position,) = await core.events.append([envelope], expected=head.position)
        note_ended(core, profile.name, position)
    except ConflictError:
        # Somebody else forgot it first, which the head tells now.
        return await _forget_message(core, caller, profile, message, preview=preview)
    return [message], position

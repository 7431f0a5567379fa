"""The verbs that write memories: remember and forget."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from domain.addresses import address_of
from domain.errors import InvalidInputError, NotFoundError
from domain.events import MemoryRemembered, MessageRecorded
from domain.ids import split_message_id
from domain.kinds import CONFIDENCE, fold_kind
from domain.memory import Memory, Remembered, Version
from domain.suppression import FACT_TYPE, suppression_of
from domain.text import fold_content
from gateways.service.aggregates import change, ensure_profile, load
from gateways.service.closing import with_lifetime
from gateways.service.context import Caller, Core
from gateways.service.finding import aggregate_of, check_memory, check_newest, find_by_id, find_by_key
from gateways.service.forgetting import Entailed, entailed_by, follow_up, forget_messages
from gateways.service.members import forget_with_members, members_of
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
        if draft.kind == "task":
            settings = await core.in_thread(opened.views.ledger.settings)
            draft = with_lifetime(draft, settings.tasks, datetime.now(UTC))
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

    What was drawn from a message goes with it, unless something else bears it out. With ``with_sources`` the messages
    that the memory rests on go too.
    """
    request = check_forget(request, core.settings.limits)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    # What a preview says is true of when it was asked for, at least.
    asked = await core.events.log.last_position() if request.preview else 0
    async with core.profiles.use(profile) as opened:
        memory = await _find(core, opened, request)
        if memory is None:
            done = await _forget_message(core, caller, opened, request.id, preview=request.preview)
        else:
            done = await _forget_memory(core, caller, opened, memory, request)
    position = done.position or asked or await core.events.log.last_position()
    return TouchedReply(
        touched=list(dict.fromkeys((*done.gone, *done.entailed.forgotten))),
        position=core.positions.show(position),
        preview=request.preview,
        kept=[one for one in done.entailed.revised if one not in done.gone],
    )


class _Touched(msgspec.Struct, frozen=True):
    """What was named, and what goes with it."""

    gone: list[str]
    entailed: Entailed
    position: int = 0


async def _find(core: Core, profile: OpenProfile, request: ForgetRequest) -> str | None:
    """Return the memory id that is meant, or None when the id is a message's."""
    if request.key:
        return await find_by_key(core, profile, request.key, request.contact)
    if "@" in request.id:
        return find_by_id(request.id)
    split_message_id(request.id)
    if request.expected:
        raise InvalidInputError("a message has no versions", expected="no expected", found=repr(request.expected[:80]))
    return None


async def _forget_memory(
    core: Core, caller: Caller, profile: OpenProfile, memory_id: str, request: ForgetRequest
) -> _Touched:
    aggregate_id = aggregate_of(profile, memory_id)
    memory = await load(core, Memory, aggregate_id)
    check_memory(caller.reach, memory, memory_id)
    sources = await _sources(core, profile, memory) if request.with_sources else []
    for source in sources:
        caller.reach.check_write(await _contact_of(core, profile, source) if caller.reach.limited else None)
    entailed = await entailed_by(core, profile, sources, caller.reach.sees) if sources else Entailed()
    check_newest(memory, request.expected, request.request_id)
    members = await members_of(core, profile, memory)
    if request.preview:
        standing = [v.written.memory for v in memory.versions if v.status != "forgotten"]
        return _Touched([*standing, *members, *sources], entailed)
    touched, position = await forget_with_members(core, caller, profile, (aggregate_id, members), request)
    gone = [*touched, *await forget_messages(core, profile, sources, caller.context())]
    if gone:
        position = max(position, await follow_up(core, profile))
    return _Touched(gone, entailed, position)


async def _sources(core: Core, profile: OpenProfile, memory: Memory) -> list[str]:
    """Return the messages here that the versions of a memory rest on, those that only said the same too."""
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    written = [source for version in memory.versions for source in version.written.sources]
    ledger = profile.views.ledger
    versions = [version.written.memory for version in memory.versions]

    def look() -> list[str]:
        grounds = [message for one in ledger.resting(versions) for ground in one.grounds for message in ground]
        known = ledger.messages(wanted := list(dict.fromkeys((*written, *grounds))))
        return [one for one in wanted if one in known and not known[one].forgotten]

    return await core.in_thread(look)


async def _contact_of(core: Core, profile: OpenProfile, message: str) -> str:
    """Return the contact of a message's session as the log has it, empty without one."""
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    record = await core.in_thread(lambda: profile.views.ledger.message(message))
    return record.contact if record is not None else ""


async def _forget_message(core: Core, caller: Caller, profile: OpenProfile, message: str, *, preview: bool) -> _Touched:
    head = await core.events.log.head(profile.subject("message", message))
    contact = await _contact_of(core, profile, message) if caller.reach.limited else None
    if head is None or not caller.reach.hears(contact):
        raise NotFoundError("no such message", expected="the id of a message", found=message)
    caller.reach.check_write(contact)
    recorded = (await core.events.decode([head], head.position)).envelopes
    if not recorded or not isinstance(recorded[0].data, MessageRecorded):
        # Forgotten before; what follows from that may still be under way.
        return _Touched([], Entailed(), 0 if preview else await follow_up(core, profile))
    entailed = await entailed_by(core, profile, [message], caller.reach.sees)
    if preview:
        return _Touched([message], entailed)
    gone = await forget_messages(core, profile, [message], caller.context())
    return _Touched(gone, entailed, await follow_up(core, profile))

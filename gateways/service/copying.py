"""Copies of memories in other profiles: the verb that makes one, and telling it what became of its original.

A copy and the note of it at the original are one append: no copy is made of what is being forgotten at that moment.
What is erased here is erased there: a copy has a key of its own.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from domain.addresses import address_of
from domain.copying import check_original, copied, follow_original, followed, receive_copy, still_saying
from domain.envelope import Actor
from domain.errors import ErasedError, InvalidInputError, NotFoundError
from domain.events import CopyFollowed, MemoryRemembered, Origin
from domain.ids import check_profile, split_memory_id
from domain.kernel import Context
from domain.kinds import CONFIDENCE
from domain.memory import Memory, Remembered, Version
from domain.resting import forget_versions
from domain.text import check_name
from gateways.service.aggregates import Loaded, change_many, ensure_profile, load
from gateways.service.context import Caller, Core
from gateways.service.finding import aggregate_of, find_by_id
from gateways.service.profiles import OpenProfile
from gateways.service.rejections import rejected_among, said_elsewhere
from gateways.service.show import show_version
from gateways.service.tombstones import blocked, erase_one
from projections.ledger import MemoryRecord, Untold
from umbriel.copies import CopyRequest
from umbriel.types import RememberReply

__all__ = ["copy", "tell_copies"]

_AT_ONCE = 100


async def copy(core: Core, caller: Caller, profile: str, request: CopyRequest) -> RememberReply:
    """Copy a live memory to another profile that the caller may write to, with its origin.

    The copy is the caller's statement there, under the same contact and key, and is trusted no more than the original.
    """
    one = find_by_id(request.id)
    target = check_profile(request.target)
    if request.request_id:
        check_name(request.request_id, field="request_id", max_chars=core.settings.limits.name_chars)
    if target == profile:
        raise InvalidInputError("a memory is copied to another profile", expected="another profile", found=target)
    there = caller.within(target)
    there.check_access("write")
    original = await _original(core, caller, profile, one)
    there.check_write(original.scope)
    await ensure_profile(core, caller, target)
    if original.scope and await blocked(core, target, contacts=[original.scope]):
        raise ErasedError("this contact was erased there", expected="one that is not", found="its tombstone")
    context = caller.context()
    source = await core.events.subject_id(profile, Memory.CATEGORY, original.address)
    draft = _draft(core, profile, await load(core, Memory, source), original, request, context)
    version, done, position = await _copy(core, caller, (profile, one, source), target, draft)
    shown = core.positions.show(position or await core.events.log.last_position())
    return RememberReply(
        memory=show_version(version, position=shown),
        outcome=done.outcome,
        position=shown,
        superseded=done.superseded,
    )


async def _original(core: Core, caller: Caller, profile: str, one: str) -> MemoryRecord:
    """Return the memory as the ledger of its profile has it; NotFoundError for one that is out of sight."""
    record = None
    if await core.known_profile(profile):
        await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
        async with core.profiles.use(profile) as opened:
            core.check_running(opened)
            record = await core.in_thread(lambda: opened.views.ledger.memory(one))
    if record is None or record.status == "forgotten" or not caller.reach.sees(record.scope):
        raise NotFoundError("no such memory", expected="the id of a memory", found=one)
    return record


def _draft(
    core: Core, profile: str, memory: Memory, record: MemoryRecord, request: CopyRequest, context: Context
) -> MemoryRemembered:
    written = check_original(memory, record.id, context)
    return msgspec.structs.replace(
        written,
        memory="",
        version=0,
        address=address_of(
            written.kind,
            contact=written.scope,
            key=written.key,
            content=written.text,
            occurred_at=written.occurred_at,
        ),
        source="copy",
        confidence=min(record.confidence, CONFIDENCE["copy"]),
        session="",
        sources=(),
        expires_at=record.expires_at,
        request_id=request.request_id,
        stated_at=None,
        extraction="",
        model="",
        origin=Origin(
            profile=profile,
            memory=record.id,
            position=core.positions.show(record.position),
            author=record.author,
            author_type=record.author_type,
        ),
    )


async def _copy(
    core: Core, caller: Caller, original: tuple[str, str, str], target: str, draft: MemoryRemembered
) -> tuple[Version, Remembered, int]:
    _, one, source = original
    subject = await core.events.subject_id(target, Memory.CATEGORY, draft.address)
    async with core.profiles.use(target) as opened:
        rejected = caller.type != "person" and bool(await rejected_among(core, opened, [draft.text], draft.scope))
        elsewhere = None if rejected else await said_elsewhere(core, opened, draft)
    if elsewhere is not None:
        return elsewhere, Remembered(elsewhere.written.memory, "duplicate"), 0

    def decide(loaded: Loaded) -> tuple[Version, Remembered]:
        context = caller.context()
        first, memory = loaded.get(Memory, source), loaded.get(Memory, subject)
        check_original(first, one, context)
        done = receive_copy(memory, draft, context, rejected=rejected)
        if done.outcome in {"remembered", "superseded"}:
            copied(first, one, target, done.memory, context)
        return memory.find(done.memory), done

    (version, done), position = await change_many(core, decide)
    return version, done, position


async def tell_copies(core: Core, profile: OpenProfile) -> int:
    """Tell copies what became of their originals in this profile; returns the last event's position, 0 for none."""
    ledger, last = core.profiles.current(profile).views.ledger, 0
    for one in await core.in_thread(lambda: ledger.untold(_AT_ONCE)):
        address, _ = split_memory_id(one.copy)
        there = await core.events.subject_id(one.profile, Memory.CATEGORY, address)
        last = max(last, await _tell(core, profile, one, there))
    return last


async def _tell(core: Core, profile: OpenProfile, one: Untold, there: str) -> int:
    # Whoever ended the original ended what was copied from it, whoever carries it out.
    actor = Actor(one.actor, one.actor_type)  # type: ignore[arg-type]
    context = Context(actor=actor, now=datetime.now(UTC), cause=one.memory)

    erased, how = one.how == "erased", "forgotten" if one.how == "erased" else one.how
    told = CopyFollowed(memory=one.memory, profile=one.profile, copy=one.copy, how=how, event=one.event)
    if erased and await _follows(core, there, one.copy):
        # Before it is told: done twice it is done once, and told first it might never be done.
        await erase_one(core, one.profile, "memory", one.copy, actor)

    def decide(loaded: Loaded) -> None:
        memory = loaded.get(Memory, there)
        original = loaded.get(Memory, aggregate_of(profile, one.memory))
        if not followed(original, told, context):
            return
        if any(version.written.memory == one.copy for version in memory.versions):
            if not erased or memory.find(one.copy).affirmed:
                follow_original(memory, one.copy, how, context)
            else:
                forget_versions(memory, still_saying(memory, one.copy), context)

    _, position = await change_many(core, decide)
    return position


async def _follows(core: Core, subject: str, copy: str) -> bool:
    """Whether a copy is there and nobody states it there as well."""
    memory = await load(core, Memory, subject)
    return any(one.written.memory == copy and not one.affirmed for one in memory.versions)

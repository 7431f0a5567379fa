"""The verbs that change or end one memory that exists: correct, retract, reject, restore, pin, unpin, expire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from domain.errors import NotFoundError
from domain.events import MemoryRemembered
from domain.kernel import Context
from domain.kinds import CONFIDENCE
from domain.memory import Memory
from domain.text import fold_content
from gateways.service.aggregates import change, load
from gateways.service.context import Caller, Core
from gateways.service.finding import aggregate_of, check_memory, check_newest, find_by_id, find_by_key
from gateways.service.profiles import OpenProfile
from gateways.service.rejections import note_settled, rejected_among
from gateways.service.validate import check_change, check_correct, check_expire
from umbriel.types import ChangeRequest, CorrectRequest, ExpireRequest, TouchedReply

__all__ = ["CHANGES", "correct", "end", "ending", "expire"]

#: a command on one version: the memory, the version's id, who and when, the request's id
Command = Callable[[Memory, str, Context, str], object]
Asked = ChangeRequest | CorrectRequest | ExpireRequest

CHANGES: dict[str, Command] = {
    "retract": lambda memory, one, context, request: memory.retract(one, context, request_id=request),
    "reject": lambda memory, one, context, request: memory.reject(one, context, request_id=request),
    "restore": lambda memory, one, context, request: memory.restore(one, context, request_id=request),
    "pin": lambda memory, one, context, _: memory.pin(one, context),
    "unpin": lambda memory, one, context, _: memory.unpin(one, context),
}


async def end(core: Core, caller: Caller, profile: str, verb: str, request: ChangeRequest) -> TouchedReply:
    """Carry out one of the verbs of ``CHANGES``."""
    request = check_change(verb, request, core.settings.limits)
    await _check_profile(core, profile)
    async with core.profiles.use(profile) as opened:
        memory_id = await _find(core, opened, request, ended=verb == "restore")
        return await _change(core, caller, opened, memory_id, request, CHANGES[verb])


def ending(verb: str) -> Callable[[Core, Caller, str, ChangeRequest], Awaitable[TouchedReply]]:
    """Return what carries out one of the verbs of ``CHANGES``."""

    async def run(core: Core, caller: Caller, profile: str, request: ChangeRequest) -> TouchedReply:
        return await end(core, caller, profile, verb, request)

    return run


async def expire(core: Core, caller: Caller, profile: str, request: ExpireRequest) -> TouchedReply:
    """Set or remove the time after which a version is no longer live."""
    request = check_expire(request, core.settings.limits)
    await _check_profile(core, profile)
    async with core.profiles.use(profile) as opened:
        memory_id = await _find(core, opened, request)
        return await _change(
            core,
            caller,
            opened,
            memory_id,
            request,
            lambda memory, one, context, _: memory.expire(one, request.at, context),
        )


async def correct(core: Core, caller: Caller, profile: str, request: CorrectRequest) -> TouchedReply:
    """Let a memory say something else as its next version, under the same address."""
    request = check_correct(request, core.settings.limits)
    await _check_profile(core, profile)
    async with core.profiles.use(profile) as opened:
        memory_id = await _find(core, opened, request)
        known = await load(core, Memory, aggregate_of(opened, memory_id))
        check_memory(caller.reach, known, memory_id)
        rejected = False
        if caller.type != "person":
            scope = known.find(memory_id).written.scope
            rejected = bool(await rejected_among(core, opened, [request.content], scope))
        left = ""

        def command(memory: Memory, one: str, context: Context, _: str) -> None:
            nonlocal left
            left = memory.correct(one, _corrected(memory, one, request, context), context, rejected=rejected).memory

        reply = await _change(core, caller, opened, memory_id, request, command)
    return msgspec.structs.replace(reply, memory=left)


def _corrected(memory: Memory, one: str, request: CorrectRequest, context: Context) -> MemoryRemembered:
    """Return what a correction states: the version as it was, in the words and times that are given."""
    version = memory.find(one)
    expires_at = version.expires_at if version.expires_at is None or version.expires_at > context.now else None
    return msgspec.structs.replace(
        version.written,
        text=request.content,
        folded=fold_content(request.content),
        source="explicit",
        confidence=CONFIDENCE["explicit"],
        sources=(),
        queries=(),
        valid_from=request.valid_from or version.written.valid_from,
        valid_to=request.valid_to or version.written.valid_to,
        expires_at=expires_at,
        request_id=request.request_id,
        stated_at=None,
        extraction="",
        model="",
    )


async def _check_profile(core: Core, profile: str) -> None:
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)


async def _find(core: Core, profile: OpenProfile, request: Asked, *, ended: bool = False) -> str:
    if request.key:
        return await find_by_key(core, profile, request.key, request.contact, ended=ended)
    return find_by_id(request.id)


async def _change(
    core: Core, caller: Caller, profile: OpenProfile, memory_id: str, request: Asked, command: Command
) -> TouchedReply:
    """Run a command, or in a preview only see what it would do; a refusal is the same in both."""

    def decide(memory: Memory) -> list[str]:
        check_memory(caller.reach, memory, memory_id)
        check_newest(memory, request.expected, request.request_id)
        command(memory, memory_id, caller.context(), request.request_id)
        about = (getattr(event.data, "memory", "") for event in memory.pending_events)
        return list(dict.fromkeys(one for one in about if one))

    aggregate_id, position = aggregate_of(profile, memory_id), 0
    if request.preview:
        touched = decide(await load(core, Memory, aggregate_id))
    else:
        touched, position = await change(core, Memory, aggregate_id, decide)
        note_settled(core, profile.name, position)
    position = position or await core.events.log.last_position()
    return TouchedReply(touched=touched, position=core.positions.show(position), preview=request.preview)

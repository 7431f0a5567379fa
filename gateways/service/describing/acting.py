"""What a verb does with memories that a description means: each by its id, parts through a version that says less."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Any

import msgspec

from domain.errors import InvalidInputError
from domain.events import MemoryForgotten, MemoryRemembered
from domain.memory import Memory
from domain.text import fold_content
from gateways.service.aggregates import change, load
from gateways.service.context import Caller, Core
from gateways.service.describing.identifiers import Identifier, find_identifiers, same
from gateways.service.describing.matching import Description, describe, fit
from gateways.service.describing.resolving import Target
from gateways.service.finding import aggregate_of, check_memory
from gateways.service.rejections import note_settled
from umbriel.changes import ForgetRequest, TouchedReply

__all__ = ["PARTLY", "ById", "act"]

#: carries out a verb for one request that names its memory by id
ById = Callable[[Core, Caller, str, Any], Awaitable[TouchedReply]]
#: verbs that can be about a part of what a memory says
PARTLY = frozenset({"forget", "retract", "correct"})


async def act(
    core: Core, caller: Caller, profile: str, verb: str, wanted: Description, target: Target, request: Any, run: ById
) -> TouchedReply:
    """Do with one memory what is asked, in a preview only say what would be touched."""
    if verb == "forget" and not target.stated.live:
        return await _forget_version(core, caller, profile, target, request)
    if verb == "correct":
        content = _corrected(wanted, target, request.content)
        return await run(core, caller, profile, _named(request, target.stated.id, content=content))
    if target.places and verb not in PARTLY:
        raise InvalidInputError(
            f"{verb} is about a whole memory, and this one says more",
            expected="correct or forget for a part of it",
            found=f"{target.stated.id} {target.stated.text[:80]!r}",
        )
    if target.places:
        return await _leave_out(core, caller, profile, target, request, forget=verb == "forget")
    return await run(core, caller, profile, _named(request, target.stated.id))


def _named(request: Any, memory: str, **changes: Any) -> Any:
    return msgspec.structs.replace(request, id=memory, key="", description="", all=False, **changes)


def _corrected(wanted: Description, target: Target, content: str) -> str:
    """Return what the memory says after the correction: a new identifier, part or text in the place of the old."""
    new = find_identifiers(content)
    if wanted.purges and len(new) == 1 and not content[: new[0].start].strip() and not content[new[0].end :].strip():
        return _exchanged(target.stated.text, [one.identifier for one in wanted.identifiers if one.identifier], content)
    compound = target.compound
    if compound is None or not target.places or _says_the_rest(target, content):
        return content
    first, *others = target.places
    return compound.without(others, {first: compound.instead(first, content)})


def _exchanged(text: str, old: Sequence[Identifier], new: str) -> str:
    for found in reversed(find_identifiers(text)):
        if any(same(one, found) for one in old):
            text = text[: found.start] + new.strip() + text[found.end :]
    return text


def _says_the_rest(target: Target, content: str) -> bool:
    """Whether a new text says also what is not corrected, and so replaces all of it."""
    rest = [one.text for one in target.compound.parts() if one.place not in target.places] if target.compound else []
    return all(fit(describe(one), content) is not None for one in rest)


async def _leave_out(
    core: Core, caller: Caller, profile: str, target: Target, request: Any, *, forget: bool
) -> TouchedReply:
    """Let a memory say what is left of it; forgotten is what says the rest, retracted stays in the history."""
    memory_id, left = target.stated.id, ""

    def decide(memory: Memory) -> list[str]:
        nonlocal left
        check_memory(caller.reach, memory, memory_id)
        context = caller.context()
        draft = _less(memory.find(memory_id).written, target.left, request.request_id)
        decided = memory.correct(memory_id, draft, context, rule="part")
        left = decided.memory
        if forget and decided.outcome == "superseded":
            before = {one.written.memory for one in memory.versions} - {left}
            memory.forget(context, only=before)
        about = [_about(event.data) for event in memory.pending_events]
        return list(dict.fromkeys(chain.from_iterable(about)))

    return await _changed(core, profile, target, decide, preview=request.preview, left=lambda: left)


def _about(event: object) -> Sequence[str]:
    if isinstance(event, MemoryForgotten):
        return event.memories
    return (str(getattr(event, "memory", "")),)


def _less(written: MemoryRemembered, text: str, request_id: str) -> MemoryRemembered:
    """Return a statement that says less, of the same source, trust and times."""
    return msgspec.structs.replace(written, text=text, folded=fold_content(text), queries=(), request_id=request_id)


async def _forget_version(
    core: Core, caller: Caller, profile: str, target: Target, request: ForgetRequest
) -> TouchedReply:
    """Forget one version that is not live, and leave the live one at its address."""

    def decide(memory: Memory) -> list[str]:
        check_memory(caller.reach, memory, target.stated.id)
        only = {target.stated.id}
        return list(memory.forget(caller.context(), only=only))

    return await _changed(core, profile, target, decide, preview=request.preview)


async def _changed(
    core: Core,
    profile: str,
    target: Target,
    decide: Callable[[Memory], list[str]],
    *,
    preview: bool,
    left: Callable[[], str] = lambda: "",
) -> TouchedReply:
    async with core.profiles.use(profile) as opened:
        aggregate_id, position = aggregate_of(opened, target.stated.id), 0
        if preview:
            touched = decide(await load(core, Memory, aggregate_id))
        else:
            touched, position = await change(core, Memory, aggregate_id, decide)
            note_settled(core, profile, position)
    position = position or await core.events.log.last_position()
    return TouchedReply(touched=touched, position=core.positions.show(position), preview=preview, memory=left())

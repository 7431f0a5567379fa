"""What a memory stands for goes with it: forgetting a consolidated statement reaches those that were merged into it."""

from __future__ import annotations

from collections.abc import Sequence

from domain.memory import Memory
from domain.resting import forget_version
from gateways.service.aggregates import Loaded, change_many
from gateways.service.context import Caller, Core
from gateways.service.finding import aggregate_of, check_newest
from gateways.service.profiles import OpenProfile
from umbriel.types import ForgetRequest

__all__ = ["forget_with_members", "members_of"]


async def members_of(core: Core, profile: OpenProfile, memory: Memory) -> list[str]:
    """Return the versions elsewhere that were consolidated into one of this memory's, and that nobody ended since."""
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    ledger, versions = core.profiles.current(profile).views.ledger, [one.written.memory for one in memory.versions]
    return await core.in_thread(lambda: [one for one in ledger.standing_for(versions) if one not in versions])


async def forget_with_members(
    core: Core, caller: Caller, profile: OpenProfile, what: tuple[str, Sequence[str]], request: ForgetRequest
) -> tuple[list[str], int]:
    """Forget every version of a memory, with its members, in one append; returns what was forgotten, and where."""
    aggregate_id, members = what

    def decide(loaded: Loaded) -> list[str]:
        context = caller.context()
        memory = loaded.get(Memory, aggregate_id)
        check_newest(memory, request.expected, request.request_id)
        gone = memory.forget(context, with_sources=request.with_sources, request_id=request.request_id)
        if not gone:
            return []
        also = [one for one in members if forget_version(loaded.get(Memory, aggregate_of(profile, one)), one, context)]
        return [*gone, *also]

    return await change_many(core, decide)

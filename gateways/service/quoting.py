"""What restates a memory ends with it: forgotten with what is forgotten, retracted with what holds no more."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.envelope import Actor
from domain.kernel import Context
from domain.memory import Memory
from domain.resting import forget_version
from gateways.service.aggregates import change
from gateways.service.context import Core
from gateways.service.finding import aggregate_of
from gateways.service.profiles import OpenProfile
from projections.ledger import Misquote

__all__ = ["end_misquotes"]

_AT_ONCE = 100


async def end_misquotes(core: Core, profile: OpenProfile) -> int:
    """End some of what restates what has ended; returns where that stands in the log, 0 when there was nothing."""
    ledger, last = core.profiles.current(profile).views.ledger, 0
    for one in await core.in_thread(lambda: ledger.misquotes(_AT_ONCE)):
        last = max(last, await _end(core, profile, one))
    return last


async def _end(core: Core, profile: OpenProfile, one: Misquote) -> int:
    # Who ended what it restates has ended this, whoever carries it out.
    actor = Actor(one.actor, one.actor_type)  # type: ignore[arg-type]
    context = Context(actor=actor, now=datetime.now(UTC))

    def decide(memory: Memory) -> bool:
        if one.how == "forgotten":
            return forget_version(memory, one.memory, context)
        return memory.retract(one.memory, context)

    _, position = await change(core, Memory, aggregate_of(profile, one.memory), decide)
    return position

"""Decay: the confidence of what nobody used for long falls, once a UTC day whatever runs, restarts or comes twice.

The day is part of the event, and the memory itself knows the last one: a second run finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from domain.envelope import Actor
from domain.kernel import Context
from domain.memory import Memory
from domain.settings import ProfileSettings
from gateways.service.aggregates import Loaded, change_many
from gateways.service.context import Core
from gateways.service.profiles import OpenProfile
from projections.ledger import MemoryRecord, Unused

__all__ = ["Decayed", "decay", "unused"]

_WORKER = Actor("decay", "service")
#: memories read, and decayed in one append
_AT_ONCE = 200


class Decayed(msgspec.Struct, frozen=True):
    """How many memories decayed, and the position of the last event (0: none did)."""

    count: int
    position: int


def unused(
    core: Core, profile: OpenProfile, settings: ProfileSettings, as_of: datetime
) -> Iterator[list[MemoryRecord]]:
    """Yield the memories that decay as of a time, as the ledger knows them; blocks.

    None where decay is off, or where nobody counts what is used: it would take everything for unused.
    """
    rule = settings.decay
    if not (rule.enabled and settings.access.counted):
        return
    wanted = Unused(as_of=as_of, days=rule.days, floor=rule.floor, spare_people=rule.spare_people)
    after = 0
    while True:
        found = core.profiles.current(profile).views.ledger.unused(wanted, after=after, limit=_AT_ONCE)
        if found:
            yield list(found)
            after = found[-1].position
        if len(found) < _AT_ONCE:
            return


async def decay(core: Core, profile: OpenProfile, settings: ProfileSettings, as_of: datetime) -> Decayed:
    """Let decay what is due as of a time."""
    count, position, pages = 0, 0, unused(core, profile, settings, as_of)
    while page := await core.in_thread(lambda: next(pages, None)):
        fallen, at = await _decay(core, profile, settings, as_of, page)
        count, position = count + fallen, max(position, at)
    return Decayed(count, position)


async def _decay(
    core: Core, profile: OpenProfile, settings: ProfileSettings, as_of: datetime, page: Sequence[MemoryRecord]
) -> tuple[int, int]:
    context = Context(actor=_WORKER, now=datetime.now(UTC))

    def decide(loaded: Loaded) -> int:
        memories = ((loaded.get(Memory, profile.subject(Memory.CATEGORY, one.address)), one.id) for one in page)
        return sum(memory.decay(id_, as_of, settings.decay, context) for memory, id_ in memories)

    return await change_many(core, decide)

"""Which event comes before another in its aggregate, for a page of the log."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gateways.jetstream.wire import Entry
from gateways.service.context import Core

__all__ = ["previous_ids"]


async def previous_ids(
    core: Core, profile: str, after: int, entries: Sequence[Entry], wanted: Collection[int]
) -> dict[int, str]:
    """Return, for the entries at the positions ``wanted``, the id of the readable event before each in its aggregate.

    Empty for the first one. ``entries`` are all of the profile that follow the position ``after``. Those whose key was
    destroyed do not count: nobody will have them.
    """
    later = {one.originator_id for one in entries if one.position in wanted and one.version > 1}
    before = await _before(core, profile, after, list(later))
    found: dict[int, str] = {}
    for entry in entries:
        if entry.position in wanted:
            found[entry.position] = before.get(entry.originator_id, "")
        if entry.originator_id in later and await _readable(core, profile, entry):
            before[entry.originator_id] = entry.event_id
    return found


async def _before(core: Core, profile: str, after: int, originators: Sequence[str]) -> dict[str, str]:
    """Return the last readable event of each aggregate at or below a position."""
    heads = await core.events.log.heads_at(originators, after)
    before: dict[str, str] = {}
    for originator, head in heads.items():
        chain = [head]
        if not await _readable(core, profile, head):
            chain = [one for one in await core.events.log.events(originator) if one.position <= after]
        for entry in reversed(chain):
            if await _readable(core, profile, entry):
                before[originator] = entry.event_id
                break
    return before


async def _readable(core: Core, profile: str, entry: Entry) -> bool:
    return not entry.key_id or await core.events.keys.by_id(profile, entry.key_id) is not None

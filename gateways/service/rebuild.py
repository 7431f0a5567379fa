"""Rebuild: a new generation of a profile's views, made from the log beside the served one, then switched.

No model runs: vectors are events. The old generation answers until the new one has reached its position;
the switch happens under the profile's lock.
"""

from __future__ import annotations

import asyncio
import time

import structlog

from domain.errors import InvalidInputError, NotFoundError
from domain.ids import check_profile
from gateways.service.context import Core
from projections.generations import VIEWS, ViewSet, next_generation
from umbriel.types import RebuildReply, RebuildRequest

__all__ = ["rebuild"]

_log = structlog.get_logger(__name__)


async def rebuild(core: Core, profile: str, request: RebuildRequest) -> RebuildReply:
    """Rebuild every view of a profile from the log and serve the result.

    The views share one generation: rebuilt together, they are at the same position by construction.
    """
    check_profile(profile)
    unknown = set(request.views) - set(VIEWS)
    if unknown:
        raise InvalidInputError("unknown view", expected=", ".join(VIEWS), found=", ".join(sorted(unknown)))
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    started = time.monotonic()
    async with core.profiles.rebuild_turn(profile):
        views, generation, events = await _replaced(core, profile)
    core.worker.wake(profile)
    _log.info("rebuilt", profile=profile, generation=generation, events=events)
    return RebuildReply(
        generation=generation,
        events=events,
        seconds=round(time.monotonic() - started, 3),
        position=core.positions.show(views.position),
        verified=not views.stopped,
    )


async def _replaced(core: Core, profile: str) -> tuple[ViewSet, str, int]:
    opened = await core.profiles.detached(profile)
    generation = next_generation(opened.root)
    fresh = dict.fromkeys(VIEWS, generation)
    views = await asyncio.to_thread(ViewSet, opened.root, fresh, opened.indexing)
    try:
        events = await core.profiles.catch_up(opened, views)
        await asyncio.to_thread(views.keywords.optimize)
        events += await core.profiles.replace(profile, views, fresh)
    except BaseException:
        await asyncio.to_thread(views.close)
        raise
    return views, generation, events

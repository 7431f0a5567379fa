"""Status and profiles: positions, what is outstanding, what it costs, and what there is."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Literal

import msgspec

from domain.errors import NotFoundError
from domain.ids import check_profile
from gateways.service.context import Core, counts_of
from gateways.service.profiles import OpenProfile
from projections.directory import ProfileCounts
from projections.generations import View
from umbriel.types import ProfileInfo, ProfilesReply, StatusReply, ViewStatus, WorkItem

__all__ = ["SERVICE", "profiles", "status"]

#: The profile part of a request that is about the service itself.
SERVICE = "_"
#: Pieces of work listed of each state and profile, and in one reply; counts say how many there are.
_LISTED = 20
_LISTED_IN_ALL = 200


async def status(core: Core, profile: str) -> StatusReply:
    """Return one profile's positions and work, or with profile ``_`` the whole service's."""
    if profile == SERVICE:
        return await _service_status(core)
    check_profile(profile)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    async with core.profiles.use(profile) as opened:
        return await _profile_status(core, opened)


async def _service_status(core: Core) -> StatusReply:
    """What the closed profiles hold is known from when they were closed: nothing is opened for this."""
    base, opened = await _base(core), core.profiles.opened()
    complete = await core.in_thread(lambda: min(map(core.complete, opened), default=core.reader.passed))
    counts = await core.in_thread(core.directory.counts)
    counts.update(await core.in_thread(lambda: {one.name: counts_of(one) for one in opened}))
    work = [item for one in opened for item in await _work(core, one, counts[one.name])]
    return msgspec.structs.replace(
        base,
        complete=core.positions.show(min(complete, core.reader.passed)),
        pending=sum(one.pending for one in counts.values()),
        failed=sum(one.failed for one in counts.values()),
        profiles=len(await core.in_thread(core.directory.profiles)),
        views_bytes=sum(one.bytes for one in counts.values()),
        resident_bytes=sum(one.views.vectors.resident_bytes for one in opened),
        work=work[:_LISTED_IN_ALL],
    )


async def _profile_status(core: Core, opened: OpenProfile) -> StatusReply:
    show, views = core.positions.show, opened.views
    base, counts = await _base(core), await core.in_thread(lambda: counts_of(opened))
    resident = views.vectors.resident_bytes
    return msgspec.structs.replace(
        base,
        applied=show(core.applied(opened)),
        complete=show(core.complete(opened)),
        pending=counts.pending,
        failed=counts.failed,
        views=[
            ViewStatus(
                view=name,
                generation=views.generations[name],
                position=show(view.position if name in views.stopped else core.reader.passed),
                items=view.count,
                bytes=view.bytes_on_disk,
                stopped=views.stopped.get(name, ""),
                resident=resident if name == "vectors" else 0,
            )
            for name, view in (("ledger", views.ledger), ("vectors", views.vectors), ("keywords", views.keywords))
        ],
        profiles=1,
        views_bytes=counts.bytes,
        resident_bytes=resident,
        work=await _work(core, opened, counts),
    )


async def _base(core: Core) -> StatusReply:
    """What is true of the service, whichever profile is asked for."""
    show, passed, size = core.positions.show, core.reader.passed, await core.events.log.size()
    return StatusReply(
        version=version("umbriel-server"),
        log_position=show(size.last_seq),
        applied=show(passed),
        complete=show(passed),
        pending=0,
        failed=0,
        open_profiles=len(core.profiles.opened()),
        uptime_seconds=round(time.monotonic() - core.started, 3),
        lag_events=max(0, size.last_seq - passed),
        lag_seconds=await _lag_seconds(core, passed, size.last_seq),
        log_events=size.messages,
        log_bytes=size.bytes,
        committed_at=core.reader.committed_at,
        commit_seconds=round(core.reader.commit_seconds, 6),
    )


async def _lag_seconds(core: Core, passed: int, last: int) -> float:
    if passed >= last:
        return 0.0
    waiting = await core.events.log.read(passed, 1)
    return round(max(0.0, (datetime.now(UTC) - waiting[0].recorded_at).total_seconds()), 3) if waiting else 0.0


async def _work(core: Core, opened: OpenProfile, counts: ProfileCounts) -> list[WorkItem]:
    """List a profile's outstanding work: stopped views first, then what failed, then what waits."""
    show, views = core.positions.show, opened.views
    running: dict[str, View] = {"ledger": views.ledger, "vectors": views.vectors, "keywords": views.keywords}
    items = [
        WorkItem(profile=opened.name, state="stopped", work=name, position=show(running[name].position), reason=reason)
        for name, reason in views.stopped.items()
    ]
    asked: list[tuple[Literal["failed", "pending"], int]] = [("failed", counts.failed), ("pending", counts.pending)]
    for state, count in asked:
        found = await core.in_thread(partial(views.ledger.pending_embeddings, _LISTED, state=state)) if count else []
        items += [
            WorkItem(
                profile=opened.name,
                state=state,
                work=f"embedding {one.embedding}",
                position=show(one.position),
                reason=one.reason,
            )
            for one in found
        ]
    given_up = await core.in_thread(lambda: core.directory.failed_work(opened.name))
    items += [
        WorkItem(profile=opened.name, state="failed", work=one.work, position="", reason=one.reason)
        for one in given_up[:_LISTED]
    ]
    return items


async def profiles(core: Core) -> ProfilesReply:
    """Return every profile with what it holds; closed ones are not opened for it."""
    records, counts = await core.in_thread(lambda: (core.directory.profiles(), core.directory.counts()))
    opened = core.profiles.opened()
    counts.update(await core.in_thread(lambda: {one.name: counts_of(one) for one in opened}))
    names = {one.name for one in opened}
    return ProfilesReply(
        profiles=[
            ProfileInfo(
                name=record.name,
                created_at=record.created_at,
                open=record.name in names,
                **msgspec.structs.asdict(counts.get(record.name, ProfileCounts())),
            )
            for record in records
        ]
    )

"""Status and profiles: positions, what is outstanding, what it costs, and what there is."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Literal

import msgspec

from domain.errors import NotFoundError, UnavailableError
from domain.ids import check_profile
from gateways.service.context import Caller, Core, counts_of
from gateways.service.forwarding_status import forwarding_status
from gateways.service.import_status import import_status
from gateways.service.pass_status import pass_status, passes_of
from gateways.service.profiles import OpenProfile
from gateways.service.rebuild import rebuild_status
from gateways.service.usage_status import usage_of
from projections.directory import ProfileCounts
from projections.generations import View
from projections.ledger import ThinkingCounts, UsageRecord
from umbriel.erasure import DeletedProfile
from umbriel.types import ProfileInfo, ProfilesReply, StatusReply, ViewStatus, WorkItem

__all__ = ["SERVICE", "profiles", "status"]

#: The profile part of a request that is about the service itself.
SERVICE = "_"
#: Pieces of work listed of each state and profile, and in one reply; counts say how many there are.
_LISTED = 20
_LISTED_IN_ALL = 200


async def status(core: Core, caller: Caller, profile: str, *, refused: int = 0, invalid: int = 0) -> StatusReply:
    """Return one profile's positions and work, or with profile ``_`` the whole service's."""
    if profile == SERVICE:
        return await _service_status(core, caller, refused, invalid)
    check_profile(profile)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    async with core.profiles.use(profile) as opened:
        return await _profile_status(core, opened)


async def _service_status(core: Core, caller: Caller, refused: int, invalid: int) -> StatusReply:
    """Return positions of the log, and what is outstanding in the profiles that the caller reads whole.

    What the closed profiles hold is known from when they were closed: nothing is opened for this.
    """
    base = await _base(core)
    counts, opened = await _counts(core, caller)
    complete = [core.reader.passed, *[one.complete for one in opened.values()]]
    work = [item for one in opened.values() for item in one.work]
    records = [one for one in await core.in_thread(core.directory.profiles) if _is_granted(caller, one.name)]
    return msgspec.structs.replace(
        base,
        complete=core.positions.show(min(complete)),
        pending=sum(one.pending for one in counts.values()),
        failed=sum(one.failed for one in counts.values()),
        profiles=len(records),
        views_bytes=sum(one.bytes for one in counts.values()),
        resident_bytes=sum(one.resident for one in opened.values()),
        work=work[:_LISTED_IN_ALL],
        unread=sum(one.thinking.unread for one in opened.values()),
        unjudged=sum(one.thinking.unjudged for one in opened.values()),
        unreadable=sum(one.thinking.failed for one in opened.values()),
        refused=refused if caller.reach.admin else 0,
        invalid=invalid if caller.reach.admin else 0,
        passes=await core.in_thread(lambda: pass_status(core, records)),
        usage=usage_of(record for one in opened.values() for record in one.usage),
        backup=await core.backups.status() if core.backups is not None and caller.reach.admin else None,
    )


class _Open(msgspec.Struct, frozen=True):
    """What an open profile says of itself."""

    counts: ProfileCounts
    complete: int
    resident: int
    work: list[WorkItem]
    thinking: ThinkingCounts
    usage: list[UsageRecord]


async def _counts(core: Core, caller: Caller) -> tuple[dict[str, ProfileCounts], dict[str, _Open]]:
    """Return what every profile holds that the caller reads whole, and more of those that are open."""
    kept = await core.in_thread(core.directory.counts)
    opened: dict[str, _Open] = {}
    for one in core.profiles.opened():
        if caller.within(one.name).limited:
            continue
        # Closed for having been idle since the list was made, what was kept of it is right.
        with suppress(UnavailableError):
            opened[one.name] = await core.in_thread(partial(_look, core, one))
    counts = {name: held for name, held in kept.items() if not caller.within(name).limited}
    return counts | {name: one.counts for name, one in opened.items()}, opened


def _look(core: Core, opened: OpenProfile) -> _Open:
    counts = counts_of(opened)
    work, resident = _work(core, opened, counts), opened.views.vectors.resident_bytes
    return _Open(counts, core.complete(opened), resident, work, _thinking(opened), opened.views.ledger.usage())


def _thinking(opened: OpenProfile) -> ThinkingCounts:
    """Return what is still to be thought about in a profile, without what its settings say is not."""
    ledger, settings = opened.views.ledger, opened.views.ledger.settings()
    counts = ledger.thinking(now=datetime.now(UTC))
    return msgspec.structs.replace(
        counts,
        unread=counts.unread if settings.extraction.enabled else 0,
        unjudged=counts.unjudged if settings.verifier.enabled else 0,
    )


async def _profile_status(core: Core, opened: OpenProfile) -> StatusReply:
    show, views = core.positions.show, opened.views
    base, counts = await _base(core), await core.in_thread(lambda: counts_of(opened))
    resident, thinking = views.vectors.resident_bytes, await core.in_thread(lambda: _thinking(opened))
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
                outdated=views.outdated.get(name, ""),
            )
            for name, view in (("ledger", views.ledger), ("vectors", views.vectors), ("keywords", views.keywords))
        ],
        profiles=1,
        views_bytes=counts.bytes,
        resident_bytes=resident,
        work=await core.in_thread(lambda: _work(core, opened, counts)),
        rebuild=await rebuild_status(core, opened.name),
        unread=thinking.unread,
        unjudged=thinking.unjudged,
        unreadable=thinking.failed,
        forwarding=await core.in_thread(lambda: forwarding_status(core, opened)),
        passes=await core.in_thread(lambda: passes_of(core, opened)),
        usage=usage_of(await core.in_thread(views.ledger.usage)),
        importing=await import_status(core, opened),
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
        halted=core.events.log.halted,
        committed_at=core.reader.committed_at,
        commit_seconds=round(core.reader.commit_seconds, 6),
        instance=core.shares.name,
        partitions=len(core.shares.held),
    )


async def _lag_seconds(core: Core, passed: int, last: int) -> float:
    if passed >= last:
        return 0.0
    waiting = await core.events.log.read(passed, 1)
    return round(max(0.0, (datetime.now(UTC) - waiting[0].recorded_at).total_seconds()), 3) if waiting else 0.0


def _work(core: Core, opened: OpenProfile, counts: ProfileCounts) -> list[WorkItem]:
    """List a profile's outstanding work: stopped views first, then what failed, then what waits."""
    show, views = core.positions.show, opened.views
    running: dict[str, View] = {"ledger": views.ledger, "vectors": views.vectors, "keywords": views.keywords}
    items = [
        WorkItem(profile=opened.name, state="stopped", work=name, position=show(running[name].position), reason=reason)
        for name, reason in list(views.stopped.items())
    ]
    asked: list[tuple[Literal["failed", "pending"], int]] = [("failed", counts.failed), ("pending", counts.pending)]
    for state, count in asked:
        items += [
            WorkItem(
                profile=opened.name,
                state=state,
                work=f"embedding {one.embedding}",
                position=show(one.position),
                reason=one.reason,
            )
            for one in (views.ledger.pending_embeddings(_LISTED, state=state) if count else [])
        ]
    items += [
        WorkItem(
            profile=opened.name,
            state="failed",
            work=f"extraction {one.id}",
            position=show(one.position),
            reason=one.reason,
        )
        for one in views.ledger.failed_extractions(_LISTED)
    ]
    return items


def _is_granted(caller: Caller, profile: str) -> bool:
    reads = caller.within(profile).reads
    return reads is None or bool(reads)


async def profiles(core: Core, caller: Caller, *, deleted: bool = False) -> ProfilesReply:
    """Return every profile the caller may read, with what it holds where the grant is for all contacts.

    Closed profiles are not opened for it. With ``deleted`` those that are no more are named as well.
    """
    gone = await core.in_thread(core.directory.deleted_profiles) if deleted else []
    records = [one for one in await core.in_thread(core.directory.profiles) if _is_granted(caller, one.name)]
    counts, opened = await _counts(core, caller)
    return ProfilesReply(
        profiles=[
            ProfileInfo(
                name=record.name,
                created_at=record.created_at,
                open=record.name in opened,
                **msgspec.structs.asdict(counts.get(record.name, ProfileCounts())),
            )
            for record in records
        ],
        deleted=[
            DeletedProfile(name=one.name, at=one.at, by=one.actor, lifted=one.lifted)
            for one in gone
            if _is_granted(caller, one.name)
        ],
    )

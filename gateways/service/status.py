"""Status and profiles: positions, what is outstanding, and what there is."""

from __future__ import annotations

from importlib.metadata import version

from domain.errors import NotFoundError, UnavailableError
from domain.ids import check_profile
from gateways.service.context import Caller, Core
from gateways.service.profiles import OpenProfile
from gateways.service.rebuild import rebuild_status
from umbriel.types import ProfileInfo, ProfilesReply, StatusReply, ViewStatus

__all__ = ["SERVICE", "profiles", "status"]

#: The profile part of a request that is about the service itself.
SERVICE = "_"


async def status(core: Core, caller: Caller, profile: str, *, refused: int = 0) -> StatusReply:
    """Return one profile's positions and work, or with profile ``_`` the whole service's."""
    if profile == SERVICE:
        return await _service_status(core, caller, refused)
    check_profile(profile)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    async with core.profiles.use(profile) as opened:
        return await _profile_status(core, opened)


async def _service_status(core: Core, caller: Caller, refused: int) -> StatusReply:
    """Return positions of the log, and what is outstanding in the profiles that the caller reads whole."""
    show, passed = core.positions.show, core.reader.passed
    complete, pending, failed = passed, 0, 0
    for opened in core.profiles.opened():
        if caller.within(opened.name).limited:
            continue
        try:
            counts = await core.in_thread(opened.views.ledger.counts)
            complete = min(complete, core.complete(opened))
        except UnavailableError:
            continue  # closed for having been idle, since the list was made
        pending += counts.pending
        failed += counts.failed
    return StatusReply(
        version=version("umbriel-server"),
        log_position=show(await core.events.log.last_position()),
        applied=show(passed),
        complete=show(complete),
        pending=pending,
        failed=failed,
        profiles=sum(_is_granted(caller, one.name) for one in await core.in_thread(core.directory.profiles)),
        refused=refused if caller.reach.admin else 0,
    )


async def _profile_status(core: Core, opened: OpenProfile) -> StatusReply:
    show, views = core.positions.show, opened.views
    counts = await core.in_thread(views.ledger.counts)
    return StatusReply(
        version=version("umbriel-server"),
        log_position=show(await core.events.log.last_position()),
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
                outdated=views.outdated.get(name, ""),
            )
            for name, view in (("ledger", views.ledger), ("vectors", views.vectors), ("keywords", views.keywords))
        ],
        profiles=1,
        rebuild=await rebuild_status(core, opened.name),
    )


def _is_granted(caller: Caller, profile: str) -> bool:
    reads = caller.within(profile).reads
    return reads is None or bool(reads)


async def profiles(core: Core, caller: Caller) -> ProfilesReply:
    """Return every profile the caller may read, with what it holds where the grant is for all contacts."""
    infos = []
    for record in await core.in_thread(core.directory.profiles):
        if not _is_granted(caller, record.name):
            continue
        if caller.within(record.name).limited:
            infos.append(ProfileInfo(name=record.name, created_at=record.created_at))
            continue
        async with core.profiles.use(record.name) as opened:
            counts = await core.in_thread(opened.views.ledger.counts)
        infos.append(
            ProfileInfo(
                name=record.name, created_at=record.created_at, messages=counts.messages, memories=counts.memories
            )
        )
    return ProfilesReply(profiles=infos)

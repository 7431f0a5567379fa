"""The verb ``rebuild``: start, watch, pause, resume, cancel a rebuild of a profile's views, or roll one back."""

from __future__ import annotations

from domain.errors import DamagedError, InvalidInputError, NotFoundError
from domain.ids import check_profile
from gateways.service.context import Core
from gateways.service.rebuild_job import Job
from projections.generations import VIEWS
from umbriel.types import RebuildReply, RebuildRequest

__all__ = ["rebuild", "rebuild_status"]


async def rebuild(core: Core, profile: str, request: RebuildRequest) -> RebuildReply:
    """Carry out one action on a profile's rebuild; a start or rollback that waits fails when the rebuild does."""
    check_profile(profile)
    unknown = set(request.views) - set(VIEWS)
    if unknown:
        raise InvalidInputError("unknown view", expected=", ".join(VIEWS), found=", ".join(sorted(unknown)))
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    jobs = core.rebuilds
    match request.action:
        case "status":
            return await rebuild_status(core, profile) or _none(core, profile)
        case "pause":
            return await _reply(core, profile, await jobs.pause(profile))
        case "cancel":
            return await _reply(core, profile, await jobs.cancel(profile))
        case "resume":
            job = await jobs.resume(profile)
        case "rollback":
            job = await jobs.rollback(profile)
        case _:
            views = await _views(core, profile, request)
            job = await jobs.start(profile, views, "asked for", patient=request.wait)
    if request.wait:
        await job.ended.wait()
        if job.state == "failed":
            raise DamagedError("the rebuild failed; the present generation serves on", found=job.error)
    return await _reply(core, profile, job)


def _none(core: Core, profile: str) -> RebuildReply:
    return RebuildReply(generation="", events=0, seconds=0.0, position=core.positions.show(0), profile=profile)


async def _views(core: Core, profile: str, request: RebuildRequest) -> list[str]:
    """Return the views to make: what no longer fits the model is made together, or two models would meet."""
    wanted = set(request.views or VIEWS)
    opened = next((one for one in core.profiles.opened() if one.name == profile), None)
    if opened is not None and "ledger" in opened.views.outdated:
        wanted |= set(opened.views.outdated)
    return sorted(wanted)


async def rebuild_status(core: Core, profile: str) -> RebuildReply | None:
    """Return how the last rebuild of a profile stands, None when there was none."""
    job = await core.rebuilds.job(profile)
    return None if job is None else await _reply(core, profile, job)


async def _reply(core: Core, profile: str, job: Job) -> RebuildReply:
    plan = job.plan
    kept = await core.rebuilds.kept(profile)
    return RebuildReply(
        generation=max(plan.generations[view] for view in plan.views),
        events=job.done,
        seconds=round(job.elapsed, 3),
        position=core.positions.show(job.position),
        verified=job.state == "switched",
        job=plan.id,
        profile=profile,
        state=job.state,
        views=list(plan.views),
        reason=plan.reason,
        total=job.total,
        rate=round(job.rate, 1),
        eta=round(job.eta, 1),
        error=job.error,
        kept=kept or {},
    )

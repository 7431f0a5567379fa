"""Rebuilds as background jobs: a new generation is made beside the served one, verified, then switched to.

A job is its plan on disk (``rebuild.json``) and the position of the generation it makes, so that it goes on where it
was after a pause, a restart or a crash. No model runs, since vectors are events, unless the model itself changed:
then what has no vectors of the new one yet is embedded on the way, and those vectors are events again.
"""

from __future__ import annotations

import asyncio
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Literal

import msgspec
import structlog

from domain.errors import ConflictError, DamagedError, NotFoundError, UmbrielError, UnavailableError
from domain.ports import Embedder
from gateways.service.embedding import EmbeddingWorker
from gateways.service.events import EventReader
from gateways.service.profiles import OpenProfile, Profiles
from gateways.service.rebuild_job import AFRESH, ROLLBACK, Job, Stopped
from projections.building import Building
from projections.followed import stale_generations
from projections.generations import (
    VIEWS,
    Plan,
    ViewSet,
    current_generations,
    load_plan,
    next_generation,
    previous_generations,
    prune,
    store_plan,
)
from projections.verification import verify

__all__ = ["Rebuilds"]

#: events read and applied at once; a crash loses at most these
_BATCH = 2_000
_EMBED_BATCH = 64
_RETRY_SECONDS = 1.0
_POLL_SECONDS = 0.2
#: what two views must be remade together for
_OF_MODEL = ("ledger", "vectors")

_log = structlog.get_logger(__name__)


class Rebuilds:
    """The rebuilds of this instance: at most one a profile, and one at work at a time."""

    def __init__(self, events: EventReader, profiles: Profiles, worker: EmbeddingWorker, embedder: Embedder) -> None:
        self._events = events
        self._profiles = profiles
        self._worker = worker
        self._embedder = embedder
        self._jobs: dict[str, Job] = {}
        self._turn = asyncio.Semaphore(1)
        self._starts: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        #: told of a profile that is served from other views now
        self.switched: list[Callable[[str], None]] = []
        profiles.outdated = self._outdated

    @property
    def idle(self) -> bool:
        """Whether no rebuild is at work."""
        return not any(job.active for job in self._jobs.values())

    # -- what may be asked ----------------------------------------------------------------------

    async def job(self, profile: str) -> Job | None:
        """Return the last rebuild of a profile, also one of an earlier run of the service."""
        if profile not in self._jobs:
            plan = await asyncio.to_thread(load_plan, (await self._profiles.detached(profile)).root)
            if plan is None:
                return None
            self._jobs.setdefault(profile, Job(plan))
        return self._jobs[profile]

    async def kept(self, profile: str) -> dict[str, str] | None:
        """Return the generations that a rollback would serve, or None."""
        return await asyncio.to_thread(previous_generations, (await self._profiles.detached(profile)).root)

    async def start(self, profile: str, views: Sequence[str], reason: str, *, patient: bool = False) -> Job:
        """Begin a rebuild, or join the one that is under way.

        One of other views is waited for when ``patient``, else it is a ConflictError; so is one that is paused.
        """
        async with self._starts.setdefault(profile, asyncio.Lock()):
            job = await self._taken_up(profile)
            while patient and job is not None and job.active and not set(views) <= set(job.plan.views):
                await job.ended.wait()
                job = self._jobs[profile]
            if job is not None and (job.active or job.state == "paused"):
                if job.state == "paused" or not set(views) <= set(job.plan.views):
                    raise ConflictError(
                        "a rebuild of other views is under way, or one is paused; resume or cancel it",
                        expected="no rebuild",
                        found=f"{job.plan.id}, {job.state}",
                    )
                return job
            opened = await self._profiles.detached(profile)
            plan = await asyncio.to_thread(self._plan, opened, views, reason)
            return self._run(Job(plan))

    async def rollback(self, profile: str) -> Job:
        """Serve the kept generation again, once it has caught up; raises NotFoundError when none is kept."""
        async with self._starts.setdefault(profile, asyncio.Lock()):
            job = await self.job(profile)
            if job is not None and (job.active or job.state == "paused"):
                raise ConflictError("a rebuild is under way", expected="no rebuild", found=job.plan.id)
            opened = await self._profiles.detached(profile)
            kept = await self.kept(profile)
            if kept is None:
                raise NotFoundError(
                    "no earlier generation is kept; it goes with the next rebuild, or when something is forgotten",
                    expected="a kept generation",
                    found="none",
                )
            current = await asyncio.to_thread(current_generations, opened.root)
            views = tuple(view for view in VIEWS if kept[view] != current[view])
            plan = self._new_plan(opened, views, kept, ROLLBACK)
            await asyncio.to_thread(store_plan, opened.root, plan)
            return self._run(Job(plan))

    async def afresh(self, profile: str) -> None:
        """Make every view anew and leave nothing of what was there, not even to go back to; returns when it is gone.

        Raises UnavailableError when that cannot be done now.
        """
        known = await self.job(profile)
        while known is not None and (known.active or known.state == "paused"):
            known = await self.cancel(profile)
        job = await self.start(profile, VIEWS, AFRESH)
        await job.ended.wait()
        await self._profiles.retired(profile)
        left = await asyncio.to_thread(stale_generations, (await self._profiles.detached(profile)).root)
        if job.state != "switched" or job.plan.reason != AFRESH or left:
            raise UnavailableError("the views could not be made anew", expected="new ones alone", found=job.error)

    async def pause(self, profile: str) -> Job:
        """Stop a rebuild where it is; it is resumed when it is asked to, also after a restart."""
        job = await self._existing(profile)
        if job.active:
            job.asked = "pause"
            await job.ended.wait()
        return job

    async def resume(self, profile: str) -> Job:
        """Go on with a rebuild that is paused."""
        async with self._starts.setdefault(profile, asyncio.Lock()):
            job = await self._existing(profile)
            if job.active:
                return job
            if job.state != "paused":
                raise ConflictError("only a paused rebuild can be resumed", expected="paused", found=job.state)
            return self._run(Job(msgspec.structs.replace(job.plan, state="running")))

    async def cancel(self, profile: str) -> Job:
        """Give a rebuild up and remove what it has made."""
        job = await self._existing(profile)
        if job.active:
            job.asked = "cancel"
            await job.ended.wait()
        elif job.state == "paused":
            await self._end(job, "cancelled", "cancelled")
        return job

    async def _existing(self, profile: str) -> Job:
        job = await self.job(profile)
        if job is None:
            raise NotFoundError("no rebuild of this profile is known", expected="a rebuild", found="none")
        return job

    async def take_up(self, profiles: Sequence[str]) -> None:
        """Go on with the rebuilds that an earlier run of the service did not end."""
        for profile in profiles:
            async with self._starts.setdefault(profile, asyncio.Lock()):
                await self._taken_up(profile)

    async def _taken_up(self, profile: str) -> Job | None:
        job = await self.job(profile)
        if job is not None and job.state == "running" and job.task is None:
            return self._run(Job(job.plan))
        return job

    async def close(self) -> None:
        """Stop every job where it is; they go on when the service runs again."""
        for job in self._jobs.values():
            job.asked = job.asked or "close"
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _outdated(self, profile: str, why: dict[str, str]) -> None:
        task = asyncio.create_task(self._start_outdated(profile, why))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_outdated(self, profile: str, why: dict[str, str]) -> None:
        job = self._jobs.get(profile)
        if job is not None and (job.active or job.state in ("paused", "failed")):
            return
        views = [view for view in VIEWS if view in why]
        try:
            await self.start(profile, views, "; ".join(dict.fromkeys(why.values())))
        except UmbrielError as error:
            _log.warning("rebuild_not_started", profile=profile, reason=str(error))

    # -- plans ----------------------------------------------------------------------------------

    def _plan(self, opened: OpenProfile, views: Sequence[str], reason: str) -> Plan:
        current, generation = current_generations(opened.root), next_generation(opened.root)
        wanted = tuple(view for view in VIEWS if view in views)
        plan = self._new_plan(opened, wanted, {**current, **dict.fromkeys(wanted, generation)}, reason)
        store_plan(opened.root, plan)
        return plan

    def _new_plan(self, opened: OpenProfile, views: tuple[str, ...], generations: dict[str, str], reason: str) -> Plan:
        return Plan(
            id=uuid.uuid4().hex[:12],
            profile=opened.name,
            state="running",
            views=views,
            generations=generations,
            reason=reason,
            model=self._embedder.model,
            dimension=self._embedder.dimension,
        )

    # -- at work --------------------------------------------------------------------------------

    def _run(self, job: Job) -> Job:
        job.state = "running"
        self._jobs[job.plan.profile] = job
        job.task = asyncio.create_task(self._work(job), name=f"rebuild {job.plan.profile}")
        self._tasks.add(job.task)
        job.task.add_done_callback(self._tasks.discard)
        return job

    async def _work(self, job: Job) -> None:
        try:
            async with self._at_work(job):
                job.started = time.monotonic()
                while not await self._try(job):  # noqa: ASYNC110 -- nothing tells when the log is back
                    await asyncio.sleep(_RETRY_SECONDS)
            await self._end(job, "switched")
            self._worker.wake(job.plan.profile)
            for tell in self.switched:
                tell(job.plan.profile)
        except Stopped:
            await self._stop(job)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the present generation serves on and says why
            _log.warning("rebuild_failed", profile=job.plan.profile, reason=str(error))
            await self._end(job, "failed", str(error) or type(error).__name__)
        finally:
            job.seconds = time.monotonic() - job.started
            job.ended.set()
        _log.info("rebuild_ended", profile=job.plan.profile, state=job.state, events=job.done)

    @asynccontextmanager
    async def _at_work(self, job: Job) -> AsyncIterator[None]:
        while True:
            job.check_asked()
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._turn.acquire()
                break
        try:
            yield
        finally:
            self._turn.release()

    async def _try(self, job: Job) -> bool:
        try:
            await self._make(job)
        except UnavailableError as error:
            job.check_asked()
            _log.warning("rebuild_delayed", profile=job.plan.profile, reason=str(error))
            return False
        return True

    async def _stop(self, job: Job) -> None:
        match job.asked:
            case "pause":
                await self._end(job, "paused")
            case "cancel":
                await self._end(job, "cancelled", "cancelled")

    async def _end(
        self, job: Job, state: Literal["paused", "switched", "failed", "cancelled"], error: str = ""
    ) -> None:
        job.state, job.error = state, error
        root = (await self._profiles.detached(job.plan.profile)).root
        stored = "failed" if state == "cancelled" else state
        job.plan = msgspec.structs.replace(job.plan, state=stored, error=error)
        await asyncio.to_thread(store_plan, root, job.plan)
        if stored == "failed":
            # A kept generation stays what it was when it could not be gone back to.
            await asyncio.to_thread(prune, root)

    async def _make(self, job: Job) -> None:
        opened = await self._profiles.detached(job.plan.profile)
        await asyncio.to_thread(self._bring_up_to_date, job, opened)
        if await asyncio.to_thread(_served, opened, job.plan):
            job.done = job.total = await self._events.log.count_after(0, opened.name)
            return
        building = await self._begin(job, opened)
        try:
            await self._replay(job, building)
            while building.ledger is not None and await self._embed(job, opened, building):
                await self._replay(job, building)
            job.state = "verifying"
            await asyncio.to_thread(building.finish)
            job.check_asked()
            afresh = job.plan.reason == AFRESH
            check = _check_alone if afresh else _check
            job.applied += await self._profiles.replace(opened.name, building, check, keeps=not afresh)
            job.position = building.position
        except BaseException:
            await asyncio.to_thread(building.close)
            raise

    def _bring_up_to_date(self, job: Job, opened: OpenProfile) -> None:
        """Begin anew when the plan was made for another model than the service has now."""
        plan, indexing = job.plan, opened.indexing
        if (plan.model, plan.dimension) != (indexing.model, indexing.dimension) and plan.reason != ROLLBACK:
            views = {*plan.views, *_OF_MODEL}
            job.plan = msgspec.structs.replace(self._plan(opened, sorted(views), plan.reason), id=plan.id)
        store_plan(opened.root, msgspec.structs.replace(job.plan, state="running"))

    async def _begin(self, job: Job, opened: OpenProfile) -> Building:
        try:
            building = await asyncio.to_thread(Building, opened.root, job.plan, opened.indexing, opened.growth)
        except DamagedError:
            if job.plan.reason == ROLLBACK:
                raise
            for view in job.plan.views:
                await asyncio.to_thread(shutil.rmtree, opened.root / view / job.plan.generations[view])
            building = await asyncio.to_thread(Building, opened.root, job.plan, opened.indexing, opened.growth)
        job.total = await self._events.log.count_after(0, opened.name)
        job.done = job.total - await self._events.log.count_after(building.position, opened.name)
        return building

    async def _replay(self, job: Job, building: Building) -> None:
        """Apply what the log holds after the generation's own position."""
        after = building.position
        while True:
            job.check_asked()
            part = await self._events.read(after, _BATCH, job.plan.profile)
            for reason in part.poison.values():
                raise DamagedError("an event of the log cannot be read", expected="a readable event", found=reason)
            if part.position == after:
                return
            await asyncio.to_thread(building.apply, part.envelopes)
            after = part.position
            job.applied += len(part.envelopes)
            job.done += len(part.envelopes)
            job.total = max(job.total, job.done)
            job.position = after

    async def _embed(self, job: Job, opened: OpenProfile, building: Building) -> bool:
        """Embed a few of the texts that wait for the vectors of a changed model; returns whether there were any."""
        if building.ledger is None or not await self._changes_model(opened, building):
            return False
        pending = await asyncio.to_thread(building.ledger.pending_embeddings, 4 * _EMBED_BATCH)
        for start in range(0, len(pending), _EMBED_BATCH):
            job.check_asked()
            await self._worker.embed(opened, pending[start : start + _EMBED_BATCH])
            job.total = max(job.total, job.done + len(pending))
        return bool(pending)

    async def _changes_model(self, opened: OpenProfile, building: Building) -> bool:
        try:
            async with self._profiles.use(opened.name) as served:
                indexing = served.views.indexing
                return (indexing.model, indexing.dimension) != (building.indexing.model, building.indexing.dimension)
        except UmbrielError:
            return False


def _served(opened: OpenProfile, plan: Plan) -> bool:
    """Whether the switch to the plan's generations happened already, before a crash."""
    current = current_generations(opened.root)
    return all(current[view] == plan.generations[view] for view in plan.views)


def _check_alone(new: ViewSet, old: ViewSet | None) -> None:
    del old  # it holds what must not be there any more
    verify(new, None, datetime.now(UTC))


def _check(new: ViewSet, old: ViewSet | None) -> None:
    verify(new, old, datetime.now(UTC))

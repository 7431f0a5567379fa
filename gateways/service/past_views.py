"""Generations of the past: made when a point is asked about, kept for a while, gone when anything is forgotten.

They lie beside the served generations in ``<profile>/past/`` and nobody feeds them, so they go at start-up, when
something of their profile is forgotten or its views are replaced, and after a while without a question.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog

from domain.errors import BuildingError, UmbrielError, UnavailableError
from domain.redacting import Forgotten
from domain.settings import PastLimits
from gateways.service.events import EventReader
from gateways.service.past_building import Abandoned, PastJob, build
from gateways.service.profiles import OpenProfile, Profiles
from projections.generations import PAST

__all__ = ["PastViews", "clear_past"]

_SWEEP_SECONDS = 30.0
#: how long is waited for one that is being made to stop; it removes its files by itself when it does
_STOP_SECONDS = 2.0
_Key = tuple[str, int]
_log = structlog.get_logger(__name__)


class _Kept:
    """A generation that may be asked; ``opened`` is lent like a profile that is served."""

    def __init__(self, opened: OpenProfile) -> None:
        self.opened = opened
        self.asked = time.monotonic()
        self.bytes = _bytes_in(opened.views.root)


class PastViews:
    """The generations of the past of this instance: few at a time, each made once for all who ask for it."""

    def __init__(self, events: EventReader, profiles: Profiles, limits: PastLimits) -> None:
        self._events, self._profiles, self._limits = events, profiles, limits
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._jobs: dict[_Key, PastJob] = {}
        self._turn = asyncio.Semaphore(1)
        self._tasks: set[asyncio.Task[None]] = set()
        #: how many generations have been made since the start
        self.made = 0
        profiles.unfed.append(self.drop)

    @property
    def idle(self) -> bool:
        """Whether none is being made."""
        return not self._jobs

    @property
    def kept(self) -> list[_Key]:
        """The profile and position of each generation that is kept, the one asked for last at the end."""
        return list(self._kept)

    @asynccontextmanager
    async def use(self, profile: str, position: int) -> AsyncIterator[OpenProfile]:
        """Lend the views of a profile as they were at the position of one of its events.

        Raises BuildingError, which says how far it is, when they are not made within a moment; the making goes on
        while somebody asks again.
        """
        kept = await self._made(profile, position)
        opened = kept.opened
        opened.users += 1
        opened.unused.clear()
        try:
            yield opened
        finally:
            kept.asked = time.monotonic()
            opened.users -= 1
            if not opened.users:
                opened.unused.set()

    async def _made(self, profile: str, position: int) -> _Kept:
        key, deadline = (profile, position), time.monotonic() + self._limits.wait_seconds
        while (kept := self._kept.get(key)) is None:
            job = self._jobs.get(key) or self._start(key)
            job.asked = time.monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(deadline - time.monotonic(), 0)):
                    await job.ended.wait()
            if job.error is not None:
                raise job.error
            if time.monotonic() >= deadline and key not in self._kept:
                raise BuildingError(
                    "the views of then are being made; ask again",
                    expected=f"{job.total} events replayed",
                    found=f"{job.done}, {100 * job.done // max(job.total, 1)} %",
                    done=job.done,
                    total=job.total,
                )
        self._kept.move_to_end(key)
        kept.asked = time.monotonic()
        return kept

    def _start(self, key: _Key) -> PastJob:
        if len(self._jobs) >= self._limits.waiting:
            raise UnavailableError(
                "too many points of the past are being replayed",
                expected=f"at most {self._limits.waiting}",
                found=str(len(self._jobs) + 1),
            )
        job = self._jobs[key] = PastJob(*key)
        self._in_background(self._make(key, job))
        return job

    async def _make(self, key: _Key, job: PastJob) -> None:
        try:
            async with self._turn:
                forgotten = await self._forgotten(job.profile)
                job.begun = True
                opened = await self._profiles.detached(job.profile)
                opened.views = await build(self._events, opened, job, forgotten, self._limits.patience_seconds)
            kept = await asyncio.to_thread(_Kept, opened)
            # What was being forgotten when this began may have been written to it first.
            unchanged = forgotten is await self._forgotten(job.profile)
            if job.dropped or not unchanged:
                await self._discard(opened)
            else:
                self._kept[key] = kept
                self.made += 1
                await self._make_room()
        except Abandoned:
            _log.info("past_abandoned", profile=job.profile, position=job.position)
        except UmbrielError as error:
            job.error = error
        except Exception as error:  # noqa: BLE001 -- whatever it is, those who wait are told
            _log.exception("past_not_made", profile=job.profile, position=job.position)
            job.error = UnavailableError("the views of then could not be made", found=type(error).__name__)
        finally:
            if self._jobs.get(key) is job:
                del self._jobs[key]
            job.ended.set()

    async def _forgotten(self, profile: str) -> Forgotten:
        """Return what is forgotten by now; the same object as long as nothing more is."""
        async with self._profiles.use(profile) as opened:
            return await asyncio.to_thread(opened.views.ledger.forgotten)

    # -- letting go -----------------------------------------------------------------------------

    async def drop(self, profile: str) -> None:
        """Let go of every generation of a profile's past, also of those being made; their files are gone then."""
        jobs = [job for key, job in self._jobs.items() if key[0] == profile]
        for job in jobs:
            job.dropped = True
            self._jobs.pop((job.profile, job.position), None)
        for key in [key for key in self._kept if key[0] == profile]:
            await self._let_go(key)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await asyncio.gather(*(job.ended.wait() for job in jobs if job.begun))

    async def _make_room(self) -> None:
        """Let go of the ones asked for longest ago, as many as are too many or too large together; one may stay."""
        while len(self._kept) > 1 and (
            len(self._kept) > self._limits.kept
            or sum(one.bytes for one in self._kept.values()) > self._limits.kept_bytes
        ):
            await self._let_go(next(iter(self._kept)))

    async def run(self) -> None:
        """Let go of what nobody has asked for in a while, until cancelled."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            await self.sweep(time.monotonic() - self._limits.kept_seconds)

    async def sweep(self, since: float) -> None:
        """Let go of what nobody has asked for ``since`` a reading of the monotonic clock."""
        for key in [key for key, one in self._kept.items() if one.asked < since and not one.opened.users]:
            await self._let_go(key)

    async def _let_go(self, key: _Key) -> None:
        if (kept := self._kept.pop(key, None)) is None:
            return
        opened = kept.opened
        # Whoever reads them now goes on with open files; nobody opens them again.
        await asyncio.to_thread(shutil.rmtree, opened.views.root, ignore_errors=True)
        self._in_background(self._discard(opened))

    async def _discard(self, opened: OpenProfile) -> None:
        await opened.unused.wait()
        try:
            await asyncio.to_thread(opened.views.close)
        except UmbrielError as error:
            _log.warning("past_not_closed", profile=opened.name, reason=str(error))
        await asyncio.to_thread(shutil.rmtree, opened.views.root, ignore_errors=True)

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop what is being made and let go of everything."""
        for job in self._jobs.values():
            job.dropped = True
        while self._kept:
            await self._let_go(next(iter(self._kept)))
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _bytes_in(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def clear_past(profiles: Path) -> None:
    """Remove what an earlier run of the service has left of the past, of every profile in a directory."""
    for left in profiles.glob(f"*/{PAST}"):
        shutil.rmtree(left, ignore_errors=True)

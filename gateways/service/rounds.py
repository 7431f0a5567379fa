"""Which profiles a worker still has to look at, and the loop that looks at them."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

import structlog

from domain.errors import ErasedError, UmbrielError

__all__ = ["ProfileQueue", "ProfileWorker"]

_log = structlog.get_logger(__name__)
#: seconds between two looks at a profile that keeps failing
_LONGEST_PAUSE = 60.0


async def _nobody(profile: str) -> bool:
    del profile
    return False


class ProfileQueue:
    """Profiles in the order they were woken, each at most once, and never in the hands of two workers.

    A profile woken while it is worked on is looked at once more afterwards: what came too late for the look under way
    is not forgotten.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._working: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, int] = {}

    def wake(self, profile: str) -> None:
        """Look at a profile soon."""
        if profile in self._waiting:
            return
        self._waiting.add(profile)
        if profile not in self._working:
            self._ready.put_nowait(profile)

    def wake_later(self, profile: str, seconds: float) -> None:
        """Look at a profile after some seconds, or earlier where it is to be woken earlier anyway."""
        loop = asyncio.get_running_loop()
        known = self._timers.get(profile)
        if known is not None:
            if known.when() <= loop.time() + seconds:
                return
            known.cancel()
        self._timers[profile] = loop.call_later(seconds, self._wake_in_time, profile)

    def _wake_in_time(self, profile: str) -> None:
        del self._timers[profile]
        self.wake(profile)

    @property
    def idle(self) -> bool:
        """Whether no profile is waiting, now or later, or being worked on; those that keep failing do not count."""
        return not (self._waiting or self._working or self._timers.keys() - self._failures.keys())

    async def run(self, work: Callable[[str], Awaitable[bool]], *, parallel: int = 1) -> None:
        """Work on profiles until cancelled, ``parallel`` of them at once; ``work`` returns whether there is more.

        One that fails is looked at again later, and ever later; the others do not wait for it.
        """
        async with asyncio.TaskGroup() as group:
            for _ in range(parallel):
                group.create_task(self._run(work))

    async def _run(self, work: Callable[[str], Awaitable[bool]]) -> None:
        while True:
            profile = await self._ready.get()
            self._waiting.discard(profile)
            self._working.add(profile)
            more = False
            try:
                more = await work(profile)
                self._failures.pop(profile, None)
            except ErasedError:
                # What it was about is gone, and so is the work.
                self._failures.pop(profile, None)
            except (UmbrielError, OSError) as error:
                self._failed(profile, str(error))
            except Exception as error:  # noqa: BLE001 -- what one profile holds must not end the work for all
                self._failed(profile, type(error).__name__)
            finally:
                self._working.discard(profile)
            if profile in self._waiting:
                self._ready.put_nowait(profile)
            elif more:
                self.wake(profile)

    def _failed(self, profile: str, reason: str) -> None:
        failures = self._failures[profile] = self._failures.get(profile, 0) + 1
        _log.warning(f"{self._name}_delayed", profile=profile, reason=reason, failures=failures)
        self.wake_later(profile, min(_LONGEST_PAUSE, 2.0 ** (failures - 1)))

    def close(self) -> None:
        """Forget what was to be looked at later."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()


class ProfileWorker(ABC):
    """Works on the profiles it is told about, ``parallel`` of them at once."""

    def __init__(self, name: str, *, parallel: int = 1) -> None:
        self._queue = ProfileQueue(name)
        self._parallel = parallel
        #: whether a profile is to be left alone now; whoever lets it go on wakes the worker
        self.held: Callable[[str], Awaitable[bool]] = _nobody

    @abstractmethod
    async def _work(self, profile: str) -> bool:
        """Do what there is to do in a profile, or a part of it; returns whether there is more."""

    def hurries(self, profile: str) -> bool:
        """Whether somebody waits here for what there is to do in a profile."""
        del profile
        return False

    async def _unless_held(self, profile: str) -> bool:
        return not await self.held(profile) and await self._work(profile)

    def wake(self, profile: str) -> None:
        """Look at a profile soon."""
        self._queue.wake(profile)

    @property
    def idle(self) -> bool:
        """Whether no profile is waiting for the worker."""
        return self._queue.idle

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            await self._queue.run(self._unless_held, parallel=self._parallel)
        finally:
            self._queue.close()

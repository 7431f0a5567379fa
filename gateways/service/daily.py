"""The daily passes over every profile: when each is due, and who makes up for what was missed.

The NATS server fires them (`gateways.jetstream.schedules`); a firing says no more than "look": what is done is what the
log says is done. So one that was missed is made up for at the next start or reconnect, and one that comes twice, or
to two services, finds nothing to do.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, time, timedelta

import structlog

from domain.envelope import Envelope
from domain.errors import UmbrielError
from domain.events import ProfileCreated
from domain.passes import Upkeep, upkeep_id
from domain.upkeep import day_of
from gateways.jetstream.schedules import Firing, Schedules
from gateways.service.aggregates import load
from gateways.service.context import Core
from gateways.service.rounds import ProfileWorker

__all__ = ["DailyPass", "DailyPasses", "utc_now"]

_log = structlog.get_logger(__name__)
#: seconds between two looks at whether a firing is done
_HELD = 1.0


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class DailyPass(ABC):
    """What is done over each profile once a UTC day, at ``at``."""

    name: str
    at: time

    @property
    def cron(self) -> str:
        """The schedule with six fields."""
        return f"{self.at.second} {self.at.minute} {self.at.hour} * * *"

    def due(self, now: datetime) -> datetime:
        """Return the last moment at which the pass came due."""
        today = datetime.combine(now.astimezone(UTC).date(), self.at, tzinfo=UTC)
        return today if today <= now else today - timedelta(days=1)

    @abstractmethod
    async def run(self, profile: str, as_of: datetime) -> None:
        """Do it as of a moment and record that it is done; what was done of it before is not done again."""


class DailyPasses(ProfileWorker):
    """Runs the passes that are due over the profiles it is told about, in the order of the table."""

    def __init__(
        self, core: Core, passes: Sequence[DailyPass], schedules: Schedules, *, clock: Callable[[], datetime] = utc_now
    ) -> None:
        super().__init__("daily")
        self._core = core
        self._schedules = schedules
        self._clock = clock
        self._fired = datetime.min.replace(tzinfo=UTC)
        self.passes = passes

    def work(self) -> dict[str, Coroutine[None, None, None]]:
        """Return what is to be run until it is cancelled, by name."""
        return {"daily": self.run(), "schedules": self._listen()}

    def now(self) -> datetime:
        """Return the time; a firing that our own clock has not reached is believed."""
        return max(self._clock(), self._fired)

    def due(self) -> dict[str, datetime]:
        """Return when each pass came due last."""
        return {one.name: one.due(self.now()) for one in self.passes}

    async def look(self) -> None:
        """Look at every profile."""
        for record in await self._core.in_thread(self._core.directory.profiles):
            self.wake(record.name)

    def look_at_new(self, envelopes: Sequence[Envelope]) -> None:
        """Look at profiles that the directory has just learned of: a log may be older than the directory."""
        for envelope in envelopes:
            if isinstance(envelope.data, ProfileCreated):
                self.wake(envelope.profile)

    async def _work(self, profile: str) -> bool:
        failed: Exception | None = None
        for one in self.passes:
            due = one.due(self.now())
            try:
                if not await self._is_done(one, profile, due):
                    await one.run(profile, due)
            except Exception as error:  # noqa: BLE001 -- what one pass trips over keeps no other one from its day
                _log.warning("daily_pass_failed", name=one.name, profile=profile, error=type(error).__name__)
                failed = failed or error
        if failed is not None:
            raise failed
        return False

    async def _is_done(self, one: DailyPass, profile: str, due: datetime) -> bool:
        """Whether a pass is done, or the profile is younger than it; the log has the last word."""
        directory, day = self._core.directory, day_of(due)
        created_at = await self._core.in_thread(lambda: directory.created_at(profile))
        if created_at is None or created_at > due:
            return True
        if await self._core.in_thread(lambda: directory.last_pass(profile, one.name)) >= day:
            return True
        subject = await self._core.events.subject_id(profile, Upkeep.CATEGORY, upkeep_id(one.name, day))
        return (await load(self._core, Upkeep, subject)).is_completed(day)

    # -- the schedule ---------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Make up for what was missed, and do what fires."""
        await self.look()
        reconnects = -1
        async with aclosing(self._schedules.firings()) as firings:
            async for firing in firings:
                if reconnects != self._schedules.reconnects and await self._set():
                    reconnects = self._schedules.reconnects
                    await self.look()
                if firing is not None:
                    await self._fire(firing)

    async def _set(self) -> bool:
        """Set the schedules; False when the server does not answer now."""
        try:
            for one in self.passes:
                await self._schedules.set(one.name, one.cron)
        except UmbrielError as error:
            _log.warning("schedules_not_set", reason=str(error))
            return False
        return True

    async def _fire(self, firing: Firing) -> None:
        """Do what is due, and hold the firing until it is done: if we die of it, another service gets it."""
        _log.info("daily_pass", name=firing.name, at=firing.at.isoformat())
        self._fired = max(self._fired, firing.at)
        await self.look()
        try:
            while not self.idle:
                await firing.working()
                await asyncio.sleep(_HELD)
            await firing.done()
        except UmbrielError as error:
            _log.warning("firing_comes_again", name=firing.name, reason=str(error))

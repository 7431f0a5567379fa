"""The one reader that feeds every view, and the place where reads wait for a position."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime

import structlog

from domain.envelope import Envelope
from domain.errors import DamagedError, UnavailableError
from gateways.service.events import EventReader, Passed
from gateways.service.profiles import Profiles
from projections.directory import Directory

__all__ = ["Reader"]

_HALTED_SECONDS = 30.0
_log = structlog.get_logger(__name__)


class Reader:
    """Tails the log from the low-water mark, applies each batch per profile, then advances the mark.

    ``passed`` is the stream sequence up to which every open profile has committed.
    """

    def __init__(self, events: EventReader, profiles: Profiles, directory: Directory, *, batch: int) -> None:
        self._events = events
        self._profiles = profiles
        self._directory = directory
        self._batch = batch
        self._moved = asyncio.Condition()
        self.passed = directory.low_water_mark()
        #: when events were last committed to the views, and the seconds it took
        self.committed_at: datetime | None = None
        self.commit_seconds = 0.0
        self.listeners: list[Callable[[list[Envelope]], None]] = []

    async def run(self) -> None:
        """Follow the log until cancelled; a lost connection is resumed from the mark."""
        while True:
            try:
                async with aclosing(self._events.tail(self.passed, self._batch)) as parts:
                    async for part in parts:
                        await self._apply(part)
            except UnavailableError as error:
                _log.warning("reader_resumes", after=self.passed, reason=str(error))
            except DamagedError as error:
                # The log is halted: what is beyond the gap must not be applied, and requests are told why.
                _log.error("log_damaged", after=self.passed, reason=str(error))
                await asyncio.sleep(_HALTED_SECONDS)
            await asyncio.sleep(0.5)

    async def _apply(self, part: Passed) -> None:
        started = time.monotonic()
        by_profile: dict[str, list[Envelope]] = defaultdict(list)
        for envelope in part.envelopes:
            by_profile[envelope.profile].append(envelope)
            self._directory.apply(envelope)
        for name in {*by_profile, *part.poison}:
            if not self._directory.is_gone(name):
                await self._profiles.apply(name, by_profile[name], part.poison.get(name, ""))
        if part.envelopes:
            await asyncio.to_thread(self._directory.set_mark, part.position)
            self.committed_at, self.commit_seconds = datetime.now(UTC), time.monotonic() - started
        async with self._moved:
            self.passed = max(self.passed, part.position)
            self._moved.notify_all()
        if part.envelopes:
            for listener in self.listeners:
                listener(part.envelopes)

    async def wait_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until ``done()`` after some batch, or until the time is over; returns whether it is done."""
        try:
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(done)
        except TimeoutError:
            return done()
        return True

    async def wait_for(self, position: int, seconds: float) -> None:
        """Wait until the reader has passed ``position``; raises UnavailableError when it does not in time."""
        if not await self.wait_until(lambda: self.passed >= position, seconds):
            raise UnavailableError(
                "the views have not reached that position yet", expected=str(position), found=str(self.passed)
            )

"""Whether the service lives, and whether it is ready for requests; both for anybody who asks, and cheap."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from domain.errors import UmbrielError
from gateways.service.context import Core

__all__ = ["Health", "Ready"]

#: Seconds that an answer counts, so that asking is no load.
_FRESH = 1.0
#: Seconds in which the reader has to reach what was in the log when it was asked.
_CATCH_UP = 1.0


class Ready(msgspec.Struct, frozen=True):
    """Whether requests can be answered, and why not."""

    ready: bool
    reasons: list[str] = []


class Health:
    """Looks at the log, the reader and the workers; ``connected`` says whether requests over NATS arrive."""

    def __init__(
        self, core: Core, connected: Callable[[], Awaitable[bool]], tasks: Callable[[], Sequence[asyncio.Task[None]]]
    ) -> None:
        self._core = core
        self._connected = connected
        self._tasks = tasks
        self._lock = asyncio.Lock()
        self._answer = Ready(ready=False)
        self._asked = -_FRESH

    async def ready(self) -> Ready:
        """Return whether the service is ready; many who ask at once ask once."""
        async with self._lock:
            if time.monotonic() - self._asked >= _FRESH:
                reasons = await self._reasons()
                self._answer, self._asked = Ready(ready=not reasons, reasons=reasons), time.monotonic()
            return self._answer

    async def _reasons(self) -> list[str]:
        if not await self._connected():
            return ["not connected to NATS"]
        if any(task.done() for task in self._tasks()):
            return ["a worker ended"]
        try:
            async with asyncio.timeout(_CATCH_UP):
                last = await self._core.events.log.last_position()
        except (UmbrielError, TimeoutError):
            return ["the log does not answer"]
        reader = self._core.reader
        caught_up = await reader.wait_until(lambda: reader.passed >= last, _CATCH_UP)
        return [] if caught_up else ["the reader has not caught up with the log"]

"""Whether the log is still the one that was written to: asked after every reconnect, before anything is sent.

A server may come back with less than it acknowledged. What is appended then takes positions that were given to others,
so nothing is: the log is halted, and every request is told why.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from domain.errors import UmbrielError
from gateways.jetstream.log import Log
from gateways.jetstream.streams import StreamState, state_of

__all__ = ["Continuity"]

_log = structlog.get_logger(__name__)
_LOOK_SECONDS = 0.5
#: seconds in which a new leader of a replicated log has applied all that it holds
_LEADER_SECONDS = 10.0


class Continuity:
    """Compares the stream with what it was; ``passed`` says how far it was read."""

    def __init__(self, log: Log, state: StreamState, passed: Callable[[], int]) -> None:
        self._log = log
        self._state = state
        self._passed = passed
        self._seen = log.connection.reconnects
        self._turn = asyncio.Lock()

    async def check(self) -> None:
        """Raise DamagedError when the stream is shorter than it was, or another; UnavailableError when nobody says."""
        self._log.check_sound()
        if self._log.connection.reconnects == self._seen:
            return
        async with self._turn:
            reconnects = self._log.connection.reconnects
            if reconnects != self._seen:
                await self._compare()
                self._seen = reconnects
        self._log.check_sound()

    async def _compare(self) -> None:
        known = max(self._passed(), self._log.reached, self._state.last_position)
        found = await self._found(known)
        if found is None or found.incarnation != self._state.incarnation:
            self.halt("the log was exchanged for another one while the service ran; stop it, then `umbriel recover`")
        elif found.last_position < known:
            self.halt(
                f"the log ends at {found.last_position}, but {known} was written; restore it, or stop the service and "
                "run `umbriel recover` to go on with what is left"
            )

    async def _found(self, known: int) -> StreamState | None:
        """Return how the stream stands; of replicas, one that has just become the leader may not say all at once."""
        deadline = time.monotonic() + (_LEADER_SECONDS if self._state.replicas > 1 else 0.0)
        while True:
            found = await state_of(self._log.connection.js, self._state.name)
            if time.monotonic() > deadline or (found is not None and found.last_position >= known):
                return found
            await asyncio.sleep(_LOOK_SECONDS)

    def halt(self, reason: str) -> None:
        """Stop writing, and say so."""
        if not self._log.halted:
            _log.error("log_halted", reason=reason)
        self._log.halt(reason)

    async def run(self) -> None:
        """Look after every reconnect, whether anybody writes or not, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self.check()
            except UmbrielError as error:
                if not self._log.halted:
                    _log.warning("continuity_unknown", reason=str(error))

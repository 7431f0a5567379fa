"""The verb ``verify``: looks at the whole log in the background, one look at a time, and tells how far it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Literal

import structlog

from domain.errors import UmbrielError
from gateways.service.examining import Examination
from gateways.service.positions import Positions
from umbriel.verifying import VerifyFinding, VerifyReply, VerifyRequest

__all__ = ["Verifications", "shown"]

_log = structlog.get_logger(__name__)
_State = Literal["none", "running", "done", "cancelled", "failed"]


def shown(examination: Examination, positions: Positions, state: _State, error: str = "") -> VerifyReply:
    """Return how a look at the log stands, as it goes out."""
    return VerifyReply(
        state=state,
        position=positions.show(examination.total),
        done=examination.done,
        total=examination.total,
        events=examination.events,
        seals=examination.seals,
        sealed=positions.show(examination.sealed),
        unreadable=examination.unreadable,
        found=examination.found,
        findings=[
            VerifyFinding(
                check=one.check,
                text=one.text,
                position=positions.show(one.position) if one.position else "",
                profile=one.profile,
            )
            for one in examination.findings
        ],
        seconds=round((examination.ended or time.monotonic()) - examination.started, 3),
        error=error,
    )


class Verifications:
    """The look that is under way, or the last one; ``begin`` makes a new one over the log as it is now."""

    def __init__(self, begin: Callable[[], Awaitable[Examination]], positions: Positions) -> None:
        self._begin = begin
        self._positions = positions
        self._turn = asyncio.Lock()
        self._examination: Examination | None = None
        self._task: asyncio.Task[None] | None = None
        self._state: _State = "none"
        self._error = ""

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Carry out one action and return how the look stands."""
        async with self._turn:
            if request.action == "start" and not self._running:
                self._examination = await self._begin()
                self._state, self._error = "running", ""
                self._task = asyncio.create_task(self._look(self._examination))
            elif request.action == "cancel" and self._running:
                await self.close()
        if self._examination is None:
            return VerifyReply(state="none")
        return shown(self._examination, self._positions, self._state, self._error)

    @property
    def _running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def _look(self, examination: Examination) -> None:
        try:
            await examination.run()
            self._state = "done"
        except asyncio.CancelledError:
            self._state = "cancelled"
            raise
        except UmbrielError as error:
            self._state, self._error = "failed", str(error)
        except Exception as error:  # noqa: BLE001 -- whoever asks is told; the service goes on
            self._state, self._error = "failed", type(error).__name__
            _log.exception("verify_failed")
        for finding in examination.findings:
            _log.error("verify_found", check=finding.check, position=finding.position, found=finding.text)

    async def close(self) -> None:
        """Give up what is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

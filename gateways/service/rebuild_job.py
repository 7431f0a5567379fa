"""One rebuild of one profile, as it stands."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from projections.generations import Plan

__all__ = ["AFRESH", "ROLLBACK", "Job", "Stopped"]

ROLLBACK = "rollback"
#: why a rebuild keeps nothing of what was there, and is not held against it
AFRESH = "erasure"


class Stopped(Exception):  # noqa: N818 -- not an error: the job was asked to stop
    """The job was asked to stop where it is."""


class Job:
    """One rebuild of one profile, as it stands; ``done`` and ``total`` count the profile's own events."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.state: Literal["running", "paused", "verifying", "switched", "failed", "cancelled"] = plan.state
        self.error = plan.error
        self.done = 0
        self.total = 0
        self.applied = 0
        self.position = 0
        self.started = time.monotonic()
        self.seconds = 0.0
        self.asked: Literal["", "pause", "cancel", "close"] = ""
        self.task: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()

    @property
    def active(self) -> bool:
        """Whether work on it is under way."""
        return self.task is not None and not self.task.done()

    @property
    def elapsed(self) -> float:
        """Seconds it has been at work since it was started or resumed."""
        return self.seconds or time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """Events a second since the job was started or resumed."""
        return self.applied / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def eta(self) -> float:
        """Seconds until all events are applied, 0 when it is over or cannot be told yet."""
        return (self.total - self.done) / self.rate if self.active and self.rate and self.total > self.done else 0.0

    def check_asked(self) -> None:
        """Stop here when the job was asked to."""
        if self.asked:
            raise Stopped

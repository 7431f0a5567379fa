"""Points of the past: as they go over the wire, and answers that are waited for while they are made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from umbriel._errors import BuildingError

__all__ = ["Point", "Progress", "until_built", "wire_point"]

#: A time of recording, or a position from an earlier reply; empty is now.
Point = str | datetime
#: Called with (steps done, steps in all).
Progress = Callable[[int, int], None]

_PAUSE = 0.1

R = TypeVar("R")


def wire_point(point: Point) -> str:
    """Return a point as the service reads it; what is no point is the service's to refuse."""
    return point.isoformat() if isinstance(point, datetime) else point


async def until_built(ask: Callable[[], Awaitable[R]], seconds: float, progress: Progress | None = None) -> R:
    """Ask again while what is to answer is being made, for so many seconds; ``progress`` hears how far it is."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return await ask()
        except BuildingError as error:
            if time.monotonic() > deadline:
                raise
            if progress is not None:
                progress(error.done, error.total)
        await asyncio.sleep(_PAUSE)

"""Waiting until a profile's views are complete at a position, and giving up when nothing advances."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from umbriel import Umbriel, UnavailableError

__all__ = ["sequence", "wait_complete"]

_POLL_SECONDS = 0.1
#: Seconds without any advance after which waiting for the views ends.
_PATIENCE = 120.0


async def wait_complete(client: Umbriel, position: str, size: int, indexed: Callable[[int], None]) -> None:
    """Wait until every view is complete at ``position``; ``indexed`` is told of advances that sum up to ``size``.

    Raises UnavailableError when nothing advances.
    """
    target, reported, last = sequence(position), 0, (-1, -1)
    patience = time.monotonic() + _PATIENCE
    while True:
        status = await client.status()
        done = sequence(status.complete) >= target
        so_far = size if done else max(reported, size - max(status.pending, 1))
        indexed(so_far - reported)
        reported = so_far
        if done:
            return
        now = (sequence(status.applied), status.pending)
        if now != last:
            last, patience = now, time.monotonic() + _PATIENCE
        if time.monotonic() > patience:
            raise UnavailableError(
                f"profile {client.profile} does not become complete",
                expected=f"complete at {position}",
                found=f"complete at {status.complete}, {status.pending} pending, {status.failed} failed",
            )
        await asyncio.sleep(_POLL_SECONDS)


def sequence(position: str) -> int:
    """Return the sequence of a position ``<stream>.<incarnation>:<sequence>``, 0 for none."""
    tail = position.rpartition(":")[2]
    return int(tail) if tail.isdecimal() else 0

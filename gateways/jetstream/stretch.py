"""A stretch of the log read position by position, so that what is missing is seen.

A server that cannot read a message any more passes over it in silence, in pages and in consumers alike; only the
positions tell.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import msgspec

from domain.sealing import Stored
from gateways.jetstream.direct import StreamReader

__all__ = ["Place", "stretch"]

_PAGE = 500
#: missing positions of one gap that the leader is asked for one by one: a replica may be the damaged one
_ASKED = 64


class Place(msgspec.Struct, frozen=True):
    """A position of the log and the message there, None when there is none that could be read."""

    position: int
    message: Stored | None


async def stretch(reader: StreamReader, first: int, last: int) -> AsyncGenerator[Place]:
    """Yield every position from ``first`` to ``last`` with its message, a page in memory at a time."""
    at = first
    while at <= last:
        page = [one for one in await reader.stored(at, min(_PAGE, last - at + 1)) if at <= one.position <= last]
        if not page:
            # A replica may lag behind; what the leader does not have either is not there.
            found = await reader.stored_next(at)
            page = [found] if found is not None and found.position <= last else []
        for message in page:
            for missing in range(at, message.position):
                asked = missing - at < _ASKED
                yield Place(missing, await reader.stored_at(missing) if asked else None)
            yield Place(message.position, message)
            at = message.position + 1
        if not page:
            for missing in range(at, last + 1):
                yield Place(missing, await reader.stored_at(missing) if missing - at < _ASKED else None)
            return

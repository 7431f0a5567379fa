"""A subscription: the feed asked again and again, each time after the position that was reached."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Self

from umbriel._errors import UmbrielError
from umbriel.types import FeedEvent, FeedReply

__all__ = ["NEW", "Subscription"]

#: The ``after`` of a subscription that wants only what comes from now on.
NEW = "new"
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 5.0


class Subscription(AsyncIterator[FeedEvent]):
    """Yields events for ever, in log order; nothing is missed or repeated across reconnects and restarts.

    It asks for the next page when the last one is used up, so a slow reader holds one page and costs the service
    nothing. Waiting for an event may be cancelled (as by `asyncio.wait_for`) and taken up again.
    """

    def __init__(self, poll: Callable[[str], Awaitable[FeedReply]], after: str) -> None:
        self._poll = poll
        self._page: deque[FeedEvent] = deque()
        self._asked = after
        self._position = "" if after == NEW else after
        self._closed = False

    @property
    def position(self) -> str:
        """Where to go on: everything up to here was yielded or is not wanted; empty is the log's beginning."""
        return self._position

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedEvent:
        while not self._page:
            if self._closed:
                raise StopAsyncIteration
            # What is not in a page up to the page's position is not wanted.
            self._position = "" if self._asked == NEW else self._asked
            page = await self._ask()
            self._asked = page.position
            self._page.extend(page.events)
        event = self._page.popleft()
        self._position = event.position if self._page else self._asked
        return event

    async def start(self) -> Self:
        """Find out where a subscription to new events begins, instead of at the first wait."""
        while self._asked == NEW:
            self._asked = self._position = (await self._ask()).position
        return self

    async def _ask(self) -> FeedReply:
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self._poll(self._asked)
            except UmbrielError as error:
                if not error.retryable:
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads retries, guards nothing
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def aclose(self) -> None:
        """Yield nothing more; what was not yielded is there after `position`."""
        self._page.clear()
        self._closed = True

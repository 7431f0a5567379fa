"""What is read piece by piece, waiting for each piece; a part of the client."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self

from umbriel._blocking import Blocking
from umbriel._errors import UnavailableError
from umbriel._exports import Export
from umbriel._loop import Loop
from umbriel._subscription import Subscription
from umbriel.client import Umbriel
from umbriel.types import FeedEvent

__all__ = ["ExportSync", "SubscriptionSync", "exporting", "subscribing"]

P = ParamSpec("P")


class ExportSync(Iterator[bytes]):
    """The lines of one export, each with its line feed: `Export`, waited for.

    >>> lines = memory.export(kinds=["memory"])
    >>> [line.endswith(b"}" + bytes([10])) for line in lines], lines.events
    ([True, True, True, True], 2)
    """

    def __init__(self, export: Export, loop: Loop) -> None:
        self._export = export
        self._loop = loop

    @property
    def events(self) -> int:
        """How many events there were so far."""
        return self._export.events

    @property
    def position(self) -> str:
        """How far the export is."""
        return self._export.position

    @property
    def until(self) -> str:
        """Where it ends; empty before the first line."""
        return self._export.until

    def resume(self, lines: Iterable[bytes]) -> Self:
        """Take up an export that was cut off, as `Export.resume` does."""
        self._export.resume(lines)
        return self

    def __next__(self) -> bytes:
        line = self._loop.run(lambda: _next_line(self._export))
        if line is None:
            raise StopIteration
        return line


class SubscriptionSync(Iterator[FeedEvent]):
    """Yields events for ever, in log order: `Subscription`, waited for.

    `close` ends it from any thread, also while it waits, and so does closing the client. Interrupted, it can be taken
    up again: nothing is lost.

    >>> with memory.subscribe(kinds=["memory"]) as events:
    ...     print(next(events).data["text"])
    ...     print(events.next(timeout=1.0).data["text"], "|", events.next(timeout=0.0))
    Sign with the first name
    Answer in French | None
    """

    def __init__(self, subscription: Subscription, loop: Loop) -> None:
        self._subscription = subscription
        self._loop = loop
        self._one_at_a_time = asyncio.Lock()
        # An event that came in the moment in which waiting for it was given up is here, and is yielded next.
        self._come: deque[tuple[FeedEvent, str]] = deque()
        self._position = subscription.position
        self._waiting: concurrent.futures.Future[None] | None = None
        self._closed = False

    @property
    def position(self) -> str:
        """Where to go on: everything up to here was yielded or is not wanted; empty is the log's beginning."""
        return self._position

    def __next__(self) -> FeedEvent:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout: float | None = None) -> FeedEvent | None:
        """Return the next event, or None when none came in ``timeout`` seconds or the subscription is closed."""
        if self._closed:
            return None
        self._wait(lambda: self._fetch(timeout))
        return None if self._closed else self._hand_out()

    def start(self) -> Self:
        """Find out where a subscription to new events begins, instead of at the first wait."""
        self._wait(self._begin)
        return self

    def close(self) -> None:
        """Yield nothing more; what was not yielded is there after `position`. Closing twice does nothing."""
        self._closed = True
        waiting = self._waiting
        if waiting is not None:
            waiting.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            self._waiting = self._loop.begin(work)
            if self._closed:  # since it was begun
                self._waiting.cancel()
            self._loop.outcome(self._waiting)
        except UnavailableError:
            self._closed = self._closed or self._loop.closed
            if not self._closed:
                raise

    def _hand_out(self) -> FeedEvent | None:
        try:
            event, self._position = self._come.popleft()
        except IndexError:
            return None
        return event

    async def _fetch(self, seconds: float | None) -> None:
        async with self._one_at_a_time:
            if self._come:
                return
            try:
                async with asyncio.timeout(seconds):
                    event = await anext(self._subscription)
            except TimeoutError:
                self._position = self._subscription.position
                return
            self._come.append((event, self._subscription.position))

    async def _begin(self) -> None:
        async with self._one_at_a_time:
            if not self._come:
                await self._subscription.start()
                self._position = self._subscription.position


def exporting(verb: Callable[Concatenate[Umbriel, P], Export]) -> Callable[Concatenate[Blocking, P], ExportSync]:
    """Return the method of the client that waits, for one that returns an export."""

    @wraps(verb)
    def call(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> ExportSync:
        return ExportSync(verb(self._client, *args, **kwargs), self._loop)

    return call


def subscribing(
    verb: Callable[Concatenate[Umbriel, P], Subscription],
) -> Callable[Concatenate[Blocking, P], SubscriptionSync]:
    """Return the method of the client that waits, for one that returns a subscription."""

    @wraps(verb)
    def call(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> SubscriptionSync:
        return SubscriptionSync(verb(self._client, *args, **kwargs), self._loop)

    return call


async def _next_line(export: Export) -> bytes | None:
    # A coroutine cannot raise StopAsyncIteration through a future.
    return await anext(export, None)

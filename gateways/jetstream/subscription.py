"""The library's subscription over an ordered reader of the log."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from collections.abc import Sequence
from concurrent.futures import Future

from eventsourcing.persistence import ApplicationRecorder, Notification, Subscription

from domain.errors import UnavailableError
from gateways.jetstream.bridge import Bridge
from gateways.jetstream.log import Log
from gateways.jetstream.streams import uuid_of
from gateways.jetstream.wire import Entry

__all__ = ["JetStreamSubscription", "notification_of"]

_WAITING = 10
_FULL_PAUSE = 0.02


def notification_of(entry: Entry) -> Notification:
    """Return an event as the library's notification; its id is the position."""
    name = uuid_of(entry.originator_id) or entry.originator_id
    return Notification(name, entry.version, entry.topic, entry.body, entry.position)


class JetStreamSubscription(Subscription[ApplicationRecorder]):
    """Yields notifications after a position and waits for new ones until stopped."""

    def __init__(
        self, recorder: ApplicationRecorder, log: Log, bridge: Bridge, gt: int | None, topics: Sequence[str]
    ) -> None:
        super().__init__(recorder, gt, topics)
        self._log = log
        self._read: list[Notification] = []
        # None ends the iteration: stopped, or the reader failed.
        self._batches: queue.Queue[list[Notification] | None] = queue.Queue()
        self._reading: Future[None] = bridge.start(self._follow())
        self._reading.add_done_callback(lambda _: self._batches.put(None))

    def stop(self) -> None:
        """Stop following; a waiting iteration ends."""
        super().stop()
        self._reading.cancel()
        self._batches.put(None)

    def __next__(self) -> Notification:
        while not self._has_been_stopped:
            if self._read:
                return self._read.pop()
            batch = self._batches.get()
            if batch is None:
                break
            self._read = batch[::-1]
        if not self._has_been_stopped and self._reading.done():
            if self._reading.cancelled():
                raise UnavailableError("the log was closed", expected="an open log", found="a closed one")
            self._reading.result()
        raise StopIteration

    async def _follow(self) -> None:
        # aclosing: the consumer on the server ends with the subscription, not with the garbage collector.
        async with contextlib.aclosing(self._log.tail(self._last_notification_id or 0)) as parts:
            async for part in parts:
                wanted = [entry for entry in part.entries if not self._topics or entry.topic in self._topics]
                if wanted:
                    self._batches.put([notification_of(entry) for entry in wanted])
                while self._batches.qsize() > _WAITING:  # noqa: ASYNC110 -- the queue empties in another thread
                    await asyncio.sleep(_FULL_PAUSE)

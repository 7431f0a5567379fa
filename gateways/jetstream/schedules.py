"""What is to happen at a time of day: the server keeps the schedules and fires them, whoever is there to hear it.

A schedule is a message of the schedules stream with a cron expression; what it fires is another message of the same
stream. All services share one consumer, so that one of them gets each firing, and another one where that one dies.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import msgspec
import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext, api

from domain.errors import UnavailableError
from gateways.jetstream.connection import REQUEST_SECONDS, Connection
from gateways.jetstream.errors import CONFLICTS, translated
from gateways.jetstream.streams import FIRINGS_PREFIX, SCHEDULES_PREFIX, SCHEDULES_STREAM

__all__ = ["Firing", "Scheduled", "Schedules"]

_log = structlog.get_logger(__name__)
_CONSUMER = "daily-passes"
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
#: seconds after which a firing that nobody finished goes to another service; whoever works on it says so in time
_ACK_SECONDS = 30.0
_ASKED_SECONDS = 5.0
_PAUSE = 0.5
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Firing(msgspec.Struct, frozen=True):
    """A schedule came due: its name, and when by the server's clock."""

    name: str
    at: datetime
    message: Msg

    async def working(self) -> None:
        """Say that it is being worked on."""
        with translated("holding a firing"):
            await self.message.in_progress()

    async def done(self) -> None:
        """Say that what it asked for is done: no service gets it again."""
        with translated("finishing a firing"):
            await self.message.ack()


class Scheduled(msgspec.Struct, frozen=True):
    """A schedule as the server has it: its cron expression, when that was set, and when it fired last."""

    cron: str
    set_at: datetime
    fired_at: datetime | None = None


class Schedules:
    """The schedules of a server and what they fire."""

    def __init__(self, connection: Connection, *, ack_seconds: float = _ACK_SECONDS) -> None:
        self._connection = connection
        self._ack_seconds = ack_seconds

    @property
    def reconnects(self) -> int:
        """How often the connection was made again: what came due meanwhile may not have fired."""
        return self._connection.reconnects

    async def set(self, name: str, cron: str) -> None:
        """Let ``name`` fire by a cron expression of six fields, seconds first, in UTC; none is set twice."""
        subject, js = f"{SCHEDULES_PREFIX}.{name}", self._connection.js
        found = await self._last(subject)
        if found is not None and (found.headers or {}).get("Nats-Schedule") == cron:
            return
        headers = {
            "Nats-Schedule": cron,
            "Nats-Schedule-Target": f"{FIRINGS_PREFIX}.{name}",
            _EXPECTED: str(found.seq if found is not None else 0),
        }
        with translated("setting a schedule"):
            try:
                await js.publish(subject, b"", headers=headers, timeout=REQUEST_SECONDS)
            except nats.js.errors.APIError as error:
                if error.err_code not in CONFLICTS:
                    raise
                # Another service set it at the same moment.

    async def get(self, name: str) -> Scheduled | None:
        """Return a schedule as it is set, None where it is not."""
        found = await self._last(f"{SCHEDULES_PREFIX}.{name}")
        if found is None:
            return None
        fired = await self._last(f"{FIRINGS_PREFIX}.{name}")
        cron = (found.headers or {}).get("Nats-Schedule", "")
        return Scheduled(cron, found.time or _LONG_AGO, fired.time if fired is not None else None)

    async def _last(self, subject: str) -> api.RawStreamMsg | None:
        with translated("reading a schedule"):
            try:
                return await self._connection.js.get_last_msg(SCHEDULES_STREAM, subject)
            except nats.js.errors.NotFoundError:
                return None

    async def firings(self) -> AsyncGenerator[Firing | None]:
        """Yield what fires until the connection is closed, and None now and then while nothing does."""
        while not self._connection.closed:
            try:
                async for firing in self._follow(await self._subscribe()):
                    yield firing
            except (nats.errors.Error, OSError, UnavailableError) as error:
                _log.warning("schedules_resume", reason=str(error) or type(error).__name__)
            await asyncio.sleep(_PAUSE)

    async def _subscribe(self) -> JetStreamContext.PullSubscription:
        config = api.ConsumerConfig(
            durable_name=_CONSUMER,
            filter_subject=f"{FIRINGS_PREFIX}.>",
            deliver_policy=api.DeliverPolicy.ALL,
            ack_policy=api.AckPolicy.EXPLICIT,
            ack_wait=self._ack_seconds,
        )
        with translated("following the schedules"):
            await self._connection.js.add_consumer(SCHEDULES_STREAM, config=config)
            return await self._connection.js.pull_subscribe_bind(consumer=_CONSUMER, stream=SCHEDULES_STREAM)

    async def _follow(self, subscription: JetStreamContext.PullSubscription) -> AsyncGenerator[Firing | None]:
        try:
            while True:
                try:
                    (message,) = await subscription.fetch(1, timeout=_ASKED_SECONDS)
                except nats.errors.TimeoutError:
                    yield None
                    continue
                yield Firing(message.subject[len(FIRINGS_PREFIX) + 1 :], message.metadata.timestamp, message)
        finally:
            if self._connection.client.is_connected and not self._connection.client.is_draining:
                await subscription.unsubscribe()

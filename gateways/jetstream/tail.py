"""An ordered consumer: every event once, in stream order, over reconnects and server restarts."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator

import nats.errors
import nats.js.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import api

from domain.errors import UnavailableError
from gateways.jetstream.connection import REQUEST_SECONDS, Connection
from gateways.jetstream.wire import Entry, Tail, entry_from

__all__ = ["OrderedReader"]

_HEARTBEAT = 1.0
#: seconds of silence after which the consumer is thought lost: two heartbeats and a little
_SILENCE = 2.5
_INACTIVE = 10.0
_PAUSE = 0.2
#: seconds to wait for a consumer at first: a leader that died never answers, and views stand still meanwhile
_CREATE_SECONDS = 2.0
_BYTES_WAITING = 256 * 1024**2


class _GapError(Exception):
    """Something is missing between the last message and this one."""


class OrderedReader:
    """Follows one stream from a position.

    A consumer on the server lives as long as its messages are contiguous and its heartbeats come; else
    a new one is made from the position passed, so that nothing is missed and nothing repeated.
    """

    def __init__(self, connection: Connection, stream: str, prefix: str, subject: str, after: int, batch: int) -> None:
        self._connection = connection
        self._stream = stream
        self._prefix = prefix
        self._subject = subject
        self._batch = batch
        self._passed = after
        self._consumer_sequence = 0
        self._reconnects = 0
        self._patience = _CREATE_SECONDS

    async def run(self) -> AsyncGenerator[Tail, None]:
        """Yield what was read, batch by batch; raises UnavailableError when the connection was closed."""
        while not self._connection.closed:
            name = f"tail-{secrets.token_hex(6)}"
            subscription = await self._subscribe()
            try:
                if await self._create(name, subscription.subject):
                    async for part in self._follow(subscription):
                        yield part
            finally:
                await self._drop(name, subscription)
            await asyncio.sleep(_PAUSE)
        raise UnavailableError("the connection to the log was closed", expected="an open connection", found="closed")

    async def _subscribe(self) -> Subscription:
        inbox = self._connection.client.new_inbox()
        try:
            return await self._connection.client.subscribe(inbox, pending_bytes_limit=_BYTES_WAITING)
        except nats.errors.Error as error:
            raise UnavailableError("cannot follow the log", expected="an open connection", found=str(error)) from error

    async def _create(self, name: str, inbox: str) -> bool:
        """Make the consumer; False when the log cannot answer now."""
        config = api.ConsumerConfig(
            name=name,
            deliver_subject=inbox,
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._passed + 1,
            filter_subject=self._subject,
            ack_policy=api.AckPolicy.NONE,
            max_deliver=1,
            idle_heartbeat=_HEARTBEAT,
            flow_control=True,
            inactive_threshold=_INACTIVE,
            num_replicas=1,
            mem_storage=True,
        )
        self._consumer_sequence = 0
        self._reconnects = self._connection.reconnects
        try:
            await self._connection.js.add_consumer(self._stream, config=config, timeout=self._patience)
        except (nats.errors.Error, TimeoutError) as error:
            if isinstance(error, nats.js.errors.NotFoundError | nats.js.errors.BadRequestError):
                raise UnavailableError("cannot follow the log", expected="a stream", found=str(error)) from error
            # The next one gets more time: a server that is merely slow must not be asked for ever.
            self._patience = min(self._patience * 1.5, REQUEST_SECONDS)
            return False
        self._patience = _CREATE_SECONDS
        return True

    async def _follow(self, subscription: Subscription) -> AsyncGenerator[Tail, None]:
        """Yield batches until the consumer is lost."""
        while True:
            entries: list[Entry] = []
            before = self._passed
            try:
                await self._take(await self._next(subscription), entries)
                while subscription.pending_msgs and len(entries) < self._batch:
                    await self._take(await self._next(subscription), entries)
            except (_GapError, nats.errors.Error, TimeoutError):
                if self._passed > before:
                    yield Tail(entries, self._passed)
                return
            if self._passed > before:
                yield Tail(entries, self._passed)

    async def _next(self, subscription: Subscription) -> Msg:
        """Return the next message; a reconnect ends a wait early, its consumer may be gone."""
        waited = 0.0
        while True:
            try:
                return await subscription.next_msg(timeout=_HEARTBEAT / 4)
            except nats.errors.TimeoutError:
                waited += _HEARTBEAT / 4
                if waited >= _SILENCE or self._connection.reconnects != self._reconnects:
                    raise

    async def _take(self, message: Msg, entries: list[Entry]) -> None:
        headers = message.headers or {}
        if headers.get("Status") == "100":
            await self._control(message, headers)
            return
        # $JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>
        tokens = message.reply.split(".")
        position, sequence = int(tokens[-4]), int(tokens[-3])
        if sequence != self._consumer_sequence + 1:
            raise _GapError
        self._consumer_sequence = sequence
        if position > self._passed:
            entries.append(entry_from(message.subject, position, headers, message.data, self._prefix))
            self._passed = position

    async def _control(self, message: Msg, headers: dict[str, str]) -> None:
        """Answer flow control where it stands in the order of messages; learn from a heartbeat how far we are."""
        stalled = headers.get("Nats-Consumer-Stalled", "")
        if message.reply or stalled:
            await self._connection.client.publish(message.reply or stalled)
        if "Nats-Last-Consumer" in headers:
            if int(headers["Nats-Last-Consumer"]) != self._consumer_sequence:
                raise _GapError
            self._passed = max(self._passed, int(headers.get("Nats-Last-Stream", "0")))

    async def _drop(self, name: str, subscription: Subscription) -> None:
        try:
            await subscription.unsubscribe()
            if self._connection.client.is_connected and not self._connection.client.is_draining:
                # Fire and forget: without interest the server removes it anyway.
                await self._connection.client.publish(f"$JS.API.CONSUMER.DELETE.{self._stream}.{name}")
        except nats.errors.Error:
            return

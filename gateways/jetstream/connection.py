"""One NATS connection: requests with one or many replies, and what happens when it is lost."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from domain.errors import RefusedError, UmbrielError, UnavailableError
from gateways.jetstream.errors import ServerError

__all__ = ["REQUEST_SECONDS", "Connection", "LostError", "connect"]

#: Seconds one request may take; outages are bridged by repeating, not by waiting longer.
REQUEST_SECONDS = 5.0
_CONNECT_SECONDS = 10.0
_RECONNECT_WAIT = 0.25
_DRAIN_SECONDS = 5.0
# Messages of one tail or page that may wait in memory; the server is held back long before.
_PENDING = 64 * 1024

T = TypeVar("T", bound=msgspec.Struct)


class LostError(Exception):
    """The connection was lost or re-made while a reply was awaited; the reply may never come."""


class _ApiError(msgspec.Struct, frozen=True):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct, frozen=True):
    error: _ApiError | None = None


class Connection:
    """A connection that reconnects by itself until closed. Open it with `connect`."""

    def __init__(self) -> None:
        self.client = Client()
        self.js: JetStreamContext = self.client.jetstream(timeout=REQUEST_SECONDS)
        self.reconnects = 0
        self._moved = asyncio.Event()
        self._connected = asyncio.Event()
        self._refused = asyncio.Event()
        self._last_error: Exception | None = None
        self._inbox = ""
        self._queues: dict[str, asyncio.Queue[Msg | None]] = {}

    # -- opening and closing --------------------------------------------------------------------

    async def open(
        self, url: str, user: str, password: str, *, seconds: float, name: str, tls: ssl.SSLContext | None = None
    ) -> None:
        """Connect, or raise UnavailableError (nothing there) or RefusedError (wrong name or password)."""
        try:
            async with asyncio.timeout(seconds):
                await self._connect(url, user, password, name, tls)
        except (OSError, nats.errors.Error, TimeoutError) as error:
            await self.client.close()
            raise self._refusal(url, user, self._last_error or error) from error
        self._inbox = self.client.new_inbox()
        await self.client.subscribe(f"{self._inbox}.*", cb=self._on_reply, pending_msgs_limit=_PENDING)
        self._connected.set()

    async def _connect(self, url: str, user: str, password: str, name: str, tls: ssl.SSLContext | None) -> None:
        connecting = asyncio.ensure_future(
            self.client.connect(
                servers=[part.strip() for part in url.split(",")],
                user=user or None,
                password=password or None,
                name=name,
                tls=tls,
                inbox_prefix=f"_INBOX_{user}" if user else "_INBOX",
                max_reconnect_attempts=-1,
                reconnect_time_wait=_RECONNECT_WAIT,  # type: ignore[arg-type]  # seconds; a float works
                error_cb=self._on_error,
                disconnected_cb=self._on_disconnected,
                reconnected_cb=self._on_reconnected,
                drain_timeout=int(_DRAIN_SECONDS),
            )
        )
        # The client would go on trying a wrong password until the time is over.
        refused = asyncio.ensure_future(self._refused.wait())
        try:
            await asyncio.wait({connecting, refused}, return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                raise nats.errors.AuthorizationError
            await connecting
        finally:
            connecting.cancel()
            refused.cancel()
            await asyncio.gather(connecting, refused, return_exceptions=True)

    def _refusal(self, url: str, user: str, error: Exception) -> UmbrielError:
        found = str(error).strip() or type(error).__name__
        if self._refused.is_set():
            return RefusedError(
                f"the NATS server at {url} does not accept {user!r}",
                expected="a known user and its password",
                found="authorization violation",
            )
        return UnavailableError(f"cannot connect to {url}", expected="a NATS server", found=found)

    async def _on_error(self, error: Exception) -> None:
        self._last_error = error
        if "uthoriz" in str(error):
            self._refused.set()

    async def _on_disconnected(self) -> None:
        self._connected.clear()
        self._wake()

    async def _on_reconnected(self) -> None:
        self.reconnects += 1
        self._connected.set()
        self._wake()

    def _wake(self) -> None:
        """Let every waiting request know that its reply may never come."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
        for queue in self._queues.values():
            queue.put_nowait(None)

    async def close(self) -> None:
        """Finish what is under way and close; closing twice does nothing."""
        if self.client.is_closed:
            return
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                # Draining waits for a connection; without one there is nothing to finish.
                await (self.client.drain() if self.client.is_connected else self.client.close())
        except (TimeoutError, nats.errors.Error):
            await self._close_now()
        except OSError:
            # What was to be flushed is lost with the server. nats-py stopped half-way; now it has nothing to flush.
            self.client._status = Client.DISCONNECTED  # noqa: SLF001
            await self._close_now()

    async def _close_now(self) -> None:
        with suppress(OSError):
            await self.client.close()

    @property
    def closed(self) -> bool:
        """Whether the connection was closed for good."""
        return bool(self.client.is_closed)

    async def connected(self, deadline: float) -> None:
        """Wait for a connection until ``deadline`` (monotonic seconds), or raise nats.errors.TimeoutError."""
        if self.client.is_closed or self.client.is_draining:
            raise nats.errors.ConnectionClosedError
        if self._connected.is_set():
            return
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0)):
                await self._connected.wait()
        except TimeoutError:
            raise nats.errors.TimeoutError from None

    # -- requests -------------------------------------------------------------------------------

    async def request(
        self,
        subject: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> Msg:
        """Return the reply to one request; raises errors of the NATS client, LostError when it is lost."""
        asked = asyncio.ensure_future(
            self.client.request(subject, body, timeout=seconds, headers=dict(headers) if headers else None)
        )
        moved = asyncio.ensure_future(self._moved.wait())
        try:
            await asyncio.wait({asked, moved}, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            raise LostError
        finally:
            moved.cancel()
            asked.cancel()

    async def call(self, subject: str, request: bytes, kind: type[T], headers: Mapping[str, str] | None = None) -> T:
        """Return a JetStream answer decoded; raises ServerError when it is an error."""
        reply = await self.request(subject, request, headers)
        error = msgspec.json.decode(reply.data, type=_Answer).error
        if error is not None:
            raise ServerError(error.code, error.err_code, error.description)
        return msgspec.json.decode(reply.data, type=kind)

    @asynccontextmanager
    async def replies(self, subject: str, body: bytes) -> AsyncIterator[asyncio.Queue[Msg | None]]:
        """Send a request that has many replies; they arrive in the queue in order, None when the connection is lost."""
        token = secrets.token_hex(8)
        queue = self._queues[token] = asyncio.Queue()
        try:
            await self.client.publish(subject, body, reply=f"{self._inbox}.{token}")
            yield queue
        finally:
            del self._queues[token]

    async def _on_reply(self, message: Msg) -> None:
        queue = self._queues.get(message.subject.rpartition(".")[2])
        if queue is not None:
            queue.put_nowait(message)


async def connect(
    url: str,
    user: str = "",
    password: str = "",
    *,
    seconds: float = _CONNECT_SECONDS,
    name: str = "umbriel",
    tls: ssl.SSLContext | None = None,
) -> Connection:
    """Return an open connection as one NATS user.

    It waits up to ``seconds`` for the first connection and reconnects for ever afterwards. Raises
    UnavailableError or RefusedError.
    """
    deadline = time.monotonic() + seconds
    while True:
        connection = Connection()
        left = max(deadline - time.monotonic(), 0)
        try:
            await connection.open(url, user, password, seconds=left, name=name, tls=tls)
        except UnavailableError as error:
            # A server that refuses may close before its reason was read; the next try reads it.
            if not isinstance(error.__cause__, ConnectionResetError) or time.monotonic() + _RECONNECT_WAIT > deadline:
                raise
            await asyncio.sleep(_RECONNECT_WAIT)
        else:
            return connection

"""The embedded server kept alive: one that ends by itself is started again, or the service ends and says why.

Acknowledged writes are on disk, so that nothing is lost by it; connections come back by themselves, for it is at the
same port again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import nats.errors
import structlog

from domain.errors import UmbrielError, UnavailableError
from gateways.jetstream.server import NatsServer

__all__ = ["keep", "let_go"]

_log = structlog.get_logger(__name__)
_POLL = 0.25
_PAUSE = 0.25
_MOST_PAUSE = 8.0
#: starts in a row that come to nothing, or last for less than ``_STEADY`` seconds
_TRIES = 6
_STEADY = 60.0


async def keep(server: NatsServer, *, tries: int = _TRIES, pause: float = _PAUSE) -> None:
    """Look after a server until cancelled; raises UnavailableError when it cannot be kept alive."""
    failed, since, reason = 0, time.monotonic(), ""
    while True:
        await asyncio.sleep(_POLL)
        if not server.died:
            failed = 0 if time.monotonic() - since > _STEADY else failed
            continue
        if failed >= tries:
            raise UnavailableError(
                "the NATS server ended and does not stay up",
                expected="a running server; its log is nats/nats.log in the data directory",
                found=reason or f"{failed} starts in a row in vain",
            )
        _log.error("nats_server_ended", starting_again_in=(wait := min(pause * 2**failed, _MOST_PAUSE)))
        await asyncio.sleep(wait)
        failed, since = failed + 1, time.monotonic()
        reason = await _started(server)


async def _started(server: NatsServer) -> str:
    """Start the server again; returns why it does not come up, empty where it does. A start is never left half-way."""
    starting = asyncio.create_task(asyncio.to_thread(server.start_again))
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting])
        raise
    except UmbrielError as error:
        return str(error)
    _log.info("nats_server_started_again", pid=server.pid)
    return ""


async def let_go(stop: Callable[[], Awaitable[object]]) -> None:
    """Stop what answers over a connection; one that is not up has nothing left to send, and is no reason to fail."""
    try:
        await stop()
    except nats.errors.Error as error:
        _log.warning("stopped_without_connection", reason=str(error))

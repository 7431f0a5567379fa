"""The server that runs the application: uvicorn, on the loop that everything else of the service lives on.

It is pure Python and runs inside a loop that is not its own; the service keeps its signals, its logs and its shutdown.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import uvicorn

from domain.errors import AlreadyRunningError, InvalidInputError
from gateways.rest.app import Rest

__all__ = ["HttpAddress", "http_address", "serving"]

#: Seconds that answers under way have when the service stops.
_GRACE_SECONDS = 5
_START_POLL = 0.01
_HEADER_BYTES = 32_768
_LARGEST_PORT = 65_535


class HttpAddress(msgspec.Struct, frozen=True):
    """Where to listen; port 0 is a free one. ``certificate`` and ``key`` are what makes it HTTPS."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None


def http_address(text: str, *, certificate: Path | None = None, key: Path | None = None) -> HttpAddress:
    """Return the address that ``HOST:PORT`` says, or raise InvalidInputError."""
    host, colon, port = text.rpartition(":")
    number = int(port) if port.isascii() and port.isdecimal() and len(port) < len("100000") else -1
    if not (colon and host and 0 <= number <= _LARGEST_PORT) or (":" in host and not host.startswith("[")):
        raise InvalidInputError(
            "not an address to serve HTTP on", expected="HOST:PORT, as 127.0.0.1:8400 or [::1]:8400", found=repr(text)
        )
    return HttpAddress(host.strip("[]"), number, certificate, key)


class _Server(uvicorn.Server):
    """A server that leaves the process's signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


@asynccontextmanager
async def serving(rest: Rest, address: HttpAddress) -> AsyncIterator[str]:
    """Serve until the context ends; yields the URL. Raises AlreadyRunningError when the port is taken."""
    listening = _listen(address)
    server = _Server(
        uvicorn.Config(
            rest.app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            ssl_certfile=address.certificate,
            ssl_keyfile=address.key,
        )
    )
    task = asyncio.create_task(server.serve(sockets=[listening]), name="http")
    try:
        while not server.started and not task.done():  # noqa: ASYNC110 -- the server has no event for it
            await asyncio.sleep(_START_POLL)
        if task.done():
            task.result()
        yield _url(address, listening)
    finally:
        rest.close()
        server.should_exit = True
        await task


def _listen(address: HttpAddress) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise InvalidInputError(
            "no such address to serve HTTP on", expected="an address of this machine", found=address.host
        ) from error
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen()
    except OSError as error:
        listening.close()
        raise AlreadyRunningError(
            "cannot listen for HTTP", expected="a free port of this machine", found=f"{address.host}: {error}"
        ) from error
    listening.setblocking(False)  # noqa: FBT003 -- the socket's own signature
    return listening


def _url(address: HttpAddress, listening: socket.socket) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    scheme = "https" if address.certificate else "http"
    return f"{scheme}://{host}:{listening.getsockname()[1]}"

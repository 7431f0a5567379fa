"""The running service over HTTP: what joins the REST API to the service, its principals and its certificate."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from domain.errors import InvalidInputError
from gateways.bootstrap import Runtime
from gateways.jetstream.tls import Tls, is_loopback
from gateways.rest import HttpAddress, Rest, http_address, serving

__all__ = ["Web", "over_http", "web_address"]


class Web(msgspec.Struct, frozen=True):
    """A REST API that is served: where, and its own figures."""

    url: str
    rest: Rest


def web_address(text: str, tls: Tls | None) -> HttpAddress:
    """Return where to serve HTTP, or raise InvalidInputError: others than this machine are served with TLS only."""
    address = http_address(text, certificate=tls.certificate if tls else None, key=tls.key if tls else None)
    if tls is None and not is_loopback(address.host):
        raise InvalidInputError(
            "the REST API would be reachable from outside without TLS",
            expected="--tls-cert and --tls-key, or a loopback address",
            found=f"--http {text}",
        )
    return address


@asynccontextmanager
async def over_http(runtime: Runtime, address: HttpAddress) -> AsyncIterator[Web]:
    """Serve the REST API of a running service until the context ends.

    Raises AlreadyRunningError when the port is taken.
    """
    principals = runtime.principals
    rest = Rest(
        runtime.service,
        principals.of_token,
        loopback=is_loopback(address.host),
        connected=runtime.api.connected,
        tasks=lambda: runtime.tasks,
    )
    async with serving(rest, address) as url:

        async def here() -> str:
            return url

        runtime.service.inspector.place = here
        yield Web(url, rest)

"""Serving until told to stop: what ``umbriel serve`` runs, with the providers that are configured."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
import structlog

from domain.errors import UnavailableError
from domain.settings import Settings
from gateways.bootstrap import LOOPBACK, Runtime, running
from gateways.jetstream.tls import Tls
from gateways.providing import provider_set
from gateways.server_settings import load_settings

if TYPE_CHECKING:
    from gateways.web import Web

__all__ = ["serve"]

_OverHttp = Callable[[Runtime], "AbstractAsyncContextManager[Web]"]

_log = structlog.get_logger(__name__)
_IDLE_POLL = 1.0


async def serve(
    data: Path,
    *,
    port: int | None = None,
    nats: str | None = None,
    exit_when_idle: bool = False,
    bind: str = LOOPBACK,
    tls: Tls | None = None,
    tls_ca: Path | None = None,
    settings: Settings | None = None,
    http: str = "",
) -> None:
    """Run the service until SIGTERM, SIGINT, or (with ``exit_when_idle``) nobody has asked for a while.

    With ``http`` (``HOST:PORT``) the REST API is served too.
    """
    over_http = _over_http(http, tls)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    settings = await asyncio.to_thread(load_settings, data, settings)
    async with AsyncExitStack() as stack:
        providers = await asyncio.to_thread(provider_set, data, settings)
        stack.push_async_callback(providers.close)
        runtime = await stack.enter_async_context(
            running(
                data,
                port=port,
                nats=nats,
                settings=settings,
                embedder=providers.embedder,
                embedder_reaches=providers.embedder_reaches,
                managed=providers.managed,
                bind=bind,
                tls=tls,
                tls_ca=tls_ca,
                models=providers.models,
                meter=providers.meter,
            )
        )
        endpoint = data / "endpoint.json"
        webs = _Webs(runtime, stack, lambda url: _publish_endpoint(endpoint, runtime.url, url, tls, tls_ca))
        if over_http:
            await webs.open(over_http)
        else:
            webs.publish("")
            runtime.service.inspector.place = webs.place
        _log.info("serving", url=runtime.url, http=webs.web.url if webs.web else "", data=str(data))
        try:
            while not stop.is_set() and not (exit_when_idle and _is_idle(runtime, webs.web, settings)):
                _check_tasks(runtime.tasks)
                await _wait(stop, _IDLE_POLL)
        finally:
            await webs.close()
            endpoint.unlink(missing_ok=True)
    _log.info("stopped")


class _Edge(Protocol):
    """What answers requests, and when it did last."""

    last_request: float
    active: int


class _Webs:
    """The REST API of a running service: served from the start, or from when the inspector is asked for.

    ``publish`` is told where it is. After `close` none is opened any more; what is open ends with the service.
    """

    def __init__(self, runtime: Runtime, stack: AsyncExitStack, publish: Callable[[str], None]) -> None:
        self._runtime = runtime
        self._stack = stack
        self._lock = asyncio.Lock()
        self._closed = False
        self.publish = publish
        self.web: Web | None = None

    async def open(self, over_http: _OverHttp) -> Web:
        """Serve, unless it is served already, and return where."""
        async with self._lock:
            if self._closed:
                raise UnavailableError("the service is stopping", expected="a running service", found="one that stops")
            if self.web is None:
                self.web = await self._stack.enter_async_context(over_http(self._runtime))
                self.publish(self.web.url)
            return self.web

    async def place(self) -> str:
        """Return the URL, serving on a free loopback port where HTTP was not asked for."""
        over_http = _over_http(f"{LOOPBACK}:0", None)
        assert over_http is not None  # noqa: S101 -- an address was given
        return (await self.open(over_http)).url

    async def close(self) -> None:
        """Open none any more."""
        async with self._lock:
            self._closed = True


def _over_http(http: str, tls: Tls | None) -> _OverHttp | None:
    """Return what serves HTTP, None where nothing is to; a wrong address is an error before anything starts."""
    if not http:
        return None
    from gateways import web

    address = web.web_address(http, tls)
    return lambda runtime: web.over_http(runtime, address)


def _publish_endpoint(path: Path, url: str, http: str, tls: Tls | None, authority: Path | None) -> None:
    # Whoever joins here does so over loopback and trusts this very certificate, as the service itself does.
    shown = {
        "url": url,
        "http": http,
        "pid": os.getpid(),
        "version": version("umbriel-server"),
        "tls_certificate": str(tls.certificate.absolute()) if tls else "",
        "tls_ca": str(authority.absolute()) if authority and not tls else "",
    }
    body = msgspec.json.encode(shown)
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
    temporary.replace(path)


def _is_idle(runtime: Runtime, web: Web | None, settings: Settings) -> bool:
    edges: list[_Edge] = [runtime.api, *([web.rest] if web else [])]
    core, quiet = runtime.service.core, time.monotonic() - max(edge.last_request for edge in edges)
    settled = core.worker.idle and core.rebuilds.idle and core.past.idle and core.forwarded()
    settled = settled and (core.daily is None or core.daily.idle) and (core.backups is None or core.backups.idle)
    settled = settled and (core.erasures is None or core.erasures.idle)
    working = not (settled and (core.thinking is None or core.thinking.idle))
    return not (any(edge.active for edge in edges) or working) and quiet > settings.idle_seconds


def _check_tasks(tasks: list[asyncio.Task[None]]) -> None:
    """A worker never ends by itself; one that did takes the service down with its reason."""
    for task in tasks:
        if task.done():
            task.result()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return

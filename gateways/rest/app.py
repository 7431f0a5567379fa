"""The HTTP application: one handler a way to a verb, all made by one function, and the pages about it.

What arrives is put together into the body that the verb has on NATS and goes to the one service that answers all
surfaces; who speaks follows from the bearer token, what he may from his grants, and nothing from the payload.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import structlog
from litestar import Litestar, Request, Response, get, post, route
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp

from domain.errors import ConflictError, InvalidInputError, UmbrielError
from domain.grants import Principal
from gateways.rest.access import Access, Speaker
from gateways.rest.answering import HEADERS, answered
from gateways.rest.docs import CONTENT_POLICY, page
from gateways.rest.edge import Edge
from gateways.rest.feed import EVENT_STREAM, Feeds
from gateways.rest.health import Health
from gateways.rest.login import LOGIN_PATH, log_in
from gateways.rest.openapi import document
from gateways.rest.problems import HttpError, no_such_path, not_allowed, precondition, problem
from gateways.rest.reading import BODY_BYTES, profile_of, read
from gateways.rest.routes import Route, routes
from gateways.rest.site import site_handlers
from gateways.service.service import VERBS, Service

__all__ = ["Rest"]

_FEED = "feed"
_log = structlog.get_logger(__name__)

AnyRequest = Request[Any, Any, Any]
AnyResponse = Response[Any]


class Rest:
    """Answers HTTP requests; ``principal_of`` returns whose a token is now, ``app`` is what a server runs.

    With ``loopback`` only this machine's own names are answered. ``connected`` and ``tasks`` tell whether the rest of
    the service works.
    """

    def __init__(
        self,
        service: Service,
        principal_of: Callable[[str], Principal | None],
        *,
        loopback: bool,
        connected: Callable[[], Awaitable[bool]],
        tasks: Callable[[], Sequence[asyncio.Task[None]]],
    ) -> None:
        self._service = service
        self._access = Access(principal_of, service.refusals)
        self._feeds = Feeds(service, self._access, self._working)
        self._health = Health(service.core, connected, tasks)
        self.last_request = time.monotonic()
        self.active = 0
        self.app: ASGIApp = Edge(self._litestar(), loopback=loopback)

    def close(self) -> None:
        """Send the feeds that wait home, so that their connections can end."""
        self._service.core.feeds.close()

    def _litestar(self) -> Litestar:
        return Litestar(
            [
                *(self._handler(way) for verb in VERBS for way in routes(verb)),
                *self._pages(),
                *site_handlers(),
                self._login(),
            ],
            openapi_config=None,
            request_max_body_size=BODY_BYTES,
            exception_handlers={HTTPException: _unrouted, Exception: _failed},
            logging_config=None,
        )

    def _handler(self, way: Route) -> Any:
        @route(way.path.replace("}", ":str}"), http_method=[way.method], status_code=200, name=way.name)
        async def answer(request: AnyRequest) -> AnyResponse:
            with self._working():
                return await self._answer(way, request)

        return answer

    @contextmanager
    def _working(self) -> Iterator[None]:
        self.active += 1
        self.last_request = time.monotonic()
        try:
            yield
        finally:
            self.active -= 1
            self.last_request = time.monotonic()

    async def _answer(self, way: Route, request: AnyRequest) -> AnyResponse:
        try:
            speaker = self._access.speaker(request, way.verb)
            body, profile = await self._read(way, request, speaker)
            if way.verb == _FEED:
                return await self._feed(way, request, speaker, profile, body)
            return answered(way, profile, await self._service.call(way.verb, speaker.principal, profile, body))
        except ConflictError as error:
            return problem(precondition(error) if "if-match" in request.headers else error)
        except (UmbrielError, HttpError) as error:
            return problem(error)
        except Exception as error:  # noqa: BLE001 -- a defect must answer too
            _log.exception("request_failed", verb=way.verb)
            return problem(error, way.verb)

    async def _read(self, way: Route, request: AnyRequest, speaker: Speaker) -> tuple[bytes, str]:
        try:
            return await read(request, way), profile_of(request)
        except (InvalidInputError, HttpError) as error:
            self._service.refusals.note_invalid(speaker.principal.name, way.verb, error.message)
            raise

    async def _feed(self, way: Route, request: AnyRequest, speaker: Speaker, profile: str, body: bytes) -> AnyResponse:
        if EVENT_STREAM in request.headers.get("accept", ""):
            return await self._feeds.stream(speaker, profile, body)
        return answered(way, profile, await self._feeds.page(speaker, profile, body))

    def _login(self) -> Any:
        @post(LOGIN_PATH, status_code=200)
        async def login(request: AnyRequest) -> AnyResponse:
            with self._working():
                return await log_in(request, self._access, self._service.inspector)

        return login

    def _pages(self) -> Sequence[Any]:
        described = document()
        schema, shown = msgspec.json.encode(described), page(described)

        @get("/healthz")
        async def healthz() -> AnyResponse:
            return Response(b'{"status":"ok"}', media_type="application/json", headers=HEADERS)

        @get("/readyz")
        async def readyz() -> AnyResponse:
            found = await self._health.ready()
            return Response(
                msgspec.json.encode(found),
                status_code=200 if found.ready else 503,
                media_type="application/json",
                headers=HEADERS,
            )

        @get("/schema/openapi.json")
        async def openapi() -> AnyResponse:
            return Response(schema, media_type="application/json", headers={"X-Content-Type-Options": "nosniff"})

        @get("/docs")
        async def docs() -> AnyResponse:
            return Response(shown, media_type="text/html", headers=CONTENT_POLICY)

        return healthz, readyz, openapi, docs


def _unrouted(request: AnyRequest, error: HTTPException) -> AnyResponse:
    """Answer for a path or a method that is none."""
    match error.status_code:
        case 404:
            return problem(no_such_path(request.scope["path"]))
        case 405:
            allowed = {name.lower(): value for name, value in (error.headers or {}).items()}.get("allow", "")
            return problem(not_allowed(request.method, ", ".join(sorted(allowed.split(", ")))))
    return problem(HttpError(error.status_code, "invalid", str(error.detail)))


def _failed(request: AnyRequest, error: Exception) -> AnyResponse:
    _log.error("request_failed", path=request.scope.get("path_template", ""), exc_info=error)
    return problem(error)

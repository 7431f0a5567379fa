"""What is looked at before a request is routed: under which name the service was called, and how its path is cut.

A path is cut at its slashes before it is decoded, so that a session or a contact may hold one; nothing is normalised,
so that a name left out is an error and not another path.
"""

from __future__ import annotations

from typing import Any

import msgspec
from litestar.enums import ScopeType
from litestar.response.base import ASGIResponse
from litestar.types import ASGIApp, Receive, Scope, Send

from gateways.rest.access import check_host
from gateways.rest.problems import PROBLEM_TYPE, HttpError, no_such_path, problem_of

__all__ = ["Edge"]


class Edge:
    """An ASGI application before another; with ``loopback`` only this machine's own names are answered."""

    def __init__(self, app: ASGIApp, *, loopback: bool) -> None:
        self._app = app
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and hand it on."""
        if scope["type"] != ScopeType.HTTP:
            return
        try:
            if self._loopback:
                check_host({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
            path = _path(scope)
        except HttpError as error:
            await _refuse(error, scope, receive, send)
        else:
            scope["path"] = path
            await self._app(scope, receive, send)


def _path(scope: Any) -> str:
    raw = bytes(scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0].decode("latin-1")
    if "//" in raw or (raw != "/" and raw.endswith("/")):
        raise no_such_path(raw)
    return raw


async def _refuse(error: HttpError, scope: Scope, receive: Receive, send: Send) -> None:
    response = ASGIResponse(
        body=msgspec.json.encode(problem_of(error)), status_code=error.status, media_type=PROBLEM_TYPE
    )
    await response(scope, receive, send)

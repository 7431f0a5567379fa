"""Streamable HTTP in front of the MCP server: who calls it shows a token."""

from __future__ import annotations

import hmac
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gateways.mcp.server import SPEAKER, Connection
from gateways.mcp.speakers import Speakers
from umbriel import InvalidInputError, RefusedError, UmbrielError

__all__ = ["http_app"]

_SCHEME = "bearer "
#: how many characters a token may have; more is none, and is not asked about
_TOKEN_CHARS = 200


def http_app(server: Server[Any], speakers: Speakers, *, token: str, host: str, port: int) -> ASGIApp:
    """Return the application that answers at ``/mcp`` whoever sends ``Authorization: Bearer TOKEN``.

    That is ``token``, for the principal and the profile of this server, or the token of any agent, as for the REST
    API: then its principal speaks, with its grants, for the profile that they name or that ``/mcp?profile=`` does.
    Only requests that name this host and port are answered, so that no web page reaches it by a name of its own.
    """
    names = [f"{host}:{port}", f"127.0.0.1:{port}", f"localhost:{port}"]
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    # Without sessions each request stands for itself, and nobody can go on in another's.
    app = server.streamable_http_app(host=host, transport_security=security, stateless_http=True)
    return _Guard(app, speakers, token)


class _Guard:
    def __init__(self, app: ASGIApp, speakers: Speakers, token: str) -> None:
        self._app = app
        self._speakers = speakers
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope[SPEAKER] = await self._speaker(scope)
        except UmbrielError as error:
            await _refused(error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _speaker(self, scope: Scope) -> Connection:
        given = Headers(scope=scope).get("authorization", "")
        token = given[len(_SCHEME) :].strip() if given[: len(_SCHEME)].lower() == _SCHEME else ""
        if hmac.compare_digest(token.encode(), self._token):
            return self._speakers.own
        if not token or len(token) > _TOKEN_CHARS or not token.isascii():
            raise RefusedError(
                "who speaks is not known",
                expected="Authorization: Bearer and the token that the server printed, or one of an agent",
                found="no token" if not token else "a token that is none",
            )
        return await self._speakers.of(token, QueryParams(scope["query_string"]).get("profile", ""))


def _refused(error: UmbrielError) -> PlainTextResponse:
    """Return what a client is told that is not let in."""
    status = 400 if isinstance(error, InvalidInputError) else 401 if isinstance(error, RefusedError) else 503
    return PlainTextResponse(
        f"{error.code}: {error}", status_code=status, headers={"WWW-Authenticate": 'Bearer realm="umbriel"'}
    )

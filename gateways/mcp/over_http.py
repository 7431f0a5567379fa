"""Streamable HTTP in front of the MCP server: who calls it shows a token."""

from __future__ import annotations

import hmac
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["http_app"]


def http_app(server: Server[Any], *, token: str, host: str, port: int) -> ASGIApp:
    """Return the application that answers at ``/mcp`` whoever sends ``Authorization: Bearer TOKEN``.

    Only requests that name this host and port are answered, so that no web page reaches it by a name of its own.
    """
    names = [f"{host}:{port}", f"127.0.0.1:{port}", f"localhost:{port}"]
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
    return _Guard(server.streamable_http_app(host=host, transport_security=security), token)


class _Guard:
    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "")
            if not hmac.compare_digest(given.encode(), self._expected):
                refusal = PlainTextResponse(
                    "refused: expected Authorization: Bearer and the token that the server printed", status_code=401
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

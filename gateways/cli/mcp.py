"""``umbriel mcp``: the memory as tools for a language model."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from gateways.agents import check_agent
from gateways.cli import errors, options
from gateways.cli.session import AGENT, DEFAULT_PROFILE, Target, carry_out
from umbriel import InvalidInputError, Umbriel

__all__ = ["mcp"]

_TOKEN = "UMBRIEL_MCP_TOKEN"  # noqa: S105 -- where it is, not what it is
_PORTS = 65_536


def mcp(
    *,
    every: Annotated[
        bool, typer.Option("--all-tools", help="Offer every verb that an agent may call, not the five usual ones.")
    ] = False,
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP at /mcp instead of stdio.")
    ] = "",
    profile: options.Profile = None,
    data: options.Data = None,
    nats: options.Nats = None,
    principal: options.Principal = AGENT,
) -> None:
    """Serve the memory over the Model Context Protocol, on stdin and stdout, until the client hangs up.

    A model speaks as an agent, never as a person. Over HTTP it shows a token: that of UMBRIEL_MCP_TOKEN, or the one
    that is printed at the start, or one that `umbriel principal token` made for an agent, which speaks with its grants.
    """
    place = _place(http) if http else None
    target = Target(data, nats, principal)
    carry_out(lambda: _serve(target, profile or DEFAULT_PROFILE, place, every=every))


async def _serve(target: Target, profile: str, place: tuple[str, int] | None, *, every: bool) -> None:
    # Imported here: no other command needs the protocol.
    from gateways.mcp import (
        DEFAULT_TOOLS,
        Connection,
        Speakers,
        build,
        every_tool,
        http_app,
        over_stdio,
    )

    async def connect() -> Umbriel:
        client = await target.connect(profile)
        try:
            await check_agent(client)
        except BaseException:
            await client.close()
            raise
        return client

    connection = Connection(connect)
    try:
        # At once, so that what is wrong is said before a model asks.
        await connection.client()
        server = build(connection, every_tool() if every else DEFAULT_TOOLS)
        if place is None:
            await over_stdio(server)
        else:
            await _over_http(partial(http_app, server, Speakers(connection, profile)), *place)
    finally:
        await connection.close()


async def _over_http(make: Callable[..., Any], host: str, port: int) -> None:
    import uvicorn

    given = os.environ.get(_TOKEN)
    token = given or secrets.token_urlsafe(24)
    if not given:
        errors.line(f"token: {token}")
    errors.line(f"MCP at http://{host}:{port}/mcp")
    app = make(token=token, host=host, port=port)
    await uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="warning")).serve()


def _place(text: str) -> tuple[str, int]:
    """Return host and port; without TLS only this machine's own."""
    host, _, port = text.rpartition(":")
    if not (port.isdigit() and 0 < int(port) < _PORTS):
        raise InvalidInputError("not a place to listen at", expected="HOST:PORT", found=text[:80])
    if host not in ("127.0.0.1", "localhost"):
        raise InvalidInputError(
            "MCP over HTTP has no TLS", expected="127.0.0.1, behind a proxy that has it", found=host[:80]
        )
    return host, int(port)

"""``umbriel inspect``: the web inspector, opened in a browser."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel.inspecting import InspectReply

__all__ = ["inspect"]


@verb
async def inspect(
    session: Session,
    *,
    as_: Annotated[str, typer.Option("--as", metavar="NAME", help="Whom to log in; you when not given.")] = "",
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the link in a browser.")] = True,
) -> None:
    """Open the web inspector: join or start the service, let it serve HTTP, and log in with a link that works once."""
    reply = await session.client.inspect(as_)
    session.show(reply, lambda: _show(reply, session.profile))
    if open_ and not session.json:
        _open(_link(reply, session.profile))


def _link(reply: InspectReply, profile: str | None) -> str:
    return f"{reply.link}&profile={profile}" if profile else reply.link


def _show(reply: InspectReply, profile: str | None) -> None:
    # Alone on its line, so that it can be copied, or taken by a script.
    output.write_text(_link(reply, profile))
    until = output.when(reply.expires_at)
    typer.echo(f"It logs {reply.principal} in, once, until {until}: keep it to yourself.", err=True)


def _open(link: str) -> None:
    """Open a link where there is a browser; where there is none the printed link is enough."""
    try:
        webbrowser.open(link)
    except webbrowser.Error:
        return

"""``umbriel sessions``: which conversations there are."""

from __future__ import annotations

from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.options import AtLeast
from gateways.cli.session import Session, verb

__all__ = ["sessions"]


@verb
async def sessions(
    session: Session,
    *,
    contact: Annotated[str, typer.Option("--contact", help="Only of this contact; * is everybody.")] = "*",
    cursor: Annotated[str, typer.Option("--cursor", help="Where the page before ended.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many, up to 500.")] = 50,
    at_least: AtLeast = "",
) -> None:
    """List conversations, the one heard last first."""
    reply = await session.client.list_sessions(contact=contact, cursor=cursor, limit=limit, at_least=at_least)

    def people() -> None:
        rows = [
            (one.session, one.contact, one.messages, output.when(one.first_at), output.when(one.last_at))
            for one in reply.sessions
        ]
        output.table(f"at {reply.position}", ("session", "contact", "messages", "first", "last"), rows)
        if reply.cursor:
            output.say(f"More: --cursor {reply.cursor}")

    session.show(reply, people)

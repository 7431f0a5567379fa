"""Commands about conversations: what was said, looked for where it was said."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from gateways.cli import output
from gateways.cli.options import AtLeast, Contact, Time
from gateways.cli.reads import show_results
from gateways.cli.session import Session, verb

__all__ = ["recall_conversation"]


@verb
async def recall_conversation(
    session: Session,
    *,
    query: Annotated[str, typer.Argument(help="What to look for, in plain words.")],
    mode: Annotated[str, typer.Option("--mode", help="semantic, keyword or hybrid.")] = "semantic",
    scope: Annotated[str, typer.Option("--scope", help="contact, conversation or all.")] = "",
    of_session: Annotated[str, typer.Option("--session", help="Only messages of this session.")] = "",
    contact: Contact = "",
    role: Annotated[str, typer.Option("--role", help="Only what user, assistant, system or tool said.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many messages.")] = 10,
    since: Time = None,
    until: Time = None,
    at_least: AtLeast = "",
) -> None:
    """Look for messages, in a session, in a contact's sessions or in all; best first."""
    reply = await session.client.recall_conversation(
        query,
        mode=cast("Any", mode),
        scope=cast("Any", scope),
        session=of_session,
        contact=contact,
        role=cast("Any", role),
        limit=limit,
        since=since,
        until=until,
        at_least=at_least,
    )

    def people() -> None:
        if not reply.messages:
            output.say("Nothing was said about that.")
            return
        show_results(f"at {reply.position}", reply.messages)
        if reply.truncated:
            output.say("More was found than fits the limit.")

    session.show(reply, people)

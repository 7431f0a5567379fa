"""Commands about conversations: what was said, looked for where it was said."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from gateways.cli import output
from gateways.cli.options import AtLeast, Contact, Time, Visible
from gateways.cli.reads import show_results
from gateways.cli.session import Session, verb
from umbriel.messages import SaidMessage

__all__ = ["context", "messages", "recall_conversation", "summary"]


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
    visibility: Visible = "complete",
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
        visibility=cast("Any", visibility),
    )

    def people() -> None:
        if not reply.messages:
            output.say("Nothing was said about that.")
            return
        show_results(f"at {reply.position}", reply.messages)
        if reply.truncated:
            output.say("More was found than fits the limit.")

    session.show(reply, people)


@verb
async def messages(
    session: Session,
    *,
    of_session: Annotated[str, typer.Argument(metavar="SESSION", help="The session to read word for word.")],
    newest: Annotated[bool, typer.Option("--newest", help="From the end on, not from the beginning.")] = False,
    after: Annotated[str, typer.Option("--after", help="Only what was recorded after this position.")] = "",
    cursor: Annotated[str, typer.Option("--cursor", help="Where the page before ended.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many, up to 500.")] = 50,
    at_least: AtLeast = "",
) -> None:
    """Show the messages of a session as they were said."""
    reply = await session.client.messages(
        of_session, order="newest" if newest else "oldest", after=after, cursor=cursor, limit=limit, at_least=at_least
    )

    def people() -> None:
        if not reply.messages:
            output.say("Nothing was said in that session.")
            return
        rows = [(output.when(one.at or one.recorded_at), _who(one), one.content, one.id) for one in reply.messages]
        output.table(f"at {reply.position}", ("at", "who", "text", "id"), rows)
        if reply.cursor:
            output.say(f"More: --cursor {reply.cursor}")

    session.show(reply, people)


def _who(said: SaidMessage) -> str:
    return f"{said.name} ({said.role})" if said.name else said.role


@verb
async def context(
    session: Session,
    *,
    of_session: Annotated[str, typer.Argument(metavar="SESSION", help="The session a model is to go on with.")],
    query: Annotated[str, typer.Option("--query", help="What to recall for; what the user said last when empty.")] = "",
    budget: Annotated[int, typer.Option("--budget", help="At most so many tokens, by our estimate.")] = 8_000,
    format_: Annotated[str, typer.Option("--format", help="parts, openai or anthropic.")] = "parts",
    contact: Contact = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many memories.")] = 20,
    resume: Annotated[bool, typer.Option("--resume", help="Take over a turn that stopped.")] = False,
    reference_date: Time = None,
    at_least: AtLeast = "",
) -> None:
    """Show everything a model is to see of a session: notes, task, memories, and the conversation within a budget."""
    reply = await session.client.context(
        of_session,
        query=query,
        budget=budget,
        format=cast("Any", format_),
        contact=contact,
        limit=limit,
        resume=resume,
        reference_date=reference_date,
        at_least=at_least,
    )

    def people() -> None:
        rows = [(one.kind, one.role, one.tokens, one.text + (" …" if one.cut else "")) for one in reply.parts]
        output.table(f"{reply.total} of {reply.budget} tokens", ("part", "role", "tokens", "text"), rows)
        if reply.covering:
            output.say("A summary is being made of what there was no room for.")

    session.show(reply, people)


@verb
async def summary(
    session: Session,
    *,
    of_session: Annotated[str, typer.Argument(metavar="SESSION", help="The session to tell in a page.")],
    at_least: AtLeast = "",
) -> None:
    """Tell a session in Markdown: what was said and learnt, what is open, and the session before it."""
    reply = await session.client.summary(of_session, at_least=at_least)
    session.show(reply, lambda: output.write_text(reply.markdown))

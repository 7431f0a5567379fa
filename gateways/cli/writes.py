"""The command that states a memory: remember."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import msgspec
import typer

from gateways.cli import output
from gateways.cli.options import Contact, Time
from gateways.cli.session import Session, verb
from umbriel import InvalidInputError, Kind, RememberReply

__all__ = ["remember"]


@verb
async def remember(
    session: Session,
    *,
    content: Annotated[str, typer.Argument(help="What to remember, in one sentence.")],
    key: Annotated[str, typer.Option("--key", help="A look-up name; other content under it supersedes.")] = "",
    kind: Annotated[str | None, typer.Option("--kind", help="fact, event, instruction or task.")] = None,
    fact_type: Annotated[str, typer.Option("--fact-type", help="preference, decision, skill, …")] = "",
    contact: Contact = "",
    agent: Annotated[bool, typer.Option("--agent", help="Agent-wide, whoever is spoken with.")] = False,
    in_session: Annotated[str, typer.Option("--session", help="The session this came up in.")] = "",
    occurred_at: Time = None,
    valid_from: Time = None,
    valid_to: Time = None,
    expires_at: Time = None,
    metadata: Annotated[str, typer.Option("--metadata", help="A JSON object of at most 4 KiB.")] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Return when it can be found by every channel.")] = False,
) -> None:
    """Remember one thing."""
    scope: Literal["", "agent"] = "agent" if agent else ""
    reply = await session.client.remember(
        content,
        key=key,
        kind=cast("Kind | None", kind),
        fact_type=fact_type,
        contact=contact,
        scope=scope,
        session=in_session,
        occurred_at=occurred_at,
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=expires_at,
        metadata=_metadata(metadata),
        wait=wait,
    )
    session.show(reply, lambda: output.say(_outcome(reply)))


def _metadata(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except msgspec.MsgspecError as error:
        raise InvalidInputError("--metadata is not usable", expected="a JSON object", found=str(error)) from error


def _outcome(reply: RememberReply) -> str:
    memory = reply.memory.id
    return {
        "remembered": f"Remembered as {memory}.",
        "superseded": f"Remembered as {memory}; it supersedes {reply.superseded}.",
        "duplicate": f"Already known as {memory}; nothing was written.",
        "noted": f"A person said otherwise in {memory}, which stays; the contradiction is noted.",
        "late": f"Remembered as {memory}; what was said later stays live.",
        "blocked": f"It rests on what was said for {memory}, which is over; nothing was written.",
        "repeated": f"This request was carried out before, as {memory}; nothing was written.",
    }[reply.outcome]

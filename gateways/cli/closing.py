"""Commands that end or delete a session: end-session, delete-session."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel import InvalidInputError

__all__ = ["delete_session", "end_session"]

_Name = Annotated[str, typer.Argument(metavar="SESSION", help="A session's id.")]


@verb
async def end_session(
    session: Session,
    name: _Name,
    wait: Annotated[bool, typer.Option("--wait", help="Return when what was said last is read.")] = False,
) -> None:
    """End a session: what was said last is read at once, and its tasks end."""
    reply = await session.client.end_session(name, wait=wait)
    session.show(reply, lambda: output.say(f"Ended {reply.session}, and with it {len(reply.tasks)} task(s)."))


@verb
async def delete_session(
    session: Session,
    name: _Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Say what would go, and forget nothing.")] = False,
) -> None:
    """Forget all that was said in a session, with what was drawn from it alone, and its tasks."""
    if not (yes or preview):
        if not sys.stdin.isatty():
            raise InvalidInputError("nobody to ask", expected="--yes, or --preview", found="neither")
        shown = await session.client.delete_session(name, preview=True)
        typer.confirm(f"Forget {shown.messages} message(s) and {len(shown.memories)} memories?", abort=True, err=True)
    reply = await session.client.delete_session(name, preview=preview)

    def people() -> None:
        done = "Would forget" if reply.preview else "Forgot"
        kept = f"; {len(reply.kept)} rest on something else as well and stay" if reply.kept else ""
        output.say(f"{done} {reply.messages} message(s) and {len(reply.memories)} memories of {reply.session}{kept}.")

    session.show(reply, people)

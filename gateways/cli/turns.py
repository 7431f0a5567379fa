"""``umbriel turn``: what a turn under way has found so far, for hooks and scripts that may be killed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateways.cli import output
from gateways.cli.options import Contact
from gateways.cli.session import Session, verb
from umbriel import InvalidInputError
from umbriel.turns import ResumeTurnReply, ToolRow

__all__ = ["turn"]

turn = typer.Typer(help="Keep what a turn's tools returned, and take it over.", no_args_is_help=True)

Named = Annotated[str, typer.Argument(metavar="SESSION", help="The session.")]


@verb
async def save(
    session: Session,
    *,
    named: Named,
    turn_id: Annotated[str, typer.Argument(metavar="TURN", help="The turn's id; its answer is ingested under it.")],
    rows: Annotated[
        Path, typer.Argument(metavar="ROWS", help='JSON: [{"tool": …, "arguments": …, "result": …}]; - for stdin.')
    ],
    open_sessions: Annotated[
        list[str] | None, typer.Option("--open", metavar="NAME=ID", help="What is open elsewhere; repeat for several.")
    ] = None,
    contact: Contact = "",
) -> None:
    """Keep a turn's tool calls so far, in place of what was kept of it before."""
    reply = await session.client.save_turn(
        named, turn_id, _rows(rows), sessions=dict(map(_pair, open_sessions or ())), contact=contact
    )
    left = f", without {reply.omitted_rows} earlier ones" if reply.omitted_rows else ""
    cut = f"; {reply.omitted_chars} characters are cut" if reply.omitted_chars else ""
    until = output.when(reply.expires_at)
    session.show(reply, lambda: output.say(f"Kept {reply.rows} calls until {until}{left}{cut}."))


@verb
async def resume(session: Session, *, named: Named, contact: Contact = "") -> None:
    """Take over what a stopped turn left, once; print the note for the model."""
    reply = await session.client.resume_turn(named, contact=contact)
    session.show(reply, lambda: _show(reply))


def _show(reply: ResumeTurnReply) -> None:
    if reply.turn_id:
        output.write_text(reply.note or f"The turn {reply.turn_id} left nothing to reuse.")
    else:
        output.say("No turn to take over.")


def _rows(path: Path) -> list[ToolRow]:
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return msgspec.json.decode(raw, type=list[ToolRow])
    except OSError as error:
        raise InvalidInputError("the rows cannot be read", expected="a readable file", found=str(error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInputError("these are no rows", expected="a JSON list of calls", found=str(error)) from error


def _pair(text: str) -> tuple[str, str]:
    name, _, one = text.partition("=")
    if not name or not one:
        raise InvalidInputError("not an open session", expected="NAME=ID", found=repr(text[:80]))
    return name, one


for _name, _command in {"save": save, "resume": resume}.items():
    turn.command(_name)(_command)

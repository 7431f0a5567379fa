"""``umbriel note`` and ``umbriel task``: what a conversation keeps for its next turn."""

from __future__ import annotations

from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.options import AtLeast, Contact
from gateways.cli.session import Session, verb
from umbriel.notes import NotesReply, TaskReply

__all__ = ["note", "task"]

note = typer.Typer(help="Working notes of a session, shown at the start of every turn.", no_args_is_help=True)
task = typer.Typer(help="What a session works at.", no_args_is_help=True)

Named = Annotated[str, typer.Argument(metavar="SESSION", help="The session.")]


@verb
async def set_note(
    session: Session,
    *,
    named: Named,
    text: Annotated[str, typer.Argument(metavar="NOTES", help="The notes.")],
    contact: Contact = "",
) -> None:
    """Put notes in place of a session's."""
    _show_notes(session, await session.client.set_context(named, text, contact=contact))


@verb
async def add_note(
    session: Session,
    *,
    named: Named,
    text: Annotated[str, typer.Argument(metavar="NOTE", help="What to add, on a line of its own.")],
    contact: Contact = "",
) -> None:
    """Add to the notes of a session."""
    _show_notes(session, await session.client.set_context(named, text, mode="append", contact=contact))


@verb
async def show_note(session: Session, *, named: Named, at_least: AtLeast = "") -> None:
    """Show the notes of a session."""
    _show_notes(session, await session.client.get_context(named, at_least=at_least))


@verb
async def clear_note(session: Session, *, named: Named) -> None:
    """Clear the notes of a session."""
    _show_notes(session, await session.client.set_context(named, mode="clear"))


@verb
async def set_task(
    session: Session,
    *,
    named: Named,
    text: Annotated[str, typer.Argument(metavar="TASK", help="The task.")],
    contact: Contact = "",
) -> None:
    """Say what a session works at from now on."""
    _show_task(session, await session.client.set_task(named, text, contact=contact))


@verb
async def show_task(session: Session, *, named: Named, at_least: AtLeast = "") -> None:
    """Show what a session works at."""
    _show_task(session, await session.client.get_task(named, at_least=at_least))


@verb
async def clear_task(session: Session, *, named: Named) -> None:
    """Be done with what a session works at."""
    _show_task(session, await session.client.clear_task(named))


def _show_notes(session: Session, reply: NotesReply) -> None:
    session.show(reply, lambda: output.write_text(reply.notes) if reply.notes else output.say("No notes."))


def _show_task(session: Session, reply: TaskReply) -> None:
    session.show(reply, lambda: output.write_text(reply.task) if reply.task else output.say("No task."))


for _name, _command in {"set": set_note, "add": add_note, "show": show_note, "clear": clear_note}.items():
    note.command(_name)(_command)
for _name, _command in {"set": set_task, "show": show_task, "clear": clear_task}.items():
    task.command(_name)(_command)

"""The command that thinks about a day that is over."""

from __future__ import annotations

from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel.reflecting import DayShown, ReflectDayReply

__all__ = ["reflect_day"]


@verb
async def reflect_day(
    session: Session,
    day: Annotated[str, typer.Option("--day", help="A UTC day, as 2026-01-31; yesterday without it.")] = "",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it comes to, and write nothing.")] = False,
) -> None:
    """Write down what a day came to, and remember it; it happens daily at 03:00 UTC anyway."""
    with output.progress(shown=not session.json) as bar:
        bar.add_task(f"thinking about {day or 'yesterday'}", total=None)
        reply = await session.client.reflect_day(day, dry_run=dry_run)
    session.show(reply, lambda: _show(reply))


def _show(reply: ReflectDayReply) -> None:
    for one in reply.days:
        rows = [(thought.topic, thought.memory, thought.text) for thought in one.thoughts]
        output.table(_title(one, dry_run=reply.dry_run), ("topic", "memory", "text"), rows)
    if not reply.days:
        output.say(f"Nothing happened on {reply.day}.")


def _title(one: DayShown, *, dry_run: bool) -> str:
    what = f"{one.contact or 'Nobody named'}: {one.messages} messages, {one.memories} memories, {one.model}"
    if not one.recorded:
        return f"{what}, recorded before"
    return f"{what}, not asked yet" if dry_run and not one.thoughts else what

"""The command that lets memories decay and merges what says the same."""

from __future__ import annotations

from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel.upkeep import ConsolidateReply

__all__ = ["consolidate"]


@verb
async def consolidate(
    session: Session,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    day: Annotated[str, typer.Option("--day", help="With --dry-run: as of another day, as 2026-01-31.")] = "",
) -> None:
    """Let decay what nobody used, and merge what says the same; it happens daily at 04:00 UTC anyway."""
    with output.progress(shown=not session.json) as bar:
        bar.add_task(f"looking through {session.client.profile}", total=None)
        reply = await session.client.consolidate(dry_run=dry_run, day=day)
    session.show(reply, lambda: _show(reply))


def _show(reply: ConsolidateReply) -> None:
    would = "would " if reply.dry_run else ""
    if reply.decays:
        rows = [(one.memory, f"{one.confidence:.2f}", one.text) for one in reply.decays]
        output.table(f"Memories that {would}decay" if would else "Decayed", ("id", "confidence", "text"), rows)
    for one in reply.merges:
        words = one.text or f"(to be worded by {one.model})"
        members = [("superseded", member.memory, member.text) for member in one.members]
        title = f"{'Would merge' if would else 'Merged'}, cosine {one.cosine:.2f} and above"
        output.table(title, ("", "id", "text"), [("stands", one.memory, words), *members])
    verb_form = "Would let" if would else "Let"
    output.say(
        f"{verb_form} {reply.decayed} memories decay and {'merge' if would else 'merged'} {len(reply.merges)} groups"
        f" on {reply.day}."
    )

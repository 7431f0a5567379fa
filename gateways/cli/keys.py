"""Commands about keys: keys list, keys rotate."""

from __future__ import annotations

import typer

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel.keys import KeysReply

__all__ = ["keys"]

keys = typer.Typer(help="The keys that everything is encrypted under; never shown.", no_args_is_help=True)


@keys.command("list")
@verb
async def list_keys(session: Session) -> None:
    """Show how many keys each profile has, or a --profile, and which master key they are wrapped under."""
    reply = await session.client.keys(session.profile or "")
    session.show(reply, lambda: _show(reply))


def _show(reply: KeysReply) -> None:
    rows = [(one.profile, one.keys, one.older, one.destroyed, one.closed) for one in reply.profiles]
    output.table("Keys", ("profile", "in use", "under the key before", "destroyed", "closed for good"), rows)
    before = f"; the one before, {reply.before}, is needed still" if reply.before else ""
    output.say(f"Master key {reply.master}, from the {reply.source}{before}.")


@keys.command("rotate")
@verb
async def rotate_keys(session: Session) -> None:
    """Wrap every key under a new master key, and overwrite what was wrapped under the old one."""
    with output.progress(shown=not session.json) as bar:
        bar.add_task("wrapping every key again", total=None)
        reply = await session.client.rotate_keys()
    session.show(reply, lambda: output.say(f"Wrapped {reply.records} key(s) under the master key {reply.master}."))

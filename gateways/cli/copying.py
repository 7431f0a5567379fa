"""The command that copies a memory to another profile: copy."""

from __future__ import annotations

from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.session import Session, verb

__all__ = ["copy"]


@verb
async def copy(
    session: Session,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a live memory.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The profile that is to have it too.")],
) -> None:
    """Copy a memory to another profile; it is forgotten with the original."""
    reply = await session.client.copy(id, target)
    done = "is there already as" if reply.outcome in {"duplicate", "repeated"} else "copied, there"
    session.show(reply, lambda: output.say(f"{id} {done} {reply.memory.id} in {target}."))

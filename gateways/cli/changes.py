"""Commands that change or end a memory: correct, forget, retract, reject, restore, pin, unpin, expire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.options import Contact, Time
from gateways.cli.session import Session, verb
from umbriel import TouchedReply

__all__ = ["correct", "expire", "forget", "pin", "reject", "restore", "retract", "unpin"]

Id = Annotated[str, typer.Argument(metavar="[ID]", help="The id of a memory.")]
Key = Annotated[str, typer.Option("--key", help="The live memory under this key.")]
Preview = Annotated[bool, typer.Option("--preview", help="Say what would be touched, and touch nothing.")]


def _show(session: Session, reply: TouchedReply, done: str, would: str) -> None:
    verb_form = would if reply.preview else done
    session.show(reply, lambda: output.say(f"{verb_form} {', '.join(reply.touched) or 'nothing'}."))


@verb
async def forget(
    session: Session,
    id: Annotated[str, typer.Argument(metavar="[ID]", help="The id of a memory or message.")] = "",
    key: Key = "",
    contact: Contact = "",
    with_sources: Annotated[bool, typer.Option("--with-sources", help="Also the messages it rests on.")] = False,
    preview: Preview = False,
) -> None:
    """Forget a memory, by id or by key."""
    reply = await session.client.forget(id, key=key, contact=contact, with_sources=with_sources, preview=preview)
    _show(session, reply, "Forgot", "Would forget")


@verb
async def correct(
    session: Session,
    *,
    words: Annotated[list[str], typer.Argument(metavar="[ID] TEXT", help="Which memory, and what it is to say.")],
    key: Key = "",
    contact: Contact = "",
    valid_from: Time = None,
    valid_to: Time = None,
    preview: Preview = False,
) -> None:
    """Correct what a memory says, by id or (with --key) by key; the old words stay in its history."""
    named = 1 if key else 2
    if len(words) != named:
        raise typer.BadParameter(f"expected {'TEXT' if key else 'ID TEXT'}, found {len(words)} arguments")
    reply = await session.client.correct(
        "" if key else words[0],
        words[-1],
        key=key,
        contact=contact,
        valid_from=valid_from,
        valid_to=valid_to,
        preview=preview,
    )

    def people() -> None:
        if not reply.touched:
            output.say(f"{reply.memory} says so already; nothing was written.")
        else:
            old = ", ".join(one for one in reply.touched if one != reply.memory) or "nothing that is live"
            output.say(f"{'Would correct' if reply.preview else 'Corrected'} {old}; now {reply.memory}.")

    session.show(reply, people)


@verb
async def expire(
    session: Session,
    *,
    id: Id = "",
    key: Key = "",
    contact: Contact = "",
    at: Time = None,
    never: Annotated[bool, typer.Option("--never", help="Live until something else ends it.")] = False,
    preview: Preview = False,
) -> None:
    """Set when a memory stops being live."""
    reply = await session.client.expire(id, key=key, contact=contact, at=at, never=never, preview=preview)
    _show(session, reply, "Set the expiry of", "Would set the expiry of")


def _command(name: str, help: str, done: str, would: str) -> Callable[..., None]:
    async def run(
        session: Session, id: Id = "", key: Key = "", contact: Contact = "", preview: Preview = False
    ) -> None:
        ask = getattr(session.client, name)
        _show(session, await ask(id, key=key, contact=contact, preview=preview), done, would)

    run.__name__, run.__doc__ = name, help
    return verb(run)


retract = _command("retract", "Withdraw a memory without a replacement.", "Retracted", "Would retract")
reject = _command("reject", "Declare a memory wrong: no agent can state it again.", "Rejected", "Would reject")
restore = _command("restore", "Make a version live again.", "Restored", "Would restore")
pin = _command("pin", "Exempt a memory from decay and consolidation.", "Pinned", "Would pin")
unpin = _command("unpin", "Make a memory subject to decay again.", "Unpinned", "Would unpin")

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
Matching = Annotated[
    str,
    typer.Option(
        "--matching", metavar="WORDS", help="What it says, in words, or an identifier in it, however it is written."
    ),
]
All = Annotated[bool, typer.Option("--all", help="With --matching: all that fit, where several do.")]
Expected = Annotated[str, typer.Option("--expected", metavar="ID", help="Only while this is its newest version.")]
Preview = Annotated[bool, typer.Option("--preview", help="Say what would be touched, and touch nothing.")]


def _show(session: Session, reply: TouchedReply, done: str, would: str) -> None:
    verb_form = would if reply.preview else done

    def people() -> None:
        output.say(f"{verb_form} {', '.join(reply.touched) or 'nothing'}.")
        _explain(reply)

    session.show(reply, people)


def _explain(reply: TouchedReply) -> None:
    """Say what a description meant, and why."""
    for one in reply.why:
        reason = {"key": "its key", "identifier": f"its {one.form}", "text": f"its text, {one.score:.0%} of it"}[one.by]
        left = f"; left: {one.left}" if one.left else ""
        output.say(f"  {one.id}  {one.text}  (by {reason}{left})")
    if reply.messages:
        output.say(f"  messages that hold it: {', '.join(reply.messages)}")


@verb
async def forget(
    session: Session,
    *,
    id: Annotated[str, typer.Argument(metavar="[ID]", help="The id of a memory or message.")] = "",
    key: Key = "",
    matching: Matching = "",
    all: All = False,
    contact: Contact = "",
    with_sources: Annotated[bool, typer.Option("--with-sources", help="Also the messages it rests on.")] = False,
    preview: Preview = False,
    expected: Expected = "",
) -> None:
    """Forget a memory, by id, by key or by what it says."""
    reply = await session.client.forget(
        id,
        key=key,
        description=matching,
        all=all,
        contact=contact,
        with_sources=with_sources,
        preview=preview,
        expected=expected,
    )
    _show(session, reply, "Forgot", "Would forget")


@verb
async def correct(
    session: Session,
    *,
    words: Annotated[list[str], typer.Argument(metavar="[ID] TEXT", help="Which memory, and what it is to say.")],
    key: Key = "",
    matching: Matching = "",
    all: All = False,
    contact: Contact = "",
    valid_from: Time = None,
    valid_to: Time = None,
    preview: Preview = False,
    expected: Expected = "",
) -> None:
    """Correct what a memory says, by id, by --key or by what it says; the old words stay in its history."""
    named = bool(key or matching)
    if len(words) != (1 if named else 2):
        raise typer.BadParameter(f"expected {'TEXT' if named else 'ID TEXT'}, found {len(words)} arguments")
    reply = await session.client.correct(
        "" if named else words[0],
        words[-1],
        key=key,
        description=matching,
        all=all,
        contact=contact,
        valid_from=valid_from,
        valid_to=valid_to,
        preview=preview,
        expected=expected,
    )

    def people() -> None:
        if not reply.touched:
            output.say(f"{reply.memory} says so already; nothing was written.")
        else:
            old = ", ".join(one for one in reply.touched if one != reply.memory) or "nothing that is live"
            output.say(f"{'Would correct' if reply.preview else 'Corrected'} {old}; now {reply.memory}.")
            _explain(reply)

    session.show(reply, people)


@verb
async def expire(
    session: Session,
    *,
    id: Id = "",
    key: Key = "",
    matching: Matching = "",
    all: All = False,
    contact: Contact = "",
    at: Time = None,
    never: Annotated[bool, typer.Option("--never", help="Live until something else ends it.")] = False,
    preview: Preview = False,
    expected: Expected = "",
) -> None:
    """Set when a memory stops being live."""
    reply = await session.client.expire(
        id,
        key=key,
        description=matching,
        all=all,
        contact=contact,
        at=at,
        never=never,
        preview=preview,
        expected=expected,
    )
    _show(session, reply, "Set the expiry of", "Would set the expiry of")


def _command(name: str, help: str, done: str, would: str) -> Callable[..., None]:
    async def run(
        session: Session,
        *,
        id: Id = "",
        key: Key = "",
        matching: Matching = "",
        all: All = False,
        contact: Contact = "",
        preview: Preview = False,
        expected: Expected = "",
    ) -> None:
        ask = getattr(session.client, name)
        reply = await ask(
            id, key=key, description=matching, all=all, contact=contact, preview=preview, expected=expected
        )
        _show(session, reply, done, would)

    run.__name__, run.__doc__ = name, help
    return verb(run)


retract = _command("retract", "Withdraw a memory without a replacement.", "Retracted", "Would retract")
reject = _command("reject", "Declare a memory wrong: no agent can state it again.", "Rejected", "Would reject")
restore = _command("restore", "Make a version live again.", "Restored", "Would restore")
pin = _command("pin", "Exempt a memory from decay and consolidation.", "Pinned", "Would pin")
unpin = _command("unpin", "Make a memory subject to decay again.", "Unpinned", "Would unpin")

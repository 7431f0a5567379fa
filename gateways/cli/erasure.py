"""Commands that erase: erase, delete-profile."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel import InvalidInputError
from umbriel.erasure import EraseReply, Proof

__all__ = ["delete_profile", "erase"]

_Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
_Preview = Annotated[bool, typer.Option("--preview", help="Say what would go, and erase nothing.")]
_NoWait = Annotated[bool, typer.Option("--no-wait", help="Return before the keys are gone; the service goes on.")]


_Lift = Annotated[bool, typer.Option("--lift", help="Let it be written about again; nothing comes back.")]


@verb
async def erase(
    session: Session,
    contact: Annotated[str, typer.Option("--contact", help="A contact, as written.")] = "",
    name: Annotated[str, typer.Option("--session", help="A session's id.")] = "",
    preview: _Preview = False,
    proof: Annotated[bool, typer.Option("--proof", help="Show what is left of what was erased before.")] = False,
    lift: _Lift = False,
    yes: _Yes = False,
    no_wait: _NoWait = False,
) -> None:
    """Erase a contact or a session for good: its keys are destroyed, and nothing is kept about it from then on."""
    client = session.client
    if lift:
        _lifted(session, await client.lift_erasure(contact=contact, session=name))
        return
    if proof:
        reply = await client.erasure_proof(contact=contact, session=name)
    else:
        if not (yes or preview):
            _confirm(await client.erase(contact=contact, session=name, preview=True), client.profile)
        reply = await client.erase(contact=contact, session=name, preview=preview, wait=not no_wait)
    _end(session, reply, waited=not no_wait)


@verb
async def delete_profile(
    session: Session,
    preview: _Preview = False,
    proof: Annotated[bool, typer.Option("--proof", help="Show what is left of a profile that was deleted.")] = False,
    lift: _Lift = False,
    yes: _Yes = False,
    no_wait: _NoWait = False,
) -> None:
    """Delete a --profile for good: all its keys, views and files. Its name stays taken until --lift."""
    client = session.client
    if lift:
        _lifted(session, await client.lift_erasure(whole=True))
        return
    if proof:
        reply = await client.erasure_proof(whole=True)
    else:
        if not (yes or preview):
            _confirm(await client.delete_profile(preview=True), client.profile)
        reply = await client.delete_profile(preview=preview, wait=not no_wait)
    _end(session, reply, waited=not no_wait)


def _lifted(session: Session, reply: EraseReply) -> None:
    session.show(reply, lambda: output.say(f"This {reply.target} may be written about again; nothing came back."))


def _confirm(shown: EraseReply, profile: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInputError("nobody to ask", expected="--yes, or --preview", found="neither")
    what = f"the whole profile {profile}" if shown.target == "profile" else _counted(shown)
    typer.confirm(f"Erase {what} for good?", abort=True, err=True)


def _counted(reply: EraseReply) -> str:
    return f"{reply.sessions} session(s), {reply.messages} message(s) and {reply.memories} memories"


def _end(session: Session, reply: EraseReply, *, waited: bool) -> None:
    """Print what there is to say; the exit code is 1 when something is left that should not be."""
    session.show(reply, lambda: _show(reply))
    if reply.proof is not None and waited and not (reply.done and reply.proof.holds):
        raise typer.Exit(1)


def _show(reply: EraseReply) -> None:
    if reply.preview:
        output.say(f"Would erase {_counted(reply) if reply.target != 'profile' else 'everything'}.")
    elif reply.at is not None:
        state = "done" if reply.done else "under way: the service goes on with it"
        lifted = "; it may be written about again" if reply.lifted else ""
        output.say(f"Erased this {reply.target}: {output.when(reply.at)} by {reply.by}, {state}{lifted}.")
    if reply.linked:
        output.say(f"Linked, and erased by their own names only: {', '.join(reply.linked)}.")
    if reply.proof is not None:
        _show_proof(reply.proof)


def _show_proof(proof: Proof) -> None:
    rows = [(one.category, one.events, output.size(one.bytes)) for one in proof.left]
    output.table("Left in the log, and readable by nobody", ("category", "events", "bytes"), rows)
    tried = "all of it" if proof.complete else "as much of it as there was time for"
    output.say(
        f"{proof.keys} key(s) destroyed, {proof.undestroyed} still to be. {proof.surviving} key(s) are left: {tried}"
        f" was tried with each ({proof.attempts} tries), {proof.opened} could be read."
    )
    for stale in proof.stale:
        output.say(f"An older view is still on disk: {stale}")
    if proof.elsewhere:
        output.say(f"The managed memory was told to delete and has {proof.elsewhere} item(s) left.")
    if proof.grants:
        output.say(f"Grants still name this contact: {', '.join(proof.grants)} (umbriel principal revoke).")

"""The command ``rebuild``: starts rebuilds in the service and shows how they get on."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, cast

import msgspec
import typer
from rich.progress import TaskID

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel import DamagedError, InvalidInputError, RebuildReply, Umbriel

__all__ = ["rebuild"]

_POLL = 0.3
_Action = Literal["start", "status", "pause", "resume", "rollback", "cancel"]
_ACTIONS = ("start", "status", "pause", "resume", "rollback", "cancel")
_WATCHED = ("start", "resume", "rollback")


class Rebuilt(msgspec.Struct, frozen=True):
    """What became of the rebuilds of several profiles."""

    profiles: list[RebuildReply]


@verb
async def rebuild(
    session: Session,
    action: Annotated[str, typer.Argument(help="start, status, pause, resume, rollback or cancel.")] = "start",
    view: Annotated[
        list[str] | None, typer.Option("--view", help="vectors, keywords or ledger, repeatable; all by default.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every profile you may use.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Return at once; the service goes on by itself.")] = False,
) -> None:
    """Make a new generation of a profile's views from the log, beside the served one, and switch to it."""
    if action not in _ACTIONS:
        raise InvalidInputError("unknown action", expected=", ".join(_ACTIONS), found=action)
    asked = cast("_Action", action)
    clients = [session.client]
    if everything:
        clients = [session.client.for_profile(one.name) for one in (await session.client.profiles()).profiles]
    replies = [await one.rebuild(view or (), action=asked, wait=False) for one in clients]
    if asked in _WATCHED and not detach:
        replies = await _watch(clients, replies, shown=not session.json)
    if everything:
        session.show(Rebuilt(replies), lambda: _show(replies))
    else:
        session.show(replies[0], lambda: _show(replies))
    failed = [one for one in replies if one.state == "failed" and asked in _WATCHED]
    if failed:
        names = ", ".join(one.profile for one in failed)
        raise DamagedError(f"the rebuild of {names} failed; what was served is served on", found=failed[0].error)


async def _watch(clients: list[Umbriel], replies: list[RebuildReply], *, shown: bool) -> list[RebuildReply]:
    """Ask how the rebuilds get on until they have ended; the service does not depend on being asked."""
    with output.progress(shown=shown, eta=True) as bar:
        tasks = [bar.add_task(f"rebuilding {one.profile}", total=None) for one in replies]
        while True:
            for reply, task in zip(replies, tasks, strict=True):
                _advance(bar, task, reply)
            if all(one.state not in ("running", "verifying") for one in replies):
                return replies
            await asyncio.sleep(_POLL)
            replies = [await one.rebuild(action="status") for one in clients]


def _advance(bar: output.Progress, task: TaskID, reply: RebuildReply) -> None:
    rate = f", {reply.rate:,.0f} events/s" if reply.rate else ""
    bar.update(
        task,
        description=f"{reply.state} {reply.profile}{rate}",
        total=reply.total or None,
        completed=reply.events,
    )


def _show(replies: list[RebuildReply]) -> None:
    for one in replies:
        output.say(_sentence(one))


def _sentence(one: RebuildReply) -> str:
    views = ", ".join(one.views)
    match one.state:
        case "none":
            return f"{one.profile}: no rebuild is known."
        case "switched":
            return (
                f"{one.profile}: generation {one.generation} of {views} serves, "
                f"{one.events} events in {one.seconds:.1f} s, at {one.position}."
            )
        case "failed" | "cancelled":
            return f"{one.profile}: {one.state}, what was served is served on: {one.error}"
        case _:
            left = f", {one.eta:.0f} s left" if one.eta else ""
            return f"{one.profile}: {one.state}, {one.events} of {one.total} events of {views}{left}."

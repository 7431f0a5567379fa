"""``umbriel verify``: the whole log recomputed by the service or, where none runs, here; or one proof, offline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from gateways.cli import output
from gateways.cli.errors import CommandError
from gateways.cli.options import Data, Json, Nats, Principal
from gateways.cli.session import DEFAULT_PROFILE, LOCAL, Target
from umbriel import data_directory
from umbriel.verifying import VerifyReply

__all__ = ["verify"]

_POLL = 0.3


def verify(
    data: Data = None,
    nats: Nats = None,
    principal: Principal = LOCAL,
    json: Json = False,
    proof: Annotated[
        Path | None, typer.Option("--proof", help="Check a proof that `umbriel proof` printed; asks nobody.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Check a file that `umbriel export` wrote; asks nobody.")
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            help="With --proof or --export: a public key that is believed; repeat. Default: this directory's.",
        ),
    ] = None,
) -> None:
    """Recompute the log: seals, positions, versions, bodies, views. The exit code is 1 when anything is wrong."""
    if proof is not None:
        from gateways.cli.proof import check

        check(proof, data, trust or [], json=json)
        return
    if export is not None:
        from gateways.cli.export_check import check_export

        check_export(export, data, trust or [], json=json)
        return
    from gateways.doctor.offline import is_locked

    place = data_directory(data)
    with output.progress(shown=not json, eta=True) as bar:
        task = bar.add_task("verifying the log", total=None)
        if nats is None and not is_locked(place):
            reply = asyncio.run(_here(place, bar, task))
        else:
            target = Target(data if nats is None else None, nats, principal)
            reply = asyncio.run(_in_service(target, bar, task))
    if json:
        output.write_json(reply)
    else:
        _show(reply)
    if reply.state == "failed":
        raise CommandError("the log could not be looked at to its end", found=reply.error)
    raise typer.Exit(1 if reply.found or reply.state != "done" else 0)


async def _in_service(target: Target, bar: output.Progress, task: TaskID) -> VerifyReply:
    async with await target.connect(DEFAULT_PROFILE) as client:
        reply = await client.verify()
        while reply.state == "running":
            bar.update(task, total=reply.total or None, completed=reply.done)
            await asyncio.sleep(_POLL)
            reply = await client.verify("status")
    return reply


async def _here(place: Path, bar: output.Progress, task: TaskID) -> VerifyReply:
    from gateways.offline import opened
    from gateways.service.positions import Positions
    from gateways.service.verifications import shown

    async with opened(place) as log:
        looking = log.examination()
        running = asyncio.create_task(looking.run())
        while not running.done():
            bar.update(task, total=looking.total or None, completed=looking.done)
            await asyncio.wait({running}, timeout=_POLL)
        await running
        return shown(looking, Positions(log.standing.stream, log.standing.incarnation), "done")


def _show(reply: VerifyReply) -> None:
    for one in reply.findings:
        where = " ".join(part for part in (one.position, one.profile) if part)
        output.write_text(f"{one.check}: {one.text}" + (f" [{where}]" if where else ""))
    if reply.found > len(reply.findings):
        output.say(f"… and {reply.found - len(reply.findings)} more.")
    seals = f"{reply.seals} seals up to {reply.sealed}" if reply.seals else "no seal yet"
    gone = f", {reply.unreadable} of them erased" if reply.unreadable else ""
    wrong = f"{reply.found} findings" if reply.found else "Nothing is wrong"
    output.say(f"{wrong}: {reply.events} events up to {reply.position}{gone}, {seals}, {reply.seconds:.1f} s.")

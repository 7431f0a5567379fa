"""``umbriel backup`` and ``umbriel restore-backup``: everything in one file, and a data directory from it."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateways.cli import output
from gateways.cli.options import Data, Json
from gateways.cli.session import Session, verb
from umbriel import UnavailableError, data_directory
from umbriel.backups import BackupReply

if TYPE_CHECKING:
    from gateways.restoring import Restored

__all__ = ["backup", "restore_backup"]

_POLL = 0.2


@verb
async def backup(
    session: Session,
    target: Annotated[
        Path | None,
        typer.Argument(metavar="DIR|FILE", help="A directory or a new file, on the service's machine."),
    ] = None,
    *,
    with_master_key: Annotated[
        bool, typer.Option("--with-master-key", help="Put the master key into it: whoever has the file reads all.")
    ] = False,
) -> None:
    """Write the log, the keys and what else a service needs into one file, while it serves; the file is verified."""
    path = str(target.expanduser().absolute()) if target is not None else ""
    reply = await session.client.backup(path, master_key=with_master_key)
    with output.progress(shown=not session.json) as bar:
        task = bar.add_task("backing up", total=None)
        while reply.state == "running":
            bar.update(task, description=f"{reply.doing or 'backing up'}", total=reply.total, completed=reply.done)
            await asyncio.sleep(_POLL)
            reply = await session.client.backup(action="status")
    if reply.state == "failed":
        raise UnavailableError("the backup failed; nothing was left of it", expected="a backup", found=reply.error)
    session.show(reply, lambda: _show(reply, with_key=with_master_key))


def _show(reply: BackupReply, *, with_key: bool) -> None:
    output.say(
        f"{reply.file}: {reply.events} events up to {reply.position}, "
        f"{output.size(reply.bytes)} in {reply.seconds:.1f} s, read again and whole."
    )
    if not with_key:
        output.say("It does not hold the master key: keep secrets/master.key of the data directory somewhere else.")


def restore_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    data: Data = None,
    *,
    master_key: Annotated[
        Path | None, typer.Option("--master-key", metavar="FILE", help="The master key, where the backup has none.")
    ] = None,
    honour: Annotated[
        list[Path] | None,
        typer.Option(
            "--honour",
            metavar="FILE|DIR",
            help="What else knows of destroyed keys: a later backup, a destroyed-keys.jsonl, a data directory. Repeat.",
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only try it out, in a directory that does not stay.")] = False,
    json: Json = False,
) -> None:
    """Restore a backup into an empty data directory; the log gets a new incarnation, views are made from it."""
    from gateways import restoring

    with output.progress(shown=not json) as bar:
        task = bar.add_task("checking", total=None)

        def progress(doing: str, done: int, total: int) -> None:
            bar.update(task, description=doing, completed=done, total=total)

        if check:
            scratch = Path(tempfile.gettempdir())
            done = asyncio.run(restoring.check(file, scratch, master_key=master_key, progress=progress))
        else:
            place = data_directory(data)
            done = asyncio.run(
                restoring.restore(file, place, master_key=master_key, honour=honour or (), progress=progress)
            )
    if json:
        output.write_json(done)
    else:
        output.say(_sentence(done))


def _sentence(done: Restored) -> str:
    again = f" {done.destroyed_again} keys were destroyed again." if done.destroyed_again else ""
    if done.checked_only:
        return f"{done.file} can be restored: {done.events} events.{again}"
    return (
        f"{done.events} events are in {done.data}, up to {done.position}; the log has a new incarnation.{again} "
        "The next command makes the views from it."
    )

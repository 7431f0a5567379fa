"""The command that takes a profile's events out as JSON Lines."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import typer
from rich.progress import Progress

from gateways.cli import output
from gateways.cli.feed import After
from gateways.cli.markdown import live_memories, markdown
from gateways.cli.options import Contact, time_of
from gateways.cli.session import Session, verb_after
from umbriel import Export, InvalidInputError, sequence_of
from umbriel.exports import TRAILER, schema

__all__ = ["ExportSummary", "export", "writing"]

_TIME = "ISO 8601; UTC without a zone."
_MARK = f'"type":"{TRAILER}"'.encode()


class ExportSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What an export wrote (``events`` are memories in Markdown), and the position to go on after."""

    profile: str
    events: int
    position: str
    file: str


def _prepare(
    *,
    target: Annotated[Path | None, typer.Option("--output", "-o", help="A file; stdout when not given.")] = None,
    after: After = "",
    until: Annotated[str, typer.Option("--until", help="Only events up to this position.")] = "",
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", help="An event category, as message or memory; repeat. Default: all.")
    ] = None,
    contact: Contact = "",
    since: Annotated[
        datetime | None,
        typer.Option("--since", parser=time_of, metavar="TIME", help=f"Only what was recorded then or later. {_TIME}"),
    ] = None,
    before: Annotated[
        datetime | None,
        typer.Option("--before", parser=time_of, metavar="TIME", help=f"Only what was recorded before. {_TIME}"),
    ] = None,
    encrypted: Annotated[
        bool, typer.Option("--encrypted", help="Bodies as they are stored: dead once their keys are destroyed.")
    ] = False,
    vectors: Annotated[bool, typer.Option("--vectors/--no-vectors", help="With the vectors of embeddings.")] = True,
    proofs: Annotated[
        bool, typer.Option("--proofs/--no-proofs", help="With proofs that each line is what was sealed.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with OUTPUT.partial where it was cut off.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="The live memories for people to read, of CONTACT or all, instead.")
    ] = False,
    show_schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the lines.")] = False,
) -> dict[str, object]:
    if show_schema:
        sys.stdout.write(schema().decode())
        raise typer.Exit
    if resume and target is None:
        raise InvalidInputError("nothing to go on with", expected="--output with --resume", found="stdout")
    if as_markdown and (after or until or kinds or since or before or encrypted or resume or not vectors):
        raise InvalidInputError(
            "Markdown has the live memories, not events", expected="--markdown with --contact at most", found="a filter"
        )
    filters = {
        "after": after,
        "until": until,
        "kinds": kinds or (),
        "contact": contact,
        "since": since,
        "before": before,
        "encrypted": encrypted,
        "vectors": vectors,
        "proofs": proofs,
    }
    return {"target": target, "resume": resume, "readable": as_markdown, "filters": filters}


@verb_after(_prepare)
async def export(
    session: Session, target: Path | None, *, resume: bool, readable: bool, filters: dict[str, object]
) -> None:
    """Write a profile's events as JSON Lines of CloudEvents 1.0, without what was forgotten."""
    if readable:
        await _readable(session, target, str(filters["contact"]))
        return
    lines = session.client.export(**filters)  # type: ignore[arg-type]
    if target is None:
        async for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    with output.progress(shown=not session.json) as bar, writing(target, resume=resume) as stream:
        lines.resume(_whole(stream))
        async for line in _shown(lines, bar, session.client.profile):
            stream.write(line)
    summary = ExportSummary(
        profile=session.client.profile, events=lines.events, position=lines.position, file=str(target)
    )
    session.show(summary, lambda: output.say(f"{summary.events} events of {summary.profile} in {target}."))


async def _readable(session: Session, target: Path | None, contact: str) -> None:
    client = session.client
    memories = [one async for one in live_memories(client, contact or "*")]
    text = "".join(f"{line}\n" for line in markdown(client.profile, memories)).encode()
    if target is None:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
        return
    with writing(target) as stream:
        stream.write(text)
    position = (await client.status()).applied
    summary = ExportSummary(profile=client.profile, events=len(memories), position=position, file=str(target))
    session.show(summary, lambda: output.say(f"{summary.events} memories of {client.profile} in {target}."))


async def _shown(lines: Export, bar: Progress, profile: str) -> AsyncIterator[bytes]:
    task = bar.add_task(f"exporting {profile}", total=None)
    async for line in lines:
        yield line
        bar.update(task, completed=sequence_of(lines.position), total=sequence_of(lines.until))


@contextmanager
def writing(target: Path, *, resume: bool = False) -> Iterator[BinaryIO]:
    """Lend a file that appears under its name only when it is whole; what was cut off stays as ``….partial``."""
    partial = target.with_name(target.name + ".partial")
    try:
        with partial.open("r+b" if resume and partial.exists() else "w+b") as stream:
            partial.chmod(0o600)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(target)
    except OSError as error:
        raise InvalidInputError(f"cannot write {target}", expected="a writable file", found=str(error)) from error


def _whole(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the whole lines of a file that was cut off, and cut off the rest."""
    whole = 0
    for line in stream:
        if not line.endswith(b"\n") or _MARK in line:
            break
        whole += len(line)
        yield line
    stream.seek(whole)
    stream.truncate()

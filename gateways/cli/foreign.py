"""``umbriel import --from``: the memories of another system become memories of this one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import typer

from gateways.agents import check_agent
from gateways.cli import output
from gateways.cli.errors import EXIT_CODES
from gateways.cli.session import Session
from gateways.importers.memories import Broken, MemoryExport, Statement, read_memories
from umbriel import ErasedError, InvalidInputError, RememberReply, Umbriel, sequence_of

__all__ = ["ForeignReport", "read", "take_over"]

#: requests on their way at the same time
_AT_ONCE = 8
_LISTED = 20


class ForeignReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds, and what became of it; with ``checked_only`` nothing was written.

    ``memories`` and ``messages`` are counted by what became of them; ``skipped`` by the reason. ``unknown`` are fields
    that are known to nobody here, and kept in the origin; ``dropped`` is what is not kept there.
    """

    source: str
    profile: str
    checked_only: bool
    memories: dict[str, int]
    messages: dict[str, int]
    contacts: list[str]
    sessions: list[str]
    skipped: dict[str, int]
    unknown: dict[str, int]
    dropped: dict[str, int]
    broken: list[Broken]
    position: str = ""


def read(file: Path, source: str, contact: str, *, skip_broken: bool) -> MemoryExport:
    """Read an export whole. Raises InvalidInputError for what does not fit, unless that is to be left out and named."""
    with output.progress() as bar:
        bar.add_task(f"reading {file.name}", total=None)
        export = read_memories(file, source, contact)
    if export.broken and not skip_broken:
        first, more = export.broken[0], len(export.broken) - 1
        also = f"; {more} more, which --check lists and --skip-broken leaves out" if more else ""
        raise InvalidInputError(f"{first.reason}{also}", expected=first.expected, found=first.found)
    return export


async def take_over(export: MemoryExport, session: Session, *, check: bool) -> None:
    """State what an export holds, as an agent; what was stated by an earlier run changes nothing."""
    await check_agent(session.client)
    now = datetime.now(UTC)
    over = [one for one in export.statements if one.expires_at is not None and one.expires_at <= now]
    live = [one for one in export.statements if one.expires_at is None or one.expires_at > now]
    report = _report(export, session.client.profile, checked_only=check)
    if over:
        report = msgspec.structs.replace(report, skipped={**report.skipped, "expired": len(over)})
    if check:
        said = sum(len(one.messages) for one in export.conversations)
        report = msgspec.structs.replace(report, memories={"to write": len(live)}, messages={"to write": said})
    else:
        with output.progress(shown=not session.json) as bar:
            task = bar.add_task(f"importing into {session.client.profile}", total=len(live) + len(export.conversations))
            report = await _write(session.client, export, live, report, lambda: bar.advance(task))
    session.show(report, lambda: _show(report, live if check else []))
    if check and report.broken:
        raise typer.Exit(EXIT_CODES["invalid"])


def _report(export: MemoryExport, profile: str, *, checked_only: bool) -> ForeignReport:
    places = [(one.contact, one.session) for one in export.statements]
    places += [(one.contact, one.session) for one in export.conversations]
    return ForeignReport(
        source=export.source,
        profile=profile,
        checked_only=checked_only,
        memories={},
        messages={},
        contacts=sorted({contact for contact, _ in places if contact}),
        sessions=sorted({session for _, session in places if session}),
        skipped=export.skipped,
        unknown=export.unknown,
        dropped=export.dropped,
        broken=export.broken,
    )


async def _write(
    client: Umbriel, export: MemoryExport, statements: list[Statement], report: ForeignReport, step: Callable[[], None]
) -> ForeignReport:
    messages: Counter[str] = Counter()
    memories: Counter[str] = Counter()
    broken = list(report.broken)
    positions: list[str] = []
    for one in export.conversations:
        said = await client.ingest(one.messages, session=one.session, contact=one.contact, channel=one.channel)
        messages.update(outcome.outcome for outcome in said.outcomes)
        positions.append(said.position)
        step()
    gate = asyncio.Semaphore(_AT_ONCE)

    async def state(one: Statement) -> None:
        async with gate:
            try:
                reply = await _remember(client, one)
            except ErasedError:
                memories["erased"] += 1
            except InvalidInputError as error:
                what = f"{one.origin.get('id') or one.content[:40]!r}: {error.message}"
                broken.append(Broken(0, what, error.expected, error.found))
            else:
                memories[reply.outcome] += 1
                positions.append(reply.position)
            step()

    try:
        async with asyncio.TaskGroup() as group:
            for statement in statements:
                group.create_task(state(statement))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return msgspec.structs.replace(
        report,
        memories=dict(memories),
        messages=dict(messages),
        broken=broken,
        position=max(positions, key=sequence_of, default=""),
    )


async def _remember(client: Umbriel, one: Statement) -> RememberReply:
    return await client.remember(
        one.content,
        kind=one.kind,
        contact=one.contact,
        session=one.session,
        occurred_at=one.occurred_at,
        valid_from=one.valid_from,
        valid_to=one.valid_to,
        expires_at=one.expires_at,
        metadata={"origin": one.origin},
        request_id=one.request_id,
    )


def _show(report: ForeignReport, to_write: list[Statement]) -> None:
    did = "would be written to" if report.checked_only else "into"
    output.say(
        f"{report.source} {did} {report.profile}: memories {_counts(report.memories)}; messages"
        f" {_counts(report.messages)}; {len(report.contacts)} contact(s), {len(report.sessions)} session(s)."
    )
    for title, counts in (
        ("Left out", report.skipped),
        ("Fields that are not known, kept in the origin", report.unknown),
        ("Not kept", report.dropped),
    ):
        if counts:
            output.say(f"{title}: {_counts(counts)}.")
    if to_write:
        rows = [(one.kind or "fact", one.contact, one.session, one.content) for one in to_write[:_LISTED]]
        title = f"The first {len(rows)} of {len(to_write)}" if len(to_write) > len(rows) else "What would be written"
        output.table(title, ("kind", "contact", "session", "text"), rows)
    if report.broken:
        broken = [(one.line or "", one.reason, one.expected, one.found) for one in report.broken]
        output.table("Cannot be taken over", ("line", "text", "expected", "found"), broken)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"

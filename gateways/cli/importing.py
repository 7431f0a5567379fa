"""The command that takes an export over: one of this system, or one of another memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gateways.cli import foreign, options, output
from gateways.cli.session import AGENT, DEFAULT_PROFILE, LOCAL, Session, Target, carry_out
from gateways.importers.memories import SOURCES
from umbriel import InvalidInputError
from umbriel.imports import ImportReport

__all__ = ["import_"]

_LISTED = 50


def import_(
    *,
    file: Annotated[Path | None, typer.Argument(help="What `umbriel export` wrote, or an export of --from.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only read the file strictly and say what is in it; nothing is written.")
    ] = False,
    trust: Annotated[
        str, typer.Option("--trust", metavar="KEY", help="The public key whose proofs the file must have.")
    ] = "",
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Give up an import that was cut off and will not be finished.")
    ] = False,
    source: Annotated[
        str, typer.Option("--from", metavar="|".join(SOURCES), help="Another memory, whose JSON or JSON Lines it is.")
    ] = "",
    contact: Annotated[str, typer.Option("--contact", help="With --from: whose memories are that name nobody.")] = "",
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="With --from: leave out what cannot be read, and name it.")
    ] = False,
    profile: options.Profile = None,
    json: options.Json = False,
    data: options.Data = None,
    nats: options.Nats = None,
    principal: options.Principal = "",
) -> None:
    """Take an export over into a profile, with its ids, times and authors; again, it changes nothing.

    What --from another memory comes is stated by an agent (`local-agent`, unless --principal names another): what a
    model made of conversations is no person's statement. Its ids and times are kept as its origin.
    """
    if abandon == (file is not None) or (source and abandon):
        raise InvalidInputError("what is to be imported?", expected="a FILE, or --abandon", found="both or neither")
    if not source and (contact or skip_broken):
        raise InvalidInputError(
            "an export of this system is taken over as it is",
            expected="--from with --contact and --skip-broken",
            found="no --from",
        )
    if source and trust:
        raise InvalidInputError("another memory's export has no proofs", expected="no --trust", found="--trust")
    if source and file is not None:
        # Read whole before any service is asked.
        take_over = partial(foreign.take_over, foreign.read(file, source, contact, skip_broken=skip_broken or check))
    else:
        take_over = partial(_take_over, file, trust)
    target = Target(data, nats, principal or (AGENT if source else LOCAL))

    async def work() -> None:
        async with await target.connect(profile or DEFAULT_PROFILE) as client:
            await take_over(Session(client, profile, json), check=check)

    carry_out(work)


async def _take_over(file: Path | None, trust: str, session: Session, *, check: bool) -> None:
    if file is None:
        reply = await session.client.abandon_import()
        session.show(reply, lambda: output.say(f"Nothing is being imported into {session.client.profile}."))
        return
    with output.progress(shown=not session.json) as bar:
        tasks = {doing: bar.add_task(f"{doing} {file.name}", total=None) for doing in ("reading", "checking")}
        if not check:
            tasks["importing"] = bar.add_task(f"importing into {session.client.profile}", total=None)
        report = await session.client.import_export(
            file,
            check=check,
            trust=trust,
            progress=lambda doing, done, total: bar.update(tasks[doing], completed=done, total=total),
        )
    session.show(report, lambda: _people(report))


def _people(report: ImportReport) -> None:
    if report.public_key:
        whose = "as trusted" if report.pinned else "the file's own word: --trust it if you know whose it is"
        output.say(f"{report.verified} lines under {report.seals} seals hold, by {report.public_key} ({whose}).")
    if report.checked_only:
        output.say(f"{report.events} events of {report.source}: every line fits.")
        return
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(report.counts.items()))
    output.say(f"{report.events} events of {report.source} into {report.profile}: {told or 'nothing'}.")
    if report.outcomes:
        rows = [(one.line, one.type, one.outcome, one.reason) for one in report.outcomes[:_LISTED]]
        more = len(report.outcomes) + report.omitted - len(rows)
        title = f"Not simply taken over ({more} more)" if more else "Not simply taken over"
        output.table(title, ("line", "type", "outcome", "text"), rows)

"""The command that takes an export over."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel import InvalidInputError
from umbriel.imports import ImportReport

__all__ = ["import_"]

_LISTED = 50


@verb
async def import_(
    session: Session,
    file: Annotated[Path | None, typer.Argument(help="What `umbriel export` wrote.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only read the file strictly; nothing is written.")] = False,
    trust: Annotated[
        str, typer.Option("--trust", metavar="KEY", help="The public key whose proofs the file must have.")
    ] = "",
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Give up an import that was cut off and will not be finished.")
    ] = False,
) -> None:
    """Take an export over into a profile, with its ids, times and authors; again, it changes nothing."""
    if abandon == (file is not None):
        raise InvalidInputError("what is to be imported?", expected="a FILE, or --abandon", found="both or neither")
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

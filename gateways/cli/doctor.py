"""``umbriel doctor``: looks at everything that can be wrong with an installation, and says what to do about it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.options import Data, Json
from umbriel import InvalidInputError, data_directory

__all__ = ["doctor"]

_STYLES = {"ok": "ok", "warn": "WARN", "fail": "FAIL", "skipped": "-"}


def doctor(
    data: Data = None,
    json: Json = False,
    scan: Annotated[
        list[str] | None, typer.Option("--scan", metavar="TEXT", help="Look for this text in every file instead.")
    ] = None,
    scan_for: Annotated[
        Path | None, typer.Option("--scan-for", metavar="FILE", help="Look for each line of a file instead.")
    ] = None,
) -> None:
    """Check a data directory and the service on it; the exit code is 1 when something must be put right.

    With --scan or --scan-for: whether any file there holds some words, in UTF-8, UTF-16 or base64; 1 when one does.
    """
    from gateways import doctor as checks

    place = data_directory(data)
    if scan or scan_for is not None:
        lines = scan_for.read_text("utf-8").splitlines() if scan_for is not None else []
        _scan(place, [one for one in (*(scan or ()), *lines) if one.strip()], json=json)
        return
    with output.progress(shown=not json) as bar:
        bar.add_task(f"examining {place}", total=None)
        report = asyncio.run(checks.examine(place))
    if json:
        output.write_json(report)
    else:
        rows = [(_STYLES[one.state], one.check, one.found, one.fix) for one in report.checks]
        output.table(f"Doctor: {place}", ("", "check", "text", "fix"), rows)
        output.say(f"{report.count('fail')} must be put right, {report.count('warn')} should be looked at.")
    raise typer.Exit(report.exit_code)


def _scan(place: Path, words: list[str], *, json: bool) -> None:
    from gateways.doctor.scanning import scan

    if not words or not place.is_dir():
        raise InvalidInputError(
            "nothing to look for, or nowhere", expected="words, and a data directory", found=str(place)
        )
    with output.progress(shown=not json) as bar:
        bar.add_task(f"reading {place}", total=None)
        found = scan(place, words)
    if json:
        output.write_json(found)
    else:
        rows = [(one.file, f"word {one.words + 1}", one.form) for one in found.found]
        if rows:
            output.table(f"Found in {place}", ("file", "what", "form"), rows)
        output.say(f"Read {found.files} files, {output.size(found.bytes)}; {len(rows)} sighting(s).")
    raise typer.Exit(1 if found.found else 0)

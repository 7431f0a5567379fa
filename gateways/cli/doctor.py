"""``umbriel doctor``: looks at everything that can be wrong with an installation, and says what to do about it."""

from __future__ import annotations

import asyncio

import typer

from gateways.cli import output
from gateways.cli.options import Data, Json
from umbriel import data_directory

__all__ = ["doctor"]

_STYLES = {"ok": "ok", "warn": "WARN", "fail": "FAIL", "skipped": "-"}


def doctor(data: Data = None, json: Json = False) -> None:
    """Check a data directory and the service on it; the exit code is 1 when something must be put right."""
    from gateways import doctor as checks

    place = data_directory(data)
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

"""Checks of backups: whether they are made by themselves, how old the last one is, and whether it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gateways.doctor.findings import Finding, fail, ok, warn
from gateways.server_settings import FILE, load_settings
from gateways.service.backup_files import kept_in, unreadable_in

__all__ = ["look"]

_CHECK = "backups"
_LOOK = "look into serve.log, and run `umbriel backup`"
#: a backup that is late by its whole interval was missed
_LATE = 2.0


def look(data: Path, now: datetime | None = None) -> Iterator[Finding]:
    """Look at the directory that backups go to."""
    settings = load_settings(data).backup
    if not settings.directory:
        yield ok(_CHECK, f"none are made by themselves: {FILE} names no backup.directory")
        return
    directory = Path(settings.directory).expanduser()
    for path in unreadable_in(directory):
        yield warn(_CHECK, f"{path} is no whole backup", "delete it")
    kept = kept_in(directory)
    if not kept:
        yield warn(_CHECK, f"none yet in {directory}", "start the service, or run `umbriel backup`")
        return
    last = kept[0].manifest
    hours = ((now or datetime.now(UTC)) - last.created_at).total_seconds() / 3_600
    found = f"the last of {len(kept)} in {directory} is {hours:.1f} hours old and holds {last.events} events"
    if hours > _LATE * settings.every:
        yield fail(_CHECK, f"{found}; one is due every {settings.every:g}", _LOOK)
    else:
        yield ok(_CHECK, found)

"""The directory that backups go to by themselves: which of them are whole, which is the newest, which may go."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from domain.errors import UmbrielError
from gateways.service.archive import Archive, Manifest

__all__ = ["KeptBackup", "kept_in", "name_for", "remove_old", "unreadable_in"]

_PREFIX, _SUFFIX = "umbriel-", ".backup"


class KeptBackup(msgspec.Struct, frozen=True):
    """A backup whose manifest can be read."""

    path: Path
    manifest: Manifest


def name_for(now: datetime) -> str:
    """Return the name of a backup that is made now."""
    return f"{_PREFIX}{now.astimezone(UTC):%Y%m%dT%H%M%S%f}Z{_SUFFIX}"


def kept_in(directory: Path, incarnation: str | None = None) -> list[KeptBackup]:
    """Return the backups in a directory, newest first; what cannot be read is none.

    Those of another ``incarnation`` are another log's, which nobody here makes or removes; None is of any.
    """
    found = []
    for path in directory.glob(f"{_PREFIX}*{_SUFFIX}"):
        try:
            archive = Archive(path)
        except UmbrielError:
            continue
        archive.close()
        if incarnation in {None, archive.manifest.incarnation}:
            found.append(KeptBackup(path, archive.manifest))
    return sorted(found, key=lambda one: (one.manifest.created_at, one.path.name), reverse=True)


def remove_old(kept: Sequence[KeptBackup], keep: int, good: Path) -> list[Path]:
    """Remove what is beyond the ``keep`` newest, never the one that is known to be ``good``; returns what went."""
    gone = [one.path for one in kept[max(keep, 1) :] if one.path != good]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


def unreadable_in(directory: Path) -> list[Path]:
    """Return the files that have a backup's name and are none."""
    return [path for path in sorted(directory.glob(f"{_PREFIX}*{_SUFFIX}")) if not _reads(path)]


def _reads(path: Path) -> bool:
    try:
        Archive(path).close()
    except UmbrielError:
        return False
    return True

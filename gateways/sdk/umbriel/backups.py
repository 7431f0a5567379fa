"""Wire types of backups."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request

__all__ = ["BackupReply", "BackupRequest", "BackupsStatus"]


class BackupRequest(Request, frozen=True):
    """Begin a backup, or ask how the last one stands.

    ``path`` is on the service's machine: a directory, where it gets a name of its own, or a file that is not there
    yet. ``master_key``: what everything is encrypted under goes into it.
    """

    action: Literal["start", "status"] = "start"
    path: str = ""
    master_key: bool = False


class BackupReply(Reply, frozen=True):
    """A backup: ``done`` of about ``total`` bytes of what it is ``doing``; whole once it is ``made``."""

    state: Literal["none", "running", "made", "failed"]
    file: str = ""
    doing: str = ""
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    bytes: int = 0
    events: int = 0
    position: str = ""
    removed: list[str] = []
    error: str = ""


class BackupsStatus(Reply, frozen=True):
    """What the service does about backups: where they go by themselves and how often, and the last good one there.

    ``due`` is when the next one is; ``error`` is why the last try failed.
    """

    directory: str
    every_hours: float
    kept: int
    last: datetime | None = None
    age_seconds: float | None = None
    file: str = ""
    bytes: int = 0
    due: datetime | None = None
    error: str = ""

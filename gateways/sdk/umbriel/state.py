"""Wire types of a service's state: profiles, status and rebuilds."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request
from umbriel.backups import BackupsStatus
from umbriel.erasure import DeletedProfile
from umbriel.grants import GrantSpec
from umbriel.upkeep import PassStatus
from umbriel.usage import ModelUsage

__all__ = [
    "ForwardingStatus",
    "ProfileInfo",
    "ProfilesReply",
    "RebuildReply",
    "RebuildRequest",
    "StatusReply",
    "StatusRequest",
    "ViewStatus",
    "WorkItem",
]


class ProfileInfo(Reply, frozen=True):
    """One profile as the directory knows it."""

    name: str
    created_at: datetime
    messages: int = 0
    memories: int = 0
    pending: int = 0
    failed: int = 0
    bytes: int = 0
    open: bool = False


class ProfilesReply(Reply, frozen=True):
    """Profiles the caller holds a grant for."""

    profiles: list[ProfileInfo]
    deleted: list[DeletedProfile] = []


class StatusRequest(Request, frozen=True):
    """One profile's state, or the whole service's when the profile is ``_``."""


class ViewStatus(Reply, frozen=True):
    """One view: the position it has applied, its generation and what it holds."""

    view: str
    generation: str
    position: str
    items: int
    bytes: int = 0
    stopped: str = ""
    resident: int = 0
    #: why it does not fit this version or model; a rebuild is under way
    outdated: str = ""


class WorkItem(Reply, frozen=True):
    """One piece of outstanding work: it is ``pending``, or it ``failed``, or it is a view that ``stopped``, and why."""

    profile: str
    state: Literal["pending", "failed", "stopped"]
    work: str
    position: str
    reason: str = ""


class ForwardingStatus(Reply, frozen=True):
    """How far a profile's ``messages`` or ``memories`` were forwarded to the managed memory.

    ``lag`` counts those that were not yet, ``failed`` those that it would not take; ``reason`` says why it does not
    go on, empty while it does.
    """

    subject: str
    position: str
    lag: int
    failed: int = 0
    reason: str = ""


class StatusReply(Reply, frozen=True):
    """Positions and work outstanding. ``applied`` and ``complete`` are as `at_least` uses them.

    ``lag_events`` counts events of the log that the views have not passed, ``lag_seconds`` is the age of the oldest
    of them; ``work`` lists the first pieces of what is outstanding. Bytes are on disk, but ``resident_bytes`` (an
    estimate: vectors of open profiles in memory). ``commit_seconds`` is what the last commit took. ``unread`` messages
    are still to be read for memories and ``unjudged`` memories to be held against older ones; ``unreadable`` stretches
    of conversation could not be read. These three count open profiles.
    """

    version: str
    log_position: str
    applied: str
    complete: str
    pending: int
    failed: int
    views: list[ViewStatus] = []
    profiles: int = 0
    open_profiles: int = 0
    uptime_seconds: float = 0.0
    lag_events: int = 0
    lag_seconds: float = 0.0
    log_events: int = 0
    log_bytes: int = 0
    views_bytes: int = 0
    resident_bytes: int = 0
    committed_at: datetime | None = None
    commit_seconds: float = 0.0
    work: list[WorkItem] = []
    #: the profile's last rebuild, when there was one
    rebuild: RebuildReply | None = None
    refused: int = 0
    invalid: int = 0
    unread: int = 0
    unjudged: int = 0
    unreadable: int = 0
    #: where a profile is forwarded, one entry a class of content
    forwarding: list[ForwardingStatus] = []
    #: what is done once a day, and over how many profiles it still is to be
    passes: list[PassStatus] = []
    #: what model calls came to, by model; of the whole service those of open profiles
    usage: list[ModelUsage] = []
    #: the last backup that was made by itself, and when the next is due; None where none are
    backup: BackupsStatus | None = None
    #: who asked, and as what: ``person`` or ``agent``
    principal: str = ""
    principal_type: str = ""
    #: what was granted to who asked
    grants: list[GrantSpec] = []
    #: why nothing is written or read any more, empty while the log is what was written to it
    halted: str = ""


class RebuildRequest(Request, frozen=True):
    """Rebuild the named views (all when empty) of one profile from the log, or act on its rebuild.

    ``start``, ``resume`` and ``rollback`` answer when the rebuild has ended, or at once without ``wait``.
    """

    views: list[str] = []
    action: Literal["start", "status", "pause", "resume", "rollback", "cancel"] = "start"
    wait: bool = True


class RebuildReply(Reply, frozen=True):
    """A profile's rebuild: the generation it makes, the profile's own events applied of ``total``, and its state.

    ``rate`` is in events a second, ``seconds`` and ``eta`` in seconds; ``kept`` names, for each view, the generation
    that a rollback would serve. ``state`` is ``none`` when there has been no rebuild.
    """

    generation: str
    events: int
    seconds: float
    position: str
    verified: bool = False
    job: str = ""
    profile: str = ""
    state: Literal["none", "running", "paused", "verifying", "switched", "failed", "cancelled"] = "none"
    views: list[str] = []
    reason: str = ""
    total: int = 0
    rate: float = 0.0
    eta: float = 0.0
    error: str = ""
    kept: dict[str, str] = {}

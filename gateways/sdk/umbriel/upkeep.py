"""Wire types of the daily passes, and of one that is asked for."""

from __future__ import annotations

from datetime import datetime

import msgspec

from umbriel._wire import Reply, Request

__all__ = ["ConsolidateReply", "ConsolidateRequest", "DecayShown", "MergeMember", "MergeShown", "PassStatus"]


class PassStatus(Reply, frozen=True):
    """A daily pass: when it came ``due`` last, and for how many profiles it is ``done`` and still ``waiting`` since.

    ``day`` is the UTC day of the last one, the earliest of several profiles; ``counts`` is what it did in a profile.
    """

    name: str
    due: datetime
    day: str = ""
    done: int = 0
    waiting: int = 0
    counts: dict[str, int] = msgspec.field(default_factory=dict)


class ConsolidateRequest(Request, frozen=True):
    """Let decay and merge now, beside the daily pass; with ``dry_run`` only say what would be done.

    A dry run may be as of another UTC ``day`` (``2026-01-31``), as if nothing were used until then.
    """

    dry_run: bool = False
    day: str = ""


class DecayShown(Reply, frozen=True):
    """A memory whose confidence falls, and to what."""

    memory: str
    text: str
    confidence: float


class MergeMember(Reply, frozen=True):
    """One of the memories that are superseded by a merge."""

    memory: str
    text: str


class MergeShown(Reply, frozen=True):
    """A merge: ``memory`` stands for its ``members``, in its own words or (``model``) those of a model.

    In a dry run ``text`` is empty where a model is still to be asked. ``cosine`` is the lowest of a pair.
    """

    memory: str
    text: str
    members: list[MergeMember]
    cosine: float
    model: str = ""


class ConsolidateReply(Reply, frozen=True):
    """What was done, or would be: how many memories ``decayed``, the first of them, and the merges.

    Texts are cut for the reply.
    """

    day: str
    dry_run: bool
    decayed: int
    position: str
    decays: list[DecayShown] = []
    merges: list[MergeShown] = []

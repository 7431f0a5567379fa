"""What extraction works on: numbered lines of a conversation, and the statements found in them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from domain.kinds import Kind, Source

__all__ = ["CHECKS", "Candidate", "Dropped", "Found", "KnownKey", "Line", "Window"]

#: The eight checks of a statement against its transcript (C5).
CHECKS = (
    "entity",
    "object",
    "location",
    "time",
    "organisation",
    "completeness",
    "relation",
    "inference",
)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One message as extraction reads it.

    ``text`` has recalled memory taken out and relative dates resolved (the original words stay). ``context`` marks a
    line that was read before and is here for understanding only: nothing may rest on it alone.
    """

    index: int
    message: str
    role: str
    text: str
    name: str = ""
    at: datetime | None = None
    context: bool = False


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of one conversation. ``now`` is what a line without a time of its own is dated by."""

    session: str
    lines: tuple[Line, ...]
    source: Source
    now: datetime
    contact: str | None = None


class KnownKey(msgspec.Struct, frozen=True):
    """A topic key in use in this scope, with what it says now."""

    key: str
    text: str


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A statement found in a window; ``lines`` are indexes of the window's lines.

    Everything in it may come from a model: whoever writes it down checks every field first.
    """

    text: str
    lines: tuple[int, ...]
    kind: Kind = "fact"
    fact_type: str = ""
    key: str = ""
    queries: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    found_by: Literal["full", "detail", "both"] = "full"
    verdict: Literal["passed", "corrected", "unchecked"] = "unchecked"
    checks: tuple[str, ...] = ()
    before: str = ""


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """A statement that was found and not kept, and why; ``check`` names the check it failed, if one."""

    text: str
    reason: str
    lines: tuple[int, ...] = ()
    check: str = ""


class Found(msgspec.Struct, frozen=True):
    """What an extractor made of a window."""

    items: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()

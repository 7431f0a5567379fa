"""Wire types of a look at the whole log."""

from __future__ import annotations

from typing import Literal

from umbriel._wire import Reply, Request

__all__ = ["VerifyFinding", "VerifyReply", "VerifyRequest"]


class VerifyRequest(Request, frozen=True):
    """Begin to verify the log, ask how far that is, or give it up; a start joins what is under way."""

    action: Literal["start", "status", "cancel"] = "start"


class VerifyFinding(Reply, frozen=True):
    """One thing that is not as it must be; ``position`` and ``profile`` are empty where it is of none.

    ``check`` is ``log``, ``seal``, ``trust``, ``missing``, ``version``, ``key``, ``body`` or ``view``.
    """

    check: str
    text: str
    position: str = ""
    profile: str = ""


class VerifyReply(Reply, frozen=True):
    """How a look at the log stands: ``done`` of ``total`` positions, and what was ``found``, the first of it listed.

    ``sealed`` is the last position that a seal covers; ``unreadable`` counts events whose key was destroyed.
    """

    state: Literal["none", "running", "done", "cancelled", "failed"]
    position: str = ""
    done: int = 0
    total: int = 0
    events: int = 0
    seals: int = 0
    sealed: str = ""
    unreadable: int = 0
    found: int = 0
    findings: list[VerifyFinding] = []
    seconds: float = 0.0
    error: str = ""

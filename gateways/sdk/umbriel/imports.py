"""Wire types of imports: lines of an export, checked, then written, and what became of each."""

from __future__ import annotations

from typing import Literal

import msgspec

from umbriel._wire import Reply, Request

__all__ = ["ImportLine", "ImportOutcome", "ImportReply", "ImportReport", "ImportRequest", "Outcome"]

#: ``imported`` it is here now; ``duplicate`` it was here; ``blocked`` what it says is forgotten or rejected here, so it
#: came without its words or not at all; ``erased`` its content is nowhere any more; ``conflict`` something else is in
#: its place, which stays; ``skipped`` it is about another log, or is made anew here.
Outcome = Literal["imported", "duplicate", "blocked", "erased", "conflict", "skipped"]


class ImportLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a file (an `ExportedEvent`) and its number there."""

    line: int
    event: msgspec.Raw


class ImportRequest(Request, frozen=True):
    """Some lines of an export, in its order; ``run`` is the SHA-256 of all its lines (hex), as its trailer says.

    ``check`` reads them and writes nothing; ``write`` takes them over; ``finish`` ends the import, with the outcomes
    of all lines; ``abandon`` ends one, ``run`` or any, that will not be finished.
    """

    run: str = ""
    mode: Literal["check", "write", "finish", "abandon"] = "check"
    lines: list[ImportLine] = []
    source: str = ""
    log: str = ""
    counts: dict[str, int] = {}


class ImportOutcome(Reply, frozen=True):
    """What became of one line that was not simply taken over, and why."""

    line: int
    id: str
    type: str
    outcome: Outcome
    reason: str = ""


class ImportReply(Reply, frozen=True):
    """How many lines had which outcome, each that says more than ``imported`` or ``duplicate``, and the position."""

    counts: dict[str, int]
    outcomes: list[ImportOutcome]
    position: str


class ImportReport(Reply, frozen=True):
    """An import as a whole; ``omitted`` outcomes are counted and not listed."""

    profile: str
    source: str
    run: str
    events: int
    counts: dict[str, int]
    outcomes: list[ImportOutcome]
    position: str
    checked_only: bool = False
    omitted: int = 0

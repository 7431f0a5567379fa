"""Wire types of imports: lines of an export, checked, then written, and what became of each."""

from __future__ import annotations

from typing import Literal

import msgspec

from umbriel._wire import Reply, Request
from umbriel.exports import HeaderData, SealData

__all__ = [
    "ImportLine",
    "ImportOutcome",
    "ImportProofs",
    "ImportReply",
    "ImportReport",
    "ImportRequest",
    "ImportSeal",
    "Outcome",
]

#: ``imported`` it is here now; ``duplicate`` it was here; ``blocked`` what it says is forgotten or rejected here, so it
#: came without its words or not at all; ``erased`` its content is nowhere any more; ``conflict`` something else is in
#: its place, which stays; ``skipped`` it is about another log, or is made anew here.
Outcome = Literal["imported", "duplicate", "blocked", "erased", "conflict", "skipped"]


class ImportLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a file (an `ExportedEvent`) and its number there."""

    line: int
    event: msgspec.Raw


class ImportSeal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A seal of a file (its line and number there), and positions and leaves (32 bytes each) of the lines under it."""

    line: int
    data: SealData
    positions: list[int]
    leaves: bytes


class ImportProofs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a file with proofs promises: its ``header``, and the position ``previous`` of the line before these lines.

    A check takes one ``seal`` without lines, or at the end the trailer's ``end`` (line number and signature). What was
    verified is recorded with the import: ``lines`` and ``seals``, the hash of the last seal, and whether the key was
    ``pinned`` by who imports.
    """

    header: HeaderData
    previous: int = 0
    seal: ImportSeal | None = None
    end: tuple[int, str] | None = None
    pinned: bool = False
    lines: int = 0
    seals: int = 0
    last_seal: str = ""


class ImportRequest(Request, frozen=True):
    """Some lines of an export, in its order; ``run`` is the SHA-256 of all its lines (hex), as its trailer says.

    ``check`` reads them and writes nothing; ``write`` takes them over; ``finish`` ends the import, with the outcomes
    of all lines; ``abandon`` ends one, ``run`` or any, that will not be finished. With ``proofs`` no line is taken that
    is not what was exported.
    """

    run: str = ""
    mode: Literal["check", "write", "finish", "abandon"] = "check"
    lines: list[ImportLine] = []
    source: str = ""
    log: str = ""
    counts: dict[str, int] = {}
    proofs: ImportProofs | None = None


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
    #: the hash of a seal that was checked
    seal: str = ""


class ImportReport(Reply, frozen=True):
    """An import as a whole; ``omitted`` outcomes are counted and not listed.

    ``verified`` lines and ``seals`` hold by the word of ``public_key``, empty where the file has no proofs.
    """

    profile: str
    source: str
    run: str
    events: int
    counts: dict[str, int]
    outcomes: list[ImportOutcome]
    position: str
    checked_only: bool = False
    omitted: int = 0
    public_key: str = ""
    pinned: bool = False
    verified: int = 0
    seals: int = 0

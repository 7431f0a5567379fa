"""Cases of mutation: what is known, what is then said or asked, what must be known afterwards and what must not."""

from __future__ import annotations

from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from umbriel import InvalidInputError

__all__ = ["Case", "Checks", "Elsewhere", "Given", "Operation", "read_cases"]

Verb = Literal["remember", "ingest", "correct", "forget", "retract", "reject"]


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A misspelt field is an error, not a check that is never made."""


class Given(_Strict, frozen=True):
    """One thing that is known before: a memory (``remember``) or a message of the user (``say``).

    A ``contact`` is one of the case's own; none is the case's first.
    """

    remember: str = ""
    say: str = ""
    key: str = ""
    contact: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None


class Operation(_Strict, frozen=True):
    """What is done: a write by ``content`` (and ``key``), or a verb on what a ``description`` means."""

    verb: Verb
    description: str = ""
    content: str = ""
    key: str = ""
    contact: str = ""
    with_sources: bool = False
    all: bool = False


class Checks(_Strict, frozen=True):
    """Each ``expected`` text is part of something that is listed or recalled, each ``forbidden`` one of nothing.

    With an ``error`` (its code) the operation must be refused so. ``query`` is what recall is asked.
    """

    expected: tuple[str, ...]
    forbidden: tuple[str, ...] = ()
    query: str = ""
    error: str = ""


class Elsewhere(_Strict, frozen=True):
    """What another contact of the case must still know."""

    contact: str
    expected: tuple[str, ...]


class Case(_Strict, frozen=True):
    """One case. ``held`` ones were not looked at while anything was tuned; ``history`` checks ended versions too."""

    name: str
    kind: str
    setup: tuple[Given, ...]
    operation: Operation
    checks: Checks
    held: bool = False
    contact: str = ""
    history: bool = False
    elsewhere: Elsewhere | None = None


def read_cases(path: Path | None) -> list[Case]:
    """Return the cases of a file (JSON Lines), of Umbriel's own when None.

    Raises InvalidInputError naming the line that cannot be read.
    """
    source = path if path is not None else resources.files("gateways.bench") / "data" / "mutations.jsonl"
    cases = []
    for number, text in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        try:
            cases.append(msgspec.json.decode(text, type=Case))
        except msgspec.DecodeError as error:
            raise InvalidInputError(
                f"{source}, line {number}: not a case",
                expected="name, kind, setup, operation, checks",
                found=str(error),
            ) from error
    if not cases:
        raise InvalidInputError(f"{source} has no cases", expected="one a line", found="none")
    return cases

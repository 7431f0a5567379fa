"""Deterministic rules, before and after a model has checked: what may not become a memory whatever a model says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from domain.errors import InvalidInputError
from domain.fence import unfenced
from domain.text import check_text
from domain.transcript import Candidate, Dropped, Line
from gateways.extraction.chat.evidence import evidence_of
from gateways.extraction.chat.prompts import echoes_prompt

__all__ = [
    "STATEMENT_CHARS",
    "Lines",
    "Sorted",
    "cited",
    "dropped",
    "grounded",
    "holds_fence",
    "one_line",
    "screened",
    "unacceptable",
]

#: characters of a statement above which it is none
STATEMENT_CHARS = 1_000
_DROPPED_CHARS = 300

#: lines of a window by their index
Lines: TypeAlias = Mapping[int, Line]
#: what was kept, and what was not
Sorted: TypeAlias = tuple[list[Candidate], list[Dropped]]

_ABOUT_THE_USER = re.compile(r"(?:the\s+)?user\b(?!['’]s\b)", re.IGNORECASE)
_FENCE = re.compile(r"</?(?:transcript|statements|known_keys|recalled_memory) mark=")
_THOUGHT = "think|guess|suppose|believe|see|assume|understand|imagine|hear|know|recall|hope|suggest|recommend|wonder"
_BETWEEN = "have|will|just|already|also|now|still|really"
_OWN_ACTION = re.compile(
    rf"\bI(?:['’](?:ve|ll))?(?:\s+(?:{_BETWEEN}))*\s+(?!(?:{_THOUGHT}|{_BETWEEN}|would|can|could|may|might)\b)[a-z]{{3,}}"
)


def screened(items: Iterable[Candidate], lines: Lines) -> Sorted:
    """Sort out what is no statement, cites nothing, rests on context alone, or was only said by the assistant."""
    kept: list[Candidate] = []
    left: list[Dropped] = []
    for item in items:
        reason, check = _flaw(item, lines)
        if reason:
            left.append(dropped(item, reason, check))
        else:
            kept.append(item)
    return kept, left


def grounded(items: Iterable[Candidate], lines: Lines, now: datetime) -> Sorted:
    """Sort out what holds a number, a date or quoted words that its lines do not."""
    kept: list[Candidate] = []
    left: list[Dropped] = []
    for item in items:
        check = evidence_of(cited(item, lines), now).lacks(item.text)
        if check:
            left.append(dropped(item, "its lines do not hold what it says", check))
        else:
            kept.append(item)
    return kept, left


def cited(item: Candidate, lines: Lines) -> list[Line]:
    """Return the lines an item cites, in order."""
    return [lines[index] for index in item.lines if index in lines]


def one_line(text: str) -> str:
    """Return text with each run of white space as one space: a statement is a sentence, not a page."""
    return " ".join(text.split())


def unacceptable(text: str) -> str:
    """Return why a text can be no statement: blank, over-long, not storable, an echo; nothing if it can."""
    if not text.strip():
        return "no text"
    if len(text) > STATEMENT_CHARS:
        return f"longer than {STATEMENT_CHARS} characters"
    try:
        check_text(text, field="statement", max_bytes=STATEMENT_CHARS * 4)
    except InvalidInputError as error:
        return error.message
    if holds_fence(text):
        return "holds the mark of a fence"
    return "repeats the prompt" if echoes_prompt(text) else ""


def holds_fence(text: str) -> bool:
    """Whether a text holds the mark of a fence: it was shown to a model, not said."""
    return unfenced(text) != text or _FENCE.search(text) is not None


def dropped(item: Candidate, reason: str, check: str = "") -> Dropped:
    """Return the record of an item that is not kept, its text shortened to what a record takes."""
    text = item.text.encode("utf-8", "replace").decode().replace("\0", "\ufffd").strip()
    shown = text if len(text) <= _DROPPED_CHARS else f"{text[:_DROPPED_CHARS]}…"
    return Dropped(text=shown, reason=reason, lines=item.lines, check=check)


def _flaw(item: Candidate, lines: Lines) -> tuple[str, str]:
    """Return why an item is not kept and the check it fails; two empty texts when it is."""
    if reason := unacceptable(item.text):
        return reason, ""
    sources = cited(item, lines)
    if not sources:
        return "cites no line it was given", ""
    if all(line.context for line in sources):
        return "rests on lines that were read before", ""
    if _only_assumed(item.text, sources):
        return "said of the user by the assistant alone", "inference"
    return "", ""


def _only_assumed(text: str, sources: Sequence[Line]) -> bool:
    """Whether nobody but the assistant said it of the user, and not as something the assistant itself did."""
    return (
        _ABOUT_THE_USER.match(text.strip()) is not None
        and all(line.role == "assistant" for line in sources)
        and not any(_OWN_ACTION.search(line.text) for line in sources)
    )

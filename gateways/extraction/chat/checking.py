"""The eight checks of each statement against its transcript, and what their verdicts do to it (C5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from domain.text import fold_content
from domain.transcript import CHECKS, Candidate, Dropped, Line
from gateways.extraction.chat.merge import joined_lines
from gateways.extraction.chat.prompts import shown_lines, shown_statements
from gateways.extraction.chat.screening import Lines, Sorted, dropped, one_line, unacceptable
from gateways.extraction.chat.shapes import Verdict, Verdicts

__all__ = ["BATCH", "batches", "by_number", "excerpt", "verification_prompt", "with_verdicts"]

T = TypeVar("T")

#: statements judged in one answer, so that it stays small
BATCH = 20
_NUMBER = re.compile(r"\d+")
#: lines before and after a cited one that are shown with it
_AROUND = 2


def batches(items: Sequence[Candidate], lines: Lines, *, size: int, most: int = BATCH) -> Iterator[list[Candidate]]:
    """Yield the items in the order of their lines, so many at once that what is shown takes ``size`` characters."""
    batch: list[Candidate] = []
    for item in sorted(items, key=lambda one: one.lines):
        if batch and (len(batch) == most or _weight([*batch, item], lines) > size):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def excerpt(items: Iterable[Candidate], lines: Lines) -> list[Line]:
    """Return the lines that the items cite and those around them, in order."""
    wanted = {near for item in items for index in item.lines for near in range(index - _AROUND, index + _AROUND + 1)}
    return [lines[index] for index in sorted(wanted & lines.keys())]


def verification_prompt(items: Sequence[Candidate], lines: Lines) -> str:
    """Return what a model is shown to check the items: their stretch of the transcript, then each with its number."""
    return f"{shown_lines(excerpt(items, lines))}\n\n{shown_statements(items)}"


def with_verdicts(items: Sequence[Candidate], answer: Verdicts) -> Sorted:
    """Return the items as the verdicts leave them: passed, corrected, dropped, or unchecked where none was given.

    One that repeats another gives that one its lines; when the other is not kept, or lacks one of its numbers, it
    stays, unchecked.
    """
    verdicts = {number: given[0] for number, given in by_number((one.id, one) for one in answer.items or ()).items()}
    same = _repeated(verdicts, len(items))
    kept: dict[int, Candidate] = {}
    left: list[Dropped] = []
    for number, item in enumerate(items, 1):
        outcome = _judged(item, verdicts[number]) if number in verdicts and number not in same else item
        if isinstance(outcome, Candidate):
            kept[number] = outcome
        else:
            left.append(outcome)
    for number, other in same.items():
        if other in kept and _numbers(kept[number]) <= _numbers(kept[other]):
            left.append(dropped(kept[number], "says what another statement says"))
            kept[other] = joined_lines(kept[other], kept.pop(number))
    return list(kept.values()), left


def by_number(answers: Iterable[tuple[str | int, T]]) -> Mapping[int, list[T]]:
    """Return answers by the number of the statement they name; what names none is left out."""
    made: dict[int, list[T]] = {}
    for given, answer in answers:
        text = str(given).strip().rstrip(".")
        if text.isascii() and text.isdecimal() and len(text) < 10:  # noqa: PLR2004 -- no batch has that many
            made.setdefault(int(text), []).append(answer)
    return made


def _repeated(verdicts: Mapping[int, Verdict], count: int) -> dict[int, int]:
    """Return which statement each repeated one is said by; of several that repeat each other the first stays."""
    named = by_number(
        (one.repeats or "", number) for number, one in verdicts.items() if one.verdict.strip().lower() == "repeated"
    )
    of = {number: other for other, numbers in named.items() for number in numbers if max(number, other) <= count}
    roots = {number: _root(number, of) for number in of if number > 0 and of[number] > 0}
    return {number: root for number, root in roots.items() if root != number}


def _numbers(item: Candidate) -> set[str]:
    return set(_NUMBER.findall(item.text))


def _root(number: int, of: Mapping[int, int]) -> int:
    seen: list[int] = []
    while number in of and number not in seen:
        seen.append(number)
        number = of[number]
    return min(seen[seen.index(number) :]) if number in seen else number


def _judged(item: Candidate, verdict: Verdict) -> Candidate | Dropped:
    failed = tuple(check for check in CHECKS if check in (verdict.checks or ()))
    match verdict.verdict.strip().lower():
        case "passed":
            return replace(item, verdict="passed")
        case "corrected":
            return _corrected(item, one_line(verdict.text or ""), failed)
        case "dropped":
            return dropped(item, "did not stand up to the transcript", failed[0] if failed else "")
        case _:
            return item


def _corrected(item: Candidate, text: str, failed: tuple[str, ...]) -> Candidate | Dropped:
    if reason := unacceptable(text):
        return dropped(item, f"its correction is none: {reason}", failed[0] if failed else "")
    if fold_content(text) == fold_content(item.text):
        return replace(item, verdict="passed")
    return replace(item, text=text, verdict="corrected", checks=failed, before=item.text)


def _weight(items: Sequence[Candidate], lines: Lines) -> int:
    return sum(len(line.text) for line in excerpt(items, lines)) + sum(len(item.text) for item in items)

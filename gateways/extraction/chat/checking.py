"""The eight checks of each statement against its transcript, and what their verdicts do to it (C5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from domain.text import fold_content
from domain.transcript import CHECKS, Candidate, Dropped, Line
from gateways.extraction.chat.prompts import shown_lines, shown_statements
from gateways.extraction.chat.screening import Lines, Sorted, dropped, one_line, unacceptable
from gateways.extraction.chat.shapes import Verdict, Verdicts

__all__ = ["BATCH", "batches", "by_number", "excerpt", "verification_prompt", "with_verdicts"]

T = TypeVar("T")

#: statements judged in one answer, so that it stays small
BATCH = 20
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
    """Return the items as the verdicts leave them: passed, corrected, dropped, or unchecked where none was given."""
    verdicts = by_number((verdict.id, verdict) for verdict in answer.items or ())
    kept: list[Candidate] = []
    left: list[Dropped] = []
    for number, item in enumerate(items, 1):
        outcome = _judged(item, verdicts[number][0]) if number in verdicts else item
        if isinstance(outcome, Candidate):
            kept.append(outcome)
        else:
            left.append(outcome)
    return kept, left


def by_number(answers: Iterable[tuple[str | int, T]]) -> Mapping[int, list[T]]:
    """Return answers by the number of the statement they name; what names none is left out."""
    made: dict[int, list[T]] = {}
    for given, answer in answers:
        text = str(given).strip().rstrip(".")
        if text.isascii() and text.isdecimal() and len(text) < 10:  # noqa: PLR2004 -- no batch has that many
            made.setdefault(int(text), []).append(answer)
    return made


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

"""How recalled text is shown in a prompt: a line that says where it comes from, inside a fence of data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain.fence import fence
from umbriel.answers import Synthesis
from umbriel.types import RecallResult

__all__ = ["answered", "fenced", "line_of"]


def line_of(result: RecallResult) -> str:
    """Return a result as a prompt shows it: id, kind, day and speaker in brackets, then its text."""
    said = _day(result.at or result.stated_at or result.recorded_at)
    parts = (result.id, result.kind, said, result.name or result.role)
    return f"[{' · '.join(filter(None, parts))}] {result.text}"


def answered(answer: Synthesis | None) -> list[str]:
    """Return the answer of a model as a prompt shows it, with what it was made of; nothing where none was asked for."""
    if answer is None:
        return []
    if not answer.text:
        return [f"[no answer] {answer.reason}"]
    made = " · ".join(("answer", f"by {answer.model}", *(f"from {one}" for one in answer.cited)))
    return [f"[{made}] {answer.text}"]


def fenced(results: Sequence[RecallResult], *, before: Sequence[str] = ()) -> str:
    """Return the results for a prompt, as data between the marks of a fence, after what comes ``before`` them."""
    return fence([*before, *(line_of(result) for result in results)])


def _day(moment: datetime | None) -> str:
    return "" if moment is None else moment.date().isoformat()

"""Statements said twice, by two passes or in two chunks, made one."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from domain.text import fold_content
from domain.transcript import Candidate

__all__ = ["joined_lines", "merged"]

_BETTER = {"passed": 0, "corrected": 1, "unchecked": 2}


def merged(items: Iterable[Candidate]) -> list[Candidate]:
    """Return the items without repeats, in the order first seen; equal is what `fold_content` folds to the same.

    A repeat leaves its lines, the pass that found it and the better verdict; other fields are the first one's, or the
    repeat's where the first has none.
    """
    made: dict[str, Candidate] = {}
    for item in items:
        folded = fold_content(item.text)
        made[folded] = _joined(made[folded], item) if folded in made else item
    return list(made.values())


def joined_lines(item: Candidate, repeat: Candidate) -> Candidate:
    """Return an item with the lines of another that says the same, found by whatever found either."""
    return replace(
        item,
        lines=tuple(sorted({*item.lines, *repeat.lines})),
        found_by=item.found_by if item.found_by == repeat.found_by else "both",
    )


def _joined(one: Candidate, other: Candidate) -> Candidate:
    better = min(one, other, key=lambda item: _BETTER[item.verdict])
    return replace(
        joined_lines(better, other if better is one else one),
        fact_type=better.fact_type or one.fact_type or other.fact_type,
        key=better.key or one.key or other.key,
        queries=better.queries or one.queries or other.queries,
    )

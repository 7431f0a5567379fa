"""Extraction as a benchmark: labelled lines, what an extractor finds in them, precision and recall by fact type."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import resources
from itertools import chain
from pathlib import Path

import msgspec

from domain.errors import InvalidInputError
from domain.kinds import Kind
from domain.ports import Extractor
from domain.text import fold_key
from domain.transcript import Candidate, Line, Window
from gateways.extraction.dates import resolve_dates

__all__ = [
    "DEFAULT_AT",
    "Expected",
    "ExtractionReport",
    "Labelled",
    "Part",
    "TypeScore",
    "measure_extraction",
    "read_labelled",
]

#: When a line without a time of its own was said: a Wednesday.
DEFAULT_AT = datetime(2026, 4, 15, 12, tzinfo=UTC)
TOTAL = "total"


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """One item that a line states: its text holds every part of ``contains``, whatever its case.

    ``optional`` items are true but not asked for: finding one counts neither for nor against.
    """

    kind: Kind
    fact_type: str
    contains: tuple[str, ...]
    key: str = ""
    optional: bool = False


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the set, read by itself. ``held_out`` lines were written before anything was run on them."""

    author: str
    text: str
    role: str = "user"
    name: str = ""
    at: datetime | None = None
    held_out: bool = False
    expected: tuple[Expected, ...] = ()


class TypeScore(msgspec.Struct, frozen=True, kw_only=True):
    """``right`` of ``found`` items are expected (precision), and of ``expected`` ones found (recall), in per cent."""

    fact_type: str
    expected: int
    found: int
    right: int
    precision: float | None
    recall: float | None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that were developed against, or those held out; ``wrong`` and ``missed`` name line and item."""

    name: str
    lines: int
    silent: int
    items: int
    items_per_100: float
    ms_per_line: float
    scores: list[TypeScore]
    wrong: list[str]
    missed: list[str]


class ExtractionReport(msgspec.Struct, frozen=True, kw_only=True):
    """One extractor on one set of labelled lines."""

    extractor: str
    file: str
    parts: list[Part]


class _Outcome(msgspec.Struct, frozen=True):
    line: Labelled
    found: tuple[Candidate, ...]
    right: tuple[tuple[Expected, Candidate], ...]
    seconds: float


def read_labelled(path: Path | None) -> list[Labelled]:
    """Return the lines of a labelled set (JSON Lines), of Umbriel's own when None.

    Raises InvalidInputError naming the line that cannot be read.
    """
    source = path if path is not None else resources.files("gateways.bench") / "data" / "extraction.jsonl"
    lines = []
    for number, text in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        try:
            lines.append(msgspec.json.decode(text, type=Labelled))
        except msgspec.DecodeError as error:
            raise InvalidInputError(
                f"{source}, line {number}: not a labelled line",
                expected="author, text and expected items",
                found=str(error),
            ) from error
    return lines


async def measure_extraction(extractor: Extractor, lines: Sequence[Labelled], file: str) -> ExtractionReport:
    """Return how an extractor does on labelled lines, those that are held out apart."""
    parts = []
    for name, held_out in (("developed against", False), ("held out", True)):
        outcomes = [await _read(extractor, line) for line in lines if line.held_out is held_out]
        if outcomes:
            parts.append(_part(name, outcomes))
    return ExtractionReport(extractor=extractor.name, file=file, parts=parts)


async def _read(extractor: Extractor, line: Labelled) -> _Outcome:
    at = line.at or DEFAULT_AT
    said = Line(index=0, message="m0", role=line.role, text=resolve_dates(line.text, at), name=line.name, at=at)
    window = Window(session="bench", lines=(said,), source="turn", now=at)
    started = time.perf_counter()
    found = (await extractor.extract(window, (), profile="bench")).items
    seconds = time.perf_counter() - started
    return _Outcome(line, found, tuple(_matched(line.expected, found)), seconds)


def _matched(expected: Sequence[Expected], found: Sequence[Candidate]) -> Iterable[tuple[Expected, Candidate]]:
    """Yield each expected item with the first item that is it; none is used twice."""
    left = list(found)
    for one in expected:
        match = next((item for item in left if _is(one, item)), None)
        if match is not None:
            left.remove(match)
            yield one, match


def _is(expected: Expected, item: Candidate) -> bool:
    text = item.text.casefold()
    return (
        (item.kind, item.fact_type) == (expected.kind, expected.fact_type)
        and (not expected.key or fold_key(item.key) == fold_key(expected.key))
        and all(part.casefold() in text for part in expected.contains)
    )


def _part(name: str, outcomes: Sequence[_Outcome]) -> Part:
    items = sum(len(outcome.found) for outcome in outcomes)
    expected, found, right = Counter[str](), Counter[str](), Counter[str]()
    for outcome in outcomes:
        optional = [item for one, item in outcome.right if one.optional]
        expected.update(one.fact_type for one in outcome.line.expected if not one.optional)
        found.update(item.fact_type for item in outcome.found if item not in optional)
        right.update(one.fact_type for one, _ in outcome.right if not one.optional)
    scores = [_score(kind, expected[kind], found[kind], right[kind]) for kind in sorted(expected | found)]
    return Part(
        name=name,
        lines=len(outcomes),
        silent=sum(all(one.optional for one in outcome.line.expected) for outcome in outcomes),
        items=items,
        items_per_100=round(100 * items / len(outcomes), 1),
        ms_per_line=round(1000 * sum(outcome.seconds for outcome in outcomes) / len(outcomes), 3),
        scores=[*scores, _score(TOTAL, expected.total(), found.total(), right.total())],
        wrong=list(chain.from_iterable(_wrong(outcome) for outcome in outcomes)),
        missed=list(chain.from_iterable(_missed(outcome) for outcome in outcomes)),
    )


def _score(fact_type: str, expected: int, found: int, right: int) -> TypeScore:
    return TypeScore(
        fact_type=fact_type,
        expected=expected,
        found=found,
        right=right,
        precision=round(100 * right / found, 1) if found else None,
        recall=round(100 * right / expected, 1) if expected else None,
    )


def _wrong(outcome: _Outcome) -> list[str]:
    right = [item for _, item in outcome.right]
    return [f"{outcome.line.text!r}: {item.text}" for item in outcome.found if item not in right]


def _missed(outcome: _Outcome) -> list[str]:
    right = [one for one, _ in outcome.right]
    return [
        f"{outcome.line.text!r}: {one.fact_type}, {' '.join(one.contains)}"
        for one in outcome.line.expected
        if not one.optional and one not in right
    ]

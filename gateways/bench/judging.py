"""``umbriel bench judge``: how often a judge is right about labelled pairs, beside what a cosine alone would do."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from domain.ports import Judge, Opinion
from domain.settings import VerifierLimits
from gateways.bench.pairs import FIT_AUTHORS, Pair, cosines, read_pairs
from gateways.models.judges import HeuristicJudge
from gateways.models.minilm import MiniLMEmbedder
from umbriel import InvalidInputError

__all__ = ["BASELINE", "JudgeReport", "Part", "Score", "judge", "measure_judge", "show_judge"]

#: Judges that run with nothing but what is installed.
_JUDGES: dict[str, Callable[[], Judge]] = {"heuristic": HeuristicJudge}
_LIMITS = VerifierLimits()
_PIPE_WIDTH = 120
#: What is measured beside a judge.
BASELINE = f"cosine >= {_LIMITS.cosine:g} alone"

Question = Literal["replaces", "contradicts"]
_QUESTIONS: tuple[Question, ...] = ("replaces", "contradicts")


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Right and wrong answers to one question; precision, recall and F1 in [0, 1], None where nothing was divided.

    ``who`` is the judge, or the baseline.
    """

    who: str
    question: Question
    kind: str
    pairs: int
    true_positives: int
    false_positives: int
    false_negatives: int
    precision: float | None
    recall: float | None
    f1: float | None


class Part(msgspec.Struct, frozen=True):
    """Scores of the pairs of some authors: per kind, then all of them; and what was answered wrong."""

    name: str
    pairs: int
    scores: list[Score]
    wrong: list[str]


class JudgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run over a file of pairs; an answer is yes from the threshold on."""

    judge: str
    file: str
    thresholds: dict[Question, float]
    parts: list[Part]


class _Asked(msgspec.Struct, frozen=True):
    """A pair, its cosine and what the judge said."""

    pair: Pair
    cosine: float
    opinion: Opinion

    def says(self, question: Question) -> bool:
        """Whether the judge's answer is yes."""
        return bool(getattr(self.opinion, question) >= getattr(_LIMITS, question))

    def alike(self, question: Question) -> bool:
        """Whether a cosine alone would say yes, to either question."""
        return bool(question) and self.cosine >= _LIMITS.cosine


def judge(
    pairs: Annotated[
        Path | None, typer.Option("--pairs", metavar="FILE", help="JSON lines of pairs; ours when not given.")
    ] = None,
    name: Annotated[str, typer.Option("--judge", help=f"Which judge: {', '.join(_JUDGES)}.")] = "heuristic",
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
    wrong: Annotated[bool, typer.Option("--wrong", help="Also print what was answered wrong.")] = False,
) -> None:
    """Measure how precise a judge is on labelled pairs of statements, held-out authors apart.

    A line of a file has new, old, replaces, contradicts, and may have kind, author and key.
    """
    if name not in _JUDGES:
        raise InvalidInputError("no such judge", expected=", ".join(_JUDGES), found=ascii(name)[:60])
    report = measure_judge(_JUDGES[name](), read_pairs(pairs), pairs)
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    else:
        show_judge(report, wrong=wrong)


def measure_judge(asked: Judge, pairs: list[Pair], path: Path | None = None) -> JudgeReport:
    """Return a judge's scores; only our own pairs (no ``path``) are split, for nothing was fitted on others."""
    return asyncio.run(_measure(asked, pairs, path))


async def _measure(asked: Judge, pairs: list[Pair], path: Path | None) -> JudgeReport:
    found = []
    for pair, cosine in zip(pairs, cosines(pairs, MiniLMEmbedder()), strict=True):
        new, old = pair.statements()
        found.append(_Asked(pair, cosine, await asked.judge(new, old, cosine=cosine, profile="bench")))
    fitted = [one for one in found if path is None and one.pair.author in FIT_AUTHORS]
    held = [one for one in found if path is not None or one.pair.author not in FIT_AUTHORS]
    parts = [_part("held-out authors", held, asked.name), _part("authors it was fitted on", fitted, asked.name)]
    return JudgeReport(
        judge=asked.name,
        file=path.name if path is not None else "our pairs",
        thresholds={question: getattr(_LIMITS, question) for question in _QUESTIONS},
        parts=[part for part in parts if part.pairs],
    )


def _part(name: str, asked: Sequence[_Asked], who: str) -> Part:
    kinds = sorted({one.pair.kind for one in asked})
    scores: list[Score] = []
    for question in _QUESTIONS:
        by_kind = ((kind, [one for one in asked if one.pair.kind == kind]) for kind in kinds)
        scores.extend(_score(who, question, kind, members, _Asked.says) for kind, members in by_kind)
        scores.append(_score(who, question, "all", asked, _Asked.says))
        scores.append(_score(BASELINE, question, "all", asked, _Asked.alike))
    return Part(name, len(asked), scores, list(_wrong(asked)))


def _score(
    who: str, question: Question, kind: str, asked: Sequence[_Asked], says: Callable[[_Asked, Question], bool]
) -> Score:
    answers = [(says(one, question), bool(getattr(one.pair, question))) for one in asked]
    right, false, missed = (answers.count(outcome) for outcome in ((True, True), (True, False), (False, True)))
    return Score(
        who=who,
        question=question,
        kind=kind,
        pairs=len(asked),
        true_positives=right,
        false_positives=false,
        false_negatives=missed,
        precision=_part_of(right, right + false),
        recall=_part_of(right, right + missed),
        f1=_part_of(2 * right, 2 * right + false + missed),
    )


def _part_of(some: int, whole: int) -> float | None:
    return round(some / whole, 4) if whole else None


def _wrong(asked: Iterable[_Asked]) -> Iterable[str]:
    for one in asked:
        for question in _QUESTIONS:
            if one.says(question) != getattr(one.pair, question):
                said = "yes" if one.says(question) else "no"
                chance = getattr(one.opinion, question)
                yield f"{question} {said} ({chance:.2f}), {one.pair.kind}: {one.pair.new} <- {one.pair.old}"


def show_judge(report: JudgeReport, *, wrong: bool = False) -> None:
    """Print a report: a table per part and question, and what was wrong where asked for."""
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    for part in report.parts:
        for question, threshold in report.thresholds.items():
            title = f"{report.judge} on {report.file}, {part.name}: {question} >= {threshold:g}, per cent"
            console.print(_table(title, [score for score in part.scores if score.question == question]))
        if wrong:
            for line in part.wrong:
                console.print(line, soft_wrap=True)


def _table(title: str, scores: Iterable[Score]) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("kind", no_wrap=True)
    for name in ("pairs", "right", "false", "missed", "precision", "recall", "F1"):
        table.add_column(name, justify="right", no_wrap=True)
    for score in scores:
        counts = (score.pairs, score.true_positives, score.false_positives, score.false_negatives)
        shares = ("-" if one is None else f"{100 * one:.1f}" for one in (score.precision, score.recall, score.f1))
        name = score.who if score.who == BASELINE else score.kind
        table.add_row(name, *map(str, counts), *shares, style="bold" if score.kind == "all" else "")
    return table

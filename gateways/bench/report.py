"""What a run found, as one Struct: scores by category and in total, for turns and for sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path

import msgspec

from gateways.bench.ablation import Ablated, Row, ablation_rows
from gateways.bench.metrics import mean, percentile, score
from gateways.bench.run import Answer, Measured
from gateways.bench.samples import Sample

__all__ = ["ADVERSARIAL", "TOTAL", "Group", "IndexFigures", "QueryFigures", "Report", "apart_of", "make_report"]

#: Questions about things that were never said; totals of LoCoMo show them apart.
ADVERSARIAL = "5"
TOTAL = "total"
_LOCOMO = ("locomo", "observations")


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The mean scores, in per cent, of ``questions`` questions that count alike."""

    name: str
    questions: int
    scores: dict[str, float]


class IndexFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How long loading took: from the first message sent until every view was complete."""

    messages: int
    recorded: int
    seconds: float
    messages_per_second: float


class QueryFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds per question, one after the other, through the public API."""

    questions: int
    p50_ms: float
    p95_ms: float
    mean_ms: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One set's run. ``turns`` and ``sessions`` end with the total; LoCoMo has two, without category 5 and with it.

    A set whose evidence is sessions has no ``turns``. ``skipped`` questions had no evidence that can be found;
    ``unresolved`` entries of evidence name nothing.
    """

    benchmark: str
    file: str
    version: str
    conversations: int
    skipped: int
    unresolved: list[str]
    turns: list[Group]
    sessions: list[Group]
    index: IndexFigures
    query: QueryFigures
    #: what each channel is worth, where that was asked for
    ablation: list[Row] = []

    def total(self, level: str, *, adversarial: bool) -> Group | None:
        """Return the total of ``turns`` or ``sessions``, with or without LoCoMo's category 5; None without any."""
        groups = self.sessions if level == "sessions" else self.turns
        totals = [group for group in groups if group.name.startswith(TOTAL)]
        return (totals[-1] if adversarial else totals[0]) if totals else None


def make_report(
    benchmark: str,
    file: Path,
    samples: Sequence[Sample],
    runs: Sequence[Measured],
    version: str,
    ablated: Iterable[Ablated] = (),
) -> Report:
    """Return the report of a run over ``samples``."""
    answers = list(chain.from_iterable(run.answers for run in runs))
    by_turn = [answer for answer in answers if answer.question.evidence]
    apart = apart_of(benchmark)
    return Report(
        benchmark=benchmark,
        file=file.name,
        version=version,
        conversations=len(samples),
        skipped=sum(sample.skipped for sample in samples),
        unresolved=[f"{sample.name} {entry}" for sample in samples for entry in sample.unresolved],
        turns=_groups(by_turn, lambda answer: score(answer.turns, answer.question.evidence), apart),
        sessions=_groups(answers, lambda answer: score(answer.sessions, answer.evidence_sessions), apart),
        index=_index(runs),
        query=_query([answer.seconds for answer in answers]),
        ablation=ablation_rows(ablated),
    )


def apart_of(benchmark: str) -> str:
    """Return the category of a set that its first total leaves out, empty for none."""
    return ADVERSARIAL if benchmark in _LOCOMO else ""


def _groups(answers: Sequence[Answer], scored: Callable[[Answer], dict[str, float]], apart: str) -> list[Group]:
    found = [(answer.question.category, scored(answer)) for answer in answers]
    if not found:
        return []
    categories = sorted({category for category, _ in found})
    groups = [_group(category, (scores for own, scores in found if own == category)) for category in categories]
    everything = _group(TOTAL, (scores for _, scores in found))
    if not apart:
        return [*groups, everything]
    without = _group(f"{TOTAL} 1-4", (scores for own, scores in found if own != apart))
    return [*groups, without, msgspec.structs.replace(everything, name=f"{TOTAL} 1-5")]


def _group(name: str, scores: Iterable[dict[str, float]]) -> Group:
    members = list(scores)
    return Group(
        name=name,
        questions=len(members),
        scores={metric: round(100 * value, 2) for metric, value in mean(members).items()},
    )


def _index(runs: Sequence[Measured]) -> IndexFigures:
    messages = sum(run.messages for run in runs)
    seconds = sum(run.index_seconds for run in runs)
    return IndexFigures(
        messages=messages,
        recorded=sum(run.recorded for run in runs),
        seconds=round(seconds, 3),
        messages_per_second=round(messages / seconds, 1) if seconds else 0.0,
    )


def _query(seconds: Sequence[float]) -> QueryFigures:
    return QueryFigures(
        questions=len(seconds),
        p50_ms=round(1000 * percentile(seconds, 50), 2),
        p95_ms=round(1000 * percentile(seconds, 95), 2),
        mean_ms=round(1000 * sum(seconds) / len(seconds), 2) if seconds else 0.0,
    )

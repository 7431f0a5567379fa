"""Measuring a judge on labelled pairs: the pairs that ship, files that people bring, and the figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from domain.ports import Opinion, Statement
from gateways.bench.cli import app
from gateways.bench.fit_judge import fit
from gateways.bench.judging import BASELINE, JudgeReport, Score, measure_judge
from gateways.bench.pairs import FIT_AUTHORS, Pair, read_pairs
from gateways.models.judges import HeuristicJudge
from umbriel import InvalidInputError


@pytest.fixture(scope="module")
def report() -> JudgeReport:
    """The default judge on the pairs that ship."""
    return measure_judge(HeuristicJudge(), read_pairs())


def total(report: JudgeReport, part: int, who: str, question: str) -> Score:
    """Return one total of a report."""
    (found,) = (
        score
        for score in report.parts[part].scores
        if score.kind == "all" and score.question == question and score.who == who
    )
    return found


def test_our_pairs() -> None:
    """Enough pairs, none twice, with authors to fit on and authors held out."""
    pairs = read_pairs()
    assert len(pairs) >= 160
    assert len({(pair.new, pair.old) for pair in pairs}) == len(pairs)
    authors = {pair.author for pair in pairs}
    assert authors >= FIT_AUTHORS
    assert len(authors - FIT_AUTHORS) >= 3


def test_held_out_precision(report: JudgeReport) -> None:
    """On authors that nothing was fitted on, a supersession is right nine times of ten, more often than by cosine."""
    assert report.parts[0].name == "held-out authors"
    ours = total(report, 0, "heuristic-1", "replaces")
    cosine = total(report, 0, BASELINE, "replaces")
    assert ours.precision is not None
    assert cosine.precision is not None
    assert ours.precision >= 0.9
    assert ours.precision > cosine.precision
    assert ours.recall is not None
    assert ours.recall >= 0.75


def test_counts_add_up(report: JudgeReport) -> None:
    """The kinds of a part sum to its total, and the parts to the file."""
    assert sum(part.pairs for part in report.parts) == len(read_pairs())
    for number, part in enumerate(report.parts):
        kinds = [score for score in part.scores if score.kind != "all" and score.question == "replaces"]
        whole = total(report, number, "heuristic-1", "replaces")
        assert sum(score.pairs for score in kinds) == whole.pairs == part.pairs
        assert sum(score.true_positives for score in kinds) == whole.true_positives


class Always:
    """A judge of one opinion."""

    name = "always"
    rule = "judge"

    async def judge(self, new: Statement, old: Statement, *, cosine: float, profile: str) -> Opinion:
        """Return what replaces and contradicts nothing but by half."""
        return Opinion(replaces=0.75, contradicts=0.5)


def test_figures() -> None:
    """Precision, recall and F1 are those of the counts; without an answer there is no precision."""
    pairs = [
        Pair(new="a", old="b", replaces=True, contradicts=True),
        Pair(new="a", old="c", replaces=False, contradicts=False),
    ]
    judge: Any = Always()
    report = measure_judge(judge, pairs, Path("mine.jsonl"))
    assert [part.name for part in report.parts] == ["held-out authors"]
    replaces = total(report, 0, "always", "replaces")
    assert (replaces.precision, replaces.recall, replaces.f1) == (0.5, 1.0, 0.6667)
    contradicts = total(report, 0, "always", "contradicts")
    assert (contradicts.precision, contradicts.recall, contradicts.false_negatives) == (None, 0.0, 1)


def test_command(tmp_path: Path) -> None:
    """The command reads a file of pairs and prints a table, what was wrong, or JSON."""
    path = tmp_path / "mine.jsonl"
    lines = [
        {"new": "I live in Oslo", "old": "I live in Bergen", "replaces": True, "contradicts": True, "kind": "value"},
        {"new": "I like tea", "old": "I like coffee", "replaces": True, "contradicts": False},
    ]
    path.write_text("".join(json.dumps(line) + "\n\n" for line in lines))
    shown = CliRunner().invoke(app, ["judge", "--pairs", str(path), "--wrong"])
    assert shown.exit_code == 0
    assert "mine.jsonl" in shown.stdout
    assert BASELINE in shown.stdout
    assert "I like tea <- I like coffee" in shown.stdout
    printed = CliRunner().invoke(app, ["judge", "--pairs", str(path), "--json"])
    found = msgspec.json.decode(printed.stdout, type=JudgeReport)
    assert total(found, 0, "heuristic-1", "replaces").true_positives == 1


@pytest.mark.parametrize("text", ["", "\n", "[]", "{}", '{"new": "a"}', "no JSON", '{"new": 1}'])
def test_no_pairs(tmp_path: Path, text: str) -> None:
    """A file without pairs is invalid."""
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidInputError):
        read_pairs(path)


def test_no_file_and_no_judge(tmp_path: Path) -> None:
    """A file that is not there, and a judge that is none, are named."""
    with pytest.raises(InvalidInputError, match="cannot read"):
        read_pairs(tmp_path / "none.jsonl")
    assert isinstance(CliRunner().invoke(app, ["judge", "--judge", "oracle"]).exception, InvalidInputError)


def test_fit_separates() -> None:
    """The fit finds what tells two groups apart."""
    rows = np.array([[0.0, 1.0], [0.1, 0.0], [0.9, 1.0], [1.0, 0.0]] * 5)
    labels = np.array([0.0, 0.0, 1.0, 1.0] * 5)
    bias, first, second = fit(rows, labels)
    assert first > 5 * abs(second)
    assert bias < 0

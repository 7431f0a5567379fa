"""LoCoMo as a benchmark: cleaned evidence, reports and gates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from domain.errors import InvalidInputError
from gateways.bench.gates import failures, parse_gate
from gateways.bench.locomo import dialogue_ids, read_observations, read_samples
from gateways.bench.report import Group, Report, make_report
from gateways.bench.run import Answer, Measured
from gateways.bench.samples import label_of
from umbriel import InvalidInputError as ClientInvalidInputError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A LoCoMo file of one sample with four turns and questions whose evidence is written badly."""
    turns = {
        "session_1": [("Ada", "D1:1", "I moved to Porto."), ("Ben", "D1:2", "When?")],
        "session_2": [("Ada", "D2:1", "In May."), ("Ben", "D2:2", "Nice.")],
    }
    sample = {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            **{
                name: [{"speaker": who, "dia_id": turn, "text": text} for who, turn, text in lines]
                for name, lines in turns.items()
            },
        },
        "observation": {
            "session_1_observation": {"Ada": [["Ada moved to Porto.", "D1:1"], ["Ada left.", "D7:7"]]},
            "session_2_observation": {"Ada": [["It was May.", ["D2:1", "D1:2"]]]},
        },
        "qa": [
            {"question": "Where?", "answer": "Porto", "evidence": ["D1:1; D2:01", "D1:1"], "category": 1},
            {"question": "When?", "answer": 2023, "evidence": ["D:2:1", "D9:9"], "category": 2},
            {"question": "Why?", "evidence": ["D"], "category": 4},
            {"question": "Who?", "evidence": [], "category": 5},
            {"question": "Which cat?", "adversarial_answer": "none", "evidence": ["D1:2"], "category": 5},
        ],
    }
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([sample]))
    return path


def test_badly_written_evidence_is_read() -> None:
    """The spellings that the published file has become the turns they mean."""
    assert dialogue_ids("D8:6; D9:17") == ["D8:6", "D9:17"]
    assert dialogue_ids("D9:1 D4:4 D4:6") == ["D9:1", "D4:4", "D4:6"]
    assert dialogue_ids("D:11:26") == ["D11:26"]
    assert dialogue_ids("D30:05") == ["D30:5"]
    assert dialogue_ids("D") == []


def test_a_part_of_a_long_turn_is_that_turn() -> None:
    """Linked parts are labelled with the turn they came from."""
    assert label_of("D1:3#2/4") == label_of("D1:3") == "D1:3"


def test_questions_without_evidence_are_counted_not_asked(file: Path) -> None:
    """What cannot be resolved is named, and a question is left out only when nothing is left of its evidence."""
    (sample,) = read_samples(file)
    assert [(one.category, one.evidence) for one in sample.questions] == [
        ("1", ("D1:1", "D2:1")),
        ("2", ("D2:1",)),
        ("5", ("D1:2",)),
    ]
    assert sample.skipped == 2
    assert sample.unresolved == ("D9:9", "D")


def test_observations_stand_for_their_turns(file: Path) -> None:
    """What the file itself noted becomes statements with the turns they rest on; one that names none is left out."""
    (sample,) = read_observations(file)
    assert [(one.text, one.turns) for one in sample.observations] == [
        ("Ada moved to Porto.", ("D1:1",)),
        ("It was May.", ("D2:1", "D1:2")),
    ]
    assert sample.size == 2


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    """Chat messages alone are no benchmark, and the error says what is missing."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "Hi"}]))
    with pytest.raises(InvalidInputError, match="no LoCoMo questions"):
        read_samples(path)


def _report(file: Path) -> Report:
    samples = read_samples(file)
    rankings = [("D1:1", "D2:2", "D2:1"), ("D1:1", "D2:1"), ("D2:2",)]
    sessions = {"D1:1": "session_1", "D1:2": "session_1", "D2:1": "session_2", "D2:2": "session_2"}
    answers = tuple(
        Answer(
            question=question,
            turns=turns,
            sessions=tuple(dict.fromkeys(sessions[turn] for turn in turns)),
            evidence_sessions=tuple(dict.fromkeys(sessions[turn] for turn in question.evidence)),
            seconds=0.01,
        )
        for question, turns in zip(samples[0].questions, rankings, strict=True)
    )
    run = Measured(name="talk-1", messages=4, recorded=4, index_seconds=2.0, answers=answers)
    return make_report("locomo", file, samples, [run], "0")


def _total(report: Report, level: str, *, adversarial: bool = False) -> Group:
    total = report.total(level, adversarial=adversarial)
    assert total is not None
    return total


def test_totals_with_and_without_category_five(file: Path) -> None:
    """Three questions by hand: the total leaves category 5 out, the second total holds it."""
    report = _report(file)
    assert [(group.name, group.questions) for group in report.turns] == [
        ("1", 1),
        ("2", 1),
        ("5", 1),
        ("total 1-4", 2),
        ("total 1-5", 3),
    ]
    assert _total(report, "turns").scores["MRR"] == 75.0
    assert _total(report, "turns", adversarial=True).scores["MRR"] == 50.0
    assert _total(report, "sessions", adversarial=True).scores["hit@1"] == 33.33
    assert (report.index.messages_per_second, report.query.p95_ms) == (2.0, 10.0)


def test_gates_pass_and_fail_on_the_totals(file: Path) -> None:
    """A gate at the value passes; one above it fails with a line that names both numbers."""
    report = _report(file)
    assert failures([parse_gate("MRR=75"), parse_gate("r10=100"), parse_gate("session:hit@1=33")], [report]) == []
    assert failures([parse_gate("R@10=100"), parse_gate("mrr=75.5")], [report]) == [
        "locomo turns MRR is 75.00, the gate is 75.5"
    ]


def test_what_was_not_measured_passes_no_gate(file: Path) -> None:
    """A gate about another set fails with its name, so that a forgotten set cannot pass."""
    assert failures([parse_gate("beam:R@10=56")], [_report(file)]) == [
        "beam turns R@10 was not measured, the gate is 56"
    ]


@pytest.mark.parametrize(
    "text", ["R@10", "R@11=5", "R@10=high", "R@10=101", "days:R@10=5", "R@10=nan", "beam:days:R@10=5"]
)
def test_a_bad_gate_is_refused(text: str) -> None:
    """What names no metric, no level or no percentage is an error before anything runs."""
    with pytest.raises(ClientInvalidInputError):
        parse_gate(text)

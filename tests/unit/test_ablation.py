"""What each channel is worth: the ways of asking, their scores, and the table."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from domain.errors import InvalidInputError as Refused
from gateways.bench.ablation import FULL, Ablated, Ablation, Row, Way, ablation_rows, parse_settings, ways
from gateways.bench.ablation_show import ablation_table
from gateways.bench.run import Answer
from gateways.bench.samples import Question
from umbriel import InvalidInputError


def answer(*turns: str, seconds: float = 0.01) -> Answer:
    """Return what was found for a question whose evidence is turn ``a``."""
    question = Question(text="?", category="1", evidence=("a",))
    return Answer(question=question, turns=turns, sessions=(), evidence_sessions=(), seconds=seconds)


def test_every_channel_is_left_out_once_and_asked_once_alone() -> None:
    """All of them first; the channels are those that are given, whatever they are called."""
    found = ways(["x", "y", "z"], Ablation(channels=True, settings=({"a.b": 1},)))
    assert [(way.name, way.channels) for way in found] == [
        (FULL, ()),
        ("without x", ("y", "z")),
        ("without y", ("x", "z")),
        ("without z", ("x", "y")),
        ("x alone", ("x",)),
        ("y alone", ("y",)),
        ("z alone", ("z",)),
        ("a.b=1", ()),
    ]
    assert found[-1].settings == {"a.b": 1}


def test_what_is_not_asked_for_is_not_asked() -> None:
    """Without --ablate only the settings are; a lone channel cannot be left out, for none is all of them."""
    assert [way.name for way in ways(["x", "y"], Ablation(settings=({"a": 1},)))] == [FULL, "a=1"]
    assert [way.name for way in ways(["x"], Ablation(channels=True))] == [FULL]


def test_rows_are_means_over_all_samples_beside_all_channels() -> None:
    """Scores in per cent, their difference from all channels in points, the mean of the times."""
    full, without = Way(name=FULL, kind="full"), Way(name="without x", kind="without", channels=("y",))
    rows = ablation_rows(
        [
            Ablated(full, (answer("a"), answer("b", "a"))),
            Ablated(without, (answer("a", seconds=0.03), answer())),
            Ablated(full, (answer("a"),)),
            Ablated(without, (answer("b"),)),
        ]
    )
    assert rows == [
        Row(
            name=FULL,
            kind="full",
            questions=3,
            scores={"R@10": 100.0, "MRR": 83.33},
            change={"R@10": 0.0, "MRR": 0.0},
            mean_ms=10.0,
        ),
        Row(
            name="without x",
            kind="without",
            questions=3,
            scores={"R@10": 33.33, "MRR": 33.33},
            change={"R@10": -66.67, "MRR": -50.0},
            mean_ms=16.67,
        ),
    ]


def test_sets_without_turns_are_scored_by_session() -> None:
    """LongMemEval knows only the sessions that hold an answer."""
    found = Answer(
        question=Question(text="?", category="1", sessions=("s",)),
        turns=("t",),
        sessions=("r", "s"),
        evidence_sessions=("s",),
        seconds=0.0,
    )
    (row,) = ablation_rows([Ablated(Way(name=FULL, kind="full"), (found,))])
    assert row.scores == {"R@10": 100.0, "MRR": 50.0}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("recall.fusion=classic", {"recall.fusion": "classic"}),
        (
            "recall.message_share=0.5, extraction.enabled=false",
            {"recall.message_share": 0.5, "extraction.enabled": False},
        ),
        ('recall.fusion="classic"', {"recall.fusion": "classic"}),
    ],
)
def test_settings_are_read_as_the_command_line_reads_them(text: str, expected: dict[str, object]) -> None:
    """Numbers and words; those of one option are one row."""
    assert parse_settings(text) == expected


@pytest.mark.parametrize("text", ["", "a", "=1", "recall.fusion=classic,b", "a=1", "recall.message_share=much"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    """Before anything is loaded."""
    with pytest.raises((InvalidInputError, Refused), match=r"setting|cannot have that value"):
        parse_settings(text)


def test_the_table_shows_differences_with_their_sign() -> None:
    """All channels have none; the others are better or worse by so much."""
    full = Row(name=FULL, kind="full", questions=2, scores={"R@10": 50, "MRR": 40}, change={}, mean_ms=20)
    worse = Row(
        name="without x",
        kind="without",
        questions=2,
        scores={"R@10": 45, "MRR": 41},
        change={"R@10": -5, "MRR": 1},
        mean_ms=9,
    )
    stream = io.StringIO()
    Console(file=stream, width=100).print(ablation_table("title", [full, worse]))
    shown = [line.replace("│", " ").split() for line in stream.getvalue().splitlines()]
    assert ["all", "channels", "2", "50.0", "40.0", "20.0"] in shown
    assert ["without", "x", "2", "45.0", "-5.0", "41.0", "+1.0", "9.0"] in shown

"""How the command line shows answers, and that there is none."""

from __future__ import annotations

import pytest

from gateways.cli.reads import show_recall
from umbriel.answers import QueryAnalysis, Synthesis
from umbriel.types import RecallReply

ANSWERS = {
    "cited": (Synthesis(text="In Lisbon.", model="m", cited=["a@1", "b@1"]), ["In Lisbon.", "by m, from a@1, b@1"]),
    "bare": (Synthesis(text="In Lisbon.", model="m", grounded=False), ["In Lisbon.", "named no result"]),
    "none": (Synthesis(reason="no language model is configured"), ["No answer: no language model is configured."]),
    "part": (Synthesis(text="So.", cited=["a@1"], left_out={"c@1": "kept"}), ["Not read, or not whole", "c@1"]),
    "steering": (Synthesis(text="\x1b[2JGone.", cited=["a@1"]), ["\\u001b[2JGone."]),
}


@pytest.mark.parametrize("case", sorted(ANSWERS))
def test_an_answer_is_shown_with_what_it_rests_on(capsys: pytest.CaptureFixture[str], case: str) -> None:
    """Its words and sources, or that it names none, or why there is none; nothing in it steers the terminal."""
    answer, expected = ANSWERS[case]
    show_recall(RecallReply(results=[], position="", answer=answer))
    shown = capsys.readouterr().out
    assert all(text in shown for text in expected)
    assert "\x1b" not in shown


def test_without_an_answer_nothing_is_said_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Recall that was not asked for words shows none."""
    show_recall(RecallReply(results=[], position=""))
    assert "answer" not in capsys.readouterr().out.casefold()


ANALYSES = {
    "whole": (
        QueryAnalysis(keys=["work place"], terms=["boss", "firm"], statement="She works there.", model="m"),
        "Looked for (m): keys work place; also boss, firm; like She works there.",
    ),
    "empty": (QueryAnalysis(model="m"), "Looked for (m): nothing beyond its words."),
    "none": (QueryAnalysis(reason="m does not answer"), "Asked in its own words only: m does not answer."),
}


@pytest.mark.parametrize("case", sorted(ANALYSES))
def test_an_analysis_is_shown(capsys: pytest.CaptureFixture[str], case: str) -> None:
    """What was looked for beyond the question's words, or why nothing was."""
    analysis, expected = ANALYSES[case]
    show_recall(RecallReply(results=[], position="", analysis=analysis))
    assert expected in capsys.readouterr().out

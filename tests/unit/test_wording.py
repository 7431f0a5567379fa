"""What a line can answer by its wording."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from projections.ledger import LiveItem
from projections.wording import stated_share, wording_factor


def _line(text: str, *, name: str = "Ana", kind: str = "message") -> LiveItem:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return LiveItem(id="x", kind=kind, text=text, position=1, recorded_at=at, session="s", at=at, name=name)


def _factor(query: str, line: LiveItem) -> float:
    return wording_factor(query, empty=0.5, impersonal=0.85, unfitting=0.8)(line)


@pytest.mark.parametrize(
    "text,share",
    [("", 0.0), ("x" * 60, 0.5), ("x" * 120, 1.0), ("x" * 500 + "?", 1.0), ("x" * 59 + "?", 0.15)],
    ids=["empty", "half", "full", "long question", "question"],
)
def test_a_line_states_as_much_as_it_is_long(text: str, share: float) -> None:
    """Characters against those of a full line; a question counts three tenths, but a long one is full too."""
    assert stated_share(text) == pytest.approx(share)


def test_a_statement_beside_a_question_counts() -> None:
    """Only the sentence that asks counts less."""
    assert stated_share("We went to the lake. And you?") > 2 * stated_share("Did you go to the lake, Bea?")


def test_a_statement_about_oneself_answers_best() -> None:
    """A long line in the first person keeps all; without the first person, or short, or asking, it keeps less."""
    own = "I adopted a dog from the shelter in the old town, and since then my mornings begin at six by the river. " * 2
    other = own.replace("I ", "They ").replace("my ", "the ")
    query = "Which animal does Ana have?"
    assert _factor(query, _line(own)) == 1.0
    assert _factor(query, _line(other)) == pytest.approx(0.85)
    assert _factor(query, _line("I have a dog")) < 0.6
    assert _factor(query, _line("Do you have a dog?")) < _factor(query, _line("You have a dog now"))


def test_a_line_to_a_program_keeps_all() -> None:
    """Without a speaker's name a short line, a question or an impersonal one is worth its match, and so is a memory."""
    for text in ("a dog", "which dog?", "They have a dog"):
        assert _factor("Which animal?", _line(text, name="")) == 1.0
        assert _factor("Which animal?", _line(text, kind="fact")) == 1.0


@pytest.mark.parametrize(
    "query,fitting,unfitting",
    [
        ("When did Ana move?", "We moved last week", "We moved to Porto"),
        ("What year did Ana move?", "It was 2021", "It was the move"),
        ("How many dogs does Ana have?", "Three dogs", "Dogs"),
        ("How old is Ana?", "Turned 31", "Older than Bea"),
    ],
)
def test_a_time_or_a_number_is_asked_for(query: str, fitting: str, unfitting: str) -> None:
    """A line without what the question asks for keeps four fifths, with or without a name."""
    assert _factor(query, _line(fitting, name="")) == 1.0
    assert _factor(query, _line(unfitting, name="")) == pytest.approx(0.8)
    assert _factor("Where is Ana?", _line(unfitting, name="")) == 1.0

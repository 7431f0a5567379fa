"""What cited lines hold, and the dates that are believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from domain.transcript import Line
from gateways.extraction.chat.evidence import Evidence, evidence_of, period_of
from gateways.extraction.chat.moments import claimed_moment
from tests.scripted_chat import NOW, line

TOKYO = timezone(timedelta(hours=9))


def evidence(text: str, *, at: datetime | None = NOW, name: str = "") -> Evidence:
    """What one line holds."""
    return evidence_of([line(0, text, at=at, name=name)], NOW)


@pytest.mark.parametrize(
    "said,statement",
    [
        ("It cost 1,200 euros", "It cost 1200 euros."),
        ("It cost 1200 euros", "It cost 1,200 euros."),
        ("Es kostete 1.200 Euro", "Es kostete 1200 Euro."),
        ("We use 3.12.1", "They use Python 3.12.1."),
        ("We use v3.12", "They use 3.12."),
        ("three kids", "The user has 3 kids."),
        ("dreizehn", "The user is number 12."),
        ("merged PR 260", "The user merged PR 260."),
        ("価格は１２００円", "価格は1200円"),
        ("الرقم ٤٥", "The number is 45."),
        ("I left yesterday [2026-04-14]", "The user left on 2026-04-14."),
        ("I left yesterday [2026-04-14]", "The user left on April 14, 2026."),
        ("I left today", "The user left on 2026-04-15."),
        ("I was born on 14 March 1990", "The user was born on 1990-03-14."),
        ("born March 14th, 1990", "The user was born on 1990-03-14."),
        ("geboren am 14. März 1990", "The user was born on 1990-03-14."),
        ("né le 14 mars 1990", "The user was born on 1990-03-14."),
        ("1990年3月14日生まれ", "The user was born on 1990-03-14."),
        ("born 14.03.1990", "The user was born on 1990-03-14."),
        ("we moved in March 2019", "They moved in 2019-03."),
        ("season 2019-20", "The season 2019-20 was good."),
        ('the film "Heat"', "The user likes “Heat”."),
        ("the film “Heat and Dust”", 'The user likes "heat and dust."'),
        ("it's 6' 2\" tall", "It is 6' 2\" tall."),
    ],
)
def test_what_the_lines_hold_may_be_stated(said: str, statement: str) -> None:
    """Numbers, dates and quoted names that are in the lines, however they are written, pass."""
    assert evidence(said).lacks(statement) == ""


@pytest.mark.parametrize(
    "said,statement,check",
    [
        ("merged PR 260", "The user merged PR 480.", "object"),
        ("It cost 1,200 euros", "It cost 200 euros.", "object"),
        ("It cost 200 euros", "It cost 1,200 euros.", "object"),
        ("It cost 45,000 euros", "It cost 45 euros.", "object"),
        ("Call 12345", "Call 2345.", "object"),
        ("I am tired", "The user is 37 years old.", "object"),
        ("We use 3.12", "They use 3.13.", "object"),
        ("I left yesterday [2026-04-14]", "The user left on 2026-04-13.", "time"),
        ("I left last week [2026-04-06 to 2026-04-12]", "The user left on 2026-04-08.", "time"),
        ("born in March [2026-03]", "The user was born on 2026-03-17.", "time"),
        ("I like films", 'The user likes "Heat".', "entity"),
        ("I like Heat", "The user likes „Heat and Dust“.", "entity"),
    ],
)
def test_what_the_lines_do_not_hold_fails_a_check(said: str, statement: str, check: str) -> None:
    """An invented number, date or quoted name is named by the check it fails (GENesis PR#758)."""
    assert evidence(said).lacks(statement) == check


def test_the_speaker_and_the_time_of_a_line_count_as_said() -> None:
    """A name with a number, and when something was said, may be stated."""
    said = evidence("I am here", name="agent 4711", at=datetime(2025, 12, 24, 18, 30, tzinfo=UTC))
    assert said.lacks("Agent 4711 was there on 2025-12-24 at 18:30.") == ""


def test_a_line_without_a_time_is_dated_by_the_window() -> None:
    """What has no time of its own is dated by ``now``."""
    assert evidence("I left today", at=None).lacks("The user left on 2026-04-15.") == ""


def test_no_lines_hold_nothing() -> None:
    """Without lines nothing can be believed."""
    nothing = evidence_of([], NOW)
    assert nothing.lacks("In 2026-04-15.") == "time"
    assert nothing.zone is UTC


@pytest.mark.parametrize(
    "text", ["", "x", "0001", "9999", "2026-13", "2026-02-30", "26-01-01", "2026-1-1", "２０２６年"]
)
def test_what_is_no_date_has_no_period(text: str) -> None:
    """A calendar date in ISO form or nothing; the first and last years are beyond what zones allow."""
    assert period_of(text) is None


@pytest.mark.parametrize(
    "said,claimed,expected",
    [
        ("yesterday [2026-04-14]", "2026-04-14", "2026-04-14T00:00:00+00:00"),
        ("yesterday [2026-04-14]", " 2026-04-14 ", "2026-04-14T00:00:00+00:00"),
        ("yesterday [2026-04-14]", "2026-04", "2026-04-01T00:00:00+00:00"),
        ("last year [2025]", "2025", "2025-01-01T00:00:00+00:00"),
        ("last year [2025]", "2025-01-01", "2025-01-01T00:00:00+00:00"),
        ("last week [2026-04-06 to 2026-04-12]", "2026-04-06", "2026-04-06T00:00:00+00:00"),
        ("yesterday [2026-04-14] at 16:00", "2026-04-14T16:00", "2026-04-14T16:00:00+00:00"),
        ("yesterday [2026-04-14] at 4 pm", "2026-04-14T16:00:00Z", "2026-04-14T16:00:00+00:00"),
        ("yesterday [2026-04-14] at 16:00", "2026-04-14T16:00+02:00", "2026-04-14T16:00:00+02:00"),
        ("yesterday [2026-04-14]", "2026-04-14T16:00", "2026-04-14T00:00:00+00:00"),
        ("yesterday [2026-04-14]", "2026-04-14T99:00", "2026-04-14T00:00:00+00:00"),
        ("I just left", "2026-04-15T12:00:30Z", "2026-04-15T12:00:30+00:00"),
        ("I just left", "2026-04-15", "2026-04-15T00:00:00+00:00"),
    ],
)
def test_a_date_that_was_said_is_believed(said: str, claimed: str, expected: str) -> None:
    """Days, months and years are their beginning; a time of day counts only when it was said too."""
    assert claimed_moment(claimed, evidence(said)) == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    "claimed",
    [None, "", "soon", "2026-04-13", "2024", "0001-01-01", "9999-12-31", "2026-04-14 to 2026-04-15", "\ud800"],
)
def test_a_date_that_was_not_said_is_none(claimed: str | None) -> None:
    """What is no date, or not one of the lines', is left out; it never becomes today (graphiti PR#1492)."""
    assert claimed_moment(claimed, evidence("yesterday [2026-04-14]")) is None


def test_a_date_without_a_zone_is_in_that_of_who_said_it() -> None:
    """A naive date is local to the line (MemOS#2369)."""
    said = evidence("yesterday [2026-04-14]", at=NOW.astimezone(TOKYO))
    assert claimed_moment("2026-04-14", said) == datetime(2026, 4, 14, tzinfo=TOKYO)


@pytest.mark.parametrize("claimed,last", [("2026-04-14", 14), ("2026-04", 30)])
def test_an_end_is_the_last_moment_of_what_is_said(claimed: str, last: int) -> None:
    """``until April`` is over when April is."""
    end = claimed_moment(claimed, evidence("until then [2026-04-14]"), end=True)
    assert end == datetime(2026, 4, last, 23, 59, 59, 999_999, tzinfo=UTC)


def lines() -> list[Line]:
    """Two lines said in different zones."""
    return [line(0, "It was 14 May 2020."), line(1, "Fine.", at=NOW.astimezone(TOKYO))]


def test_several_lines_are_taken_together() -> None:
    """What any of the lines holds counts; the zone is that of the last."""
    both = evidence_of(lines(), NOW)
    assert claimed_moment("2020-05-14", both) == datetime(2020, 5, 14, tzinfo=TOKYO)

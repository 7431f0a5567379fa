"""The stretches of time that a question names, and how far away dates are."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateways.extraction.periods import OPEN_END, OPEN_START, periods_of
from gateways.service.dated import distance, facts_of, when_of
from umbriel.types import RecallResult

#: a Thursday
AT = datetime(2026, 12, 3, 9, tzinfo=UTC)


def _shown(question: str, at: datetime = AT) -> list[tuple[str, str, str]]:
    ends = {OPEN_START: "", OPEN_END: ""}
    return [
        (one.words, ends.get(one.start, f"{one.start:%Y-%m-%d}"), ends.get(one.end, f"{one.end:%Y-%m-%d}"))
        for one in periods_of(question, at)
    ]


@pytest.mark.parametrize(
    "question, words, start, end",
    [
        ("What did I do last week?", "last week", "2026-11-23", "2026-11-30"),
        ("Who called yesterday?", "yesterday", "2026-12-02", "2026-12-03"),
        ("What happened in May 2023?", "May 2023", "2023-05-01", "2023-06-01"),
        ("What was said on 7 May 2023?", "7 May 2023", "2023-05-07", "2023-05-08"),
        ("What was said on May 7th, 2023?", "May 7th, 2023", "2023-05-07", "2023-05-08"),
        ("notes of 2023-05-07", "2023-05-07", "2023-05-07", "2023-05-08"),
        ("Where did she live in 2022?", "2022", "2022-01-01", "2023-01-01"),
        ("Where was Ana before June 2023?", "before June 2023", "", "2023-06-01"),
        ("What changed since Monday?", "since Monday", "2026-11-30", ""),
        ("What came after 7 May 2023?", "after 7 May 2023", "2023-05-08", ""),
        ("until last month", "until last month", "", "2026-12-01"),
        ("meetings in the last 30 days", "last 30 days", "2026-11-03", "2026-12-04"),
        ("between March 3, 2024 and 2024-04-01", "between March 3, 2024 and 2024-04-01", "2024-03-03", "2024-04-02"),
        ("from 2021 to 2023 where did I work", "from 2021 to 2023", "2021-01-01", "2024-01-01"),
        ("was war gestern", "gestern", "2026-12-02", "2026-12-03"),
        ("after the party, what did I do in 2024-05?", "2024-05", "2024-05-01", "2024-06-01"),
    ],
)
def test_a_question_names_a_stretch_of_time(question: str, words: str, start: str, end: str) -> None:
    """Relative and absolute dates, open ends and pairs of ends are read as the days they mean."""
    assert _shown(question) == [(words, start, end)]


@pytest.mark.parametrize(
    "question",
    [
        "the 2022 edition",
        "may I ask",
        "Is it after 5 pm?",
        "room 2023",
        "on 31 June 2024",
        "two days before my birthday",
    ],
)
def test_what_is_no_date_names_no_time(question: str) -> None:
    """Numbers that look like years, days that no calendar has and clock times are left alone."""
    assert _shown(question) == []


def test_days_begin_in_the_zone_of_the_reference_date() -> None:
    """Yesterday of somebody five hours behind begins five hours later."""
    at = datetime(2026, 12, 3, 1, tzinfo=timezone(timedelta(hours=-5)))
    (period,) = periods_of("yesterday", at)
    assert period.start == datetime(2026, 12, 2, 5, tzinfo=UTC)


def test_two_times_are_two_stretches() -> None:
    """A comparison of two times asks about both."""
    assert [words for words, *_ in _shown("Was it colder in May 2023 or in June 2024?")] == ["May 2023", "June 2024"]


@given(st.text(max_size=80), st.datetimes(timezones=st.just(UTC)))
def test_no_question_and_no_time_is_too_strange(question: str, at: datetime) -> None:
    """Whatever is asked, at the ends of time as well, gives stretches that end after they begin."""
    assert all(one.start < one.end for one in periods_of(question, at))


def _result(id_: str, text: str = "x", **more: datetime) -> RecallResult:
    return RecallResult(id=id_, text=text, kind="event", score=1, relevance=1, position="p", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "first, last, shown",
    [
        (date(2026, 10, 17), date(2026, 12, 3), "47 days (1 month 16 days)"),
        (date(2026, 12, 2), date(2026, 12, 3), "1 day"),
        (date(2026, 12, 3), date(2026, 11, 3), "30 days"),
        (date(2024, 2, 29), date(2026, 2, 28), "730 days (2 years)"),
    ],
)
def test_distances_are_days_and_what_a_calendar_calls_them(first: date, last: date, shown: str) -> None:
    """A distance is exact in days, and in months and years where it is long."""
    assert distance(first, last) == shown


def test_a_result_says_when_it_was_and_what_days_it_names() -> None:
    """The time of an event, the days in its text and the time a fact held, each against the reference date."""
    happened = _result("e", at=datetime(2026, 10, 17, 12, tzinfo=UTC))
    named = _result("f", "The passport expires on March 1, 2027", recorded_at=AT)
    held = _result("g", valid_from=datetime(2020, 1, 1, tzinfo=UTC), valid_to=datetime(2022, 6, 1, tzinfo=UTC))
    assert when_of(happened, AT) == "2026-10-17, 47 days (1 month 16 days) ago"
    assert when_of(named, AT) == "2026-12-03, today; names 2027-03-01, in 88 days (2 months 26 days)"
    assert when_of(held, AT) == "valid from 2020-01-01 until 2022-06-01"


def test_facts_answer_how_long_by_arithmetic() -> None:
    """A question about a distance gets those between the dates of its first results; another gets none."""
    results = [_result("a", at=datetime(2026, 5, 1, tzinfo=UTC)), _result("b", at=datetime(2026, 6, 1, tzinfo=UTC))]
    question = "How many days passed between the two trips last year?"
    assert facts_of(question, periods_of(question, AT), results, AT) == [
        "The reference date is 2026-12-03, a Thursday.",
        '"last year" is 2025-01-01 to 2025-12-31.',
        "a is 31 days before b.",
    ]
    assert facts_of("Where does Ana live?", [], results, AT) == []

"""Relative dates: what they mean follows from the message's own time and zone, and the words stay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateways.extraction.dates import resolve_dates

#: a Wednesday
AT = datetime(2026, 4, 15, 9, 30, tzinfo=UTC)
WEEK = "2026-04-06 to 2026-04-12"


@pytest.mark.parametrize(
    "phrase, meant",
    [
        ("today", "2026-04-15"),
        ("tonight", "2026-04-15"),
        ("this morning", "2026-04-15"),
        ("yesterday", "2026-04-14"),
        ("yesterday evening", "2026-04-14"),
        ("last night", "2026-04-14"),
        ("Tomorrow morning", "2026-04-16"),
        ("the day before yesterday", "2026-04-13"),
        ("the day after tomorrow", "2026-04-17"),
        ("3 days ago", "2026-04-12"),
        ("two weeks ago", "2026-04-01"),
        ("a couple of days ago", "2026-04-13"),
        ("a fortnight ago", "2026-04-01"),
        ("a month ago", "2026-03"),
        ("two months ago today", "2026-02-15"),
        ("five years ago", "2021"),
        ("half a year ago", "2025-10"),
        ("in 3 days", "2026-04-18"),
        ("in a week", "2026-04-22"),
        ("in two weeks' time", "2026-04-29"),
        ("ten days from now", "2026-04-25"),
        ("in two years", "2028"),
        ("last Friday", "2026-04-10"),
        ("last Wednesday", "2026-04-08"),
        ("this Friday", "2026-04-17"),
        ("this coming Monday", "2026-04-20"),
        ("next Friday", "2026-04-24"),
        ("last week", WEEK),
        ("last weekend", "2026-04-11 to 2026-04-12"),
        ("this weekend", "2026-04-18 to 2026-04-19"),
        ("next month", "2026-05"),
        ("last quarter", "2026-01 to 2026-03"),
        ("last year", "2025"),
        ("next year", "2027"),
        ("last decade", "2010 to 2019"),
        ("last summer", "2025"),
        ("last winter", "2026"),
        ("this summer", "2026"),
        ("last December", "2025-12"),
        ("next June", "2026-06"),
        ("in March", "2026-03"),
        ("in November", "2025-11"),
        ("March 3rd", "2026-03-03"),
        ("the 3rd of March", "2026-03-03"),
        ("on December 24", "2025-12-24"),
        ("gestern", "2026-04-14"),
        ("letzte Woche", WEEK),
        ("vor 3 Tagen", "2026-04-12"),
        ("avant-hier", "2026-04-13"),
        ("il y a 3 jours", "2026-04-12"),
        ("ayer", "2026-04-14"),
        ("el mes pasado", "2026-03"),
        ("ieri", "2026-04-14"),
        ("ontem", "2026-04-14"),
        ("gisteren", "2026-04-14"),
        ("вчера", "2026-04-14"),
        ("昨日", "2026-04-14"),
        ("先週", WEEK),
        ("昨天", "2026-04-14"),
        ("어제", "2026-04-14"),
    ],
)
def test_what_a_phrase_means(phrase: str, meant: str) -> None:
    """The date follows the words in brackets, in a sentence as alone."""
    assert resolve_dates(phrase, AT) == f"{phrase} [{meant}]"
    assert resolve_dates(f"Well: {phrase}, I think.", AT) == f"Well: {phrase} [{meant}], I think."


@pytest.mark.parametrize(
    "text, resolved",
    [
        ("I met her on Monday.", "I met her on Monday [2026-04-13]."),
        ("We will meet on Monday.", "We will meet on Monday [2026-04-20]."),
        ("I need it by Friday!", "I need it by Friday [2026-04-17]!"),
        ("We married on May 3.", "We married on May 3 [2025-05-03]."),
        ("The party is due on May 3.", "The party is due on May 3 [2026-05-03]."),
        ("It broke. I will call on Friday.", "It broke. I will call on Friday [2026-04-17]."),
    ],
)
def test_the_tense_of_its_clause_says_which(text: str, resolved: str) -> None:
    """A bare weekday or day is before or after the message as the verb beside it says."""
    assert resolve_dates(text, AT) == resolved


@pytest.mark.parametrize(
    "text",
    [
        "recently",
        "a few days ago",
        "several weeks ago",
        "on Monday",
        "on Mondays",
        "May 3, 2023",
        "3 May 2023",
        "in March 2021",
        "I may march in line",
        "3 hours ago",
        "a child in 2 years of age",
        "99999 days ago",
        "9999 years ago",
        "yesterdays",
        "my_today_list",
        "Chier",
        "February 30",
        "yesterday [2026-04-14]",
        "yesterday's [2026-04-14] news",
    ],
)
def test_what_is_not_certain_stays(text: str) -> None:
    """Vague, absolute, impossible and resolved dates are left alone."""
    assert resolve_dates(text, AT) == text


def test_the_zone_is_the_messages() -> None:
    """One in the morning in Tokyo is still the day before in UTC; yesterday is Tokyo's (MemOS#2369)."""
    tokyo = datetime(2026, 4, 15, 1, tzinfo=timezone(timedelta(hours=9)))
    assert resolve_dates("yesterday", tokyo) == "yesterday [2026-04-14]"
    assert resolve_dates("yesterday", tokyo.astimezone(UTC)) == "yesterday [2026-04-13]"


@pytest.mark.parametrize(
    "at, phrase, meant",
    [
        (datetime(2024, 2, 29, tzinfo=UTC), "a year ago today", "2023-02-28"),
        (datetime(2026, 1, 1, tzinfo=UTC), "yesterday", "2025-12-31"),
        (datetime(2026, 3, 31, tzinfo=UTC), "last month", "2026-02"),
        (datetime(2025, 1, 1, tzinfo=UTC), "last week", "2024-12-23 to 2024-12-29"),
        (datetime(2026, 4, 13, tzinfo=UTC), "last Monday", "2026-04-06"),
        (datetime(2026, 4, 12, tzinfo=UTC), "this weekend", "2026-04-11 to 2026-04-12"),
    ],
)
def test_the_edges_of_the_calendar(at: datetime, phrase: str, meant: str) -> None:
    """Leap days, new years and the ends of months and weeks."""
    assert resolve_dates(phrase, at) == f"{phrase} [{meant}]"


@given(st.text(max_size=200), st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1)))  # noqa: DTZ001
def test_any_text_any_time(text: str, at: datetime) -> None:
    """Whatever is written, its words stay, and doing it twice adds nothing."""
    once = resolve_dates(text, at.replace(tzinfo=UTC))
    assert resolve_dates(once, at.replace(tzinfo=UTC)) == once
    assert len(once) >= len(text)

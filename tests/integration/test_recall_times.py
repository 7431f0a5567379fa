"""Questions about a time, answered by what happened or held in it; and recall bounded by a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from projections.recall import RecallSettings, Span
from tests.integration.test_recall import OFF, Profile

MAY = Span(datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC))


def _day(month: int, day: int = 10) -> datetime:
    return datetime(2023, month, day, tzinfo=UTC)


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Profile]:
    """An empty profile."""
    opened = Profile(tmp_path)
    yield opened
    opened.close()


def test_what_happened_in_the_time_comes_first(profile: Profile) -> None:
    """Of two events in the same words the one of the asked time leads; the other stays."""
    in_may = profile.state("Went camping at the lake", kind="event", occurred_at=_day(5))
    in_july = profile.state("Went camping at the river", kind="event", occurred_at=_day(7))
    profile.feed()
    assert profile.ids("camping", kinds=frozenset({"event"}))[0] == in_july
    asked = profile.ids("camping", kinds=frozenset({"event"}), periods=(MAY,))
    assert asked == [in_may, in_july]


def test_a_question_without_other_words_is_answered_by_its_time(profile: Profile) -> None:
    """What shares no word with the question is found by when it happened, and says that this channel found it."""
    in_may = profile.state("Adopted a dog", kind="event", occurred_at=_day(5))
    profile.state("Sold the boat", kind="event", occurred_at=_day(7))
    profile.feed()
    answer = profile.ask("qqq", periods=(MAY,))
    assert answer.channels["period"] == [in_may]
    assert answer.results[0].item.id == in_may


def test_messages_are_found_by_when_they_were_said(profile: Profile) -> None:
    """The time of a message is its own, whatever was recorded later."""
    said = profile.log.message("The roof was repaired", at=_day(5))
    profile.log.message("The cellar was painted", session="s2", at=_day(7))
    profile.feed()
    assert profile.ask("qqq", periods=(MAY,)).channels["message_period"] == [said]


def test_nothing_outside_the_asked_time_comes_back(profile: Profile) -> None:
    """A bound is kept by every channel, however many better matches lie outside of it."""
    inside = profile.state("Went camping at the lake", kind="event", occurred_at=_day(5))
    for number in range(150):
        profile.state(f"Went camping camping {number}", kind="event", occurred_at=_day(7))
    profile.feed()
    assert profile.ids("camping", during=MAY, limit=50) == [inside]


@pytest.mark.parametrize("text", ["Works at Acme", "Plays the cello"])
def test_what_held_at_the_time_counts_as_of_that_time(profile: Profile, text: str) -> None:
    """A fact with a validity belongs to every time in which it held, without one to the time it was stated."""
    memory = profile.state(text, OFF, valid_from=_day(1), valid_to=_day(9))
    profile.feed()
    assert profile.ask("qqq", periods=(MAY,)).channels["period"] == [memory]
    later = Span(_day(10), _day(12))
    assert profile.ask("qqq", periods=(later,)).channels["period"] == []


def test_a_superseded_or_forgotten_event_is_not_found_by_its_time(profile: Profile) -> None:
    """Time finds what is live, as every channel does."""
    memory = profile.state("Adopted a dog", kind="event", occurred_at=_day(5))
    profile.feed()
    assert profile.ids("qqq", periods=(MAY,)) == [memory]
    profile.log.forget(memory)
    profile.feed(indexes=False)
    assert profile.ids("qqq", periods=(MAY,)) == []


def test_a_channel_without_weight_is_not_asked(profile: Profile) -> None:
    """The classic settings know no time, as the system they follow does not."""
    profile.state("Adopted a dog", kind="event", occurred_at=_day(5))
    profile.feed()
    assert "period" not in profile.ask("qqq", periods=(MAY,), settings=RecallSettings.classic()).channels

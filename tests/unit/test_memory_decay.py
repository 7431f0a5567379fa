"""Decay of one memory: how far, how often, and what it leaves alone."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from domain.events import ExpirySet, MemoryDecayed, MemoryPinned, MemoryRetracted, MemoryUnpinned
from domain.settings import DecayPreferences
from tests.unit.given import AGENT, NOW, By, Command, forgotten, given, remembered, superseded, v

RULE = DecayPreferences()
DAY = timedelta(days=1)
STATED = By(AGENT, remembered("A"))


def decay(at: datetime = NOW, rule: DecayPreferences = RULE) -> Command:
    """The command that lets version 1 decay."""
    return lambda memory, ctx: memory.decay(v(1), at, rule, ctx)


def decayed(confidence: float, at: datetime = NOW) -> MemoryDecayed:
    """The event that it did."""
    return MemoryDecayed(memory=v(1), day=at.date().isoformat(), confidence=confidence)


def test_it_falls_by_the_factor_once_a_day() -> None:
    """0.9 becomes 0.72; a second run on the day does nothing, the next day's does, one of the day before does not."""
    story = given(STATED).when(decay()).then(decayed(0.72)).was_done()
    story.when(decay()).then().was_not_done()
    story.when(decay(NOW.replace(hour=23))).then().was_not_done()
    story.when(decay(NOW + DAY)).then(decayed(0.576, NOW + DAY))
    story.when(decay(NOW)).then().was_not_done()


def test_it_ends_at_the_floor_after_ten_passes() -> None:
    """0.9 is at 0.1 after ten daily passes, and no event follows."""
    story = given(STATED)
    confidence = 0.9
    for number in range(10):
        confidence = max(0.1, round(confidence * 0.8, 6))
        story.when(decay(NOW + number * DAY)).then(decayed(confidence, NOW + number * DAY))
    assert confidence == 0.1
    story.when(decay(NOW + 10 * DAY)).then().was_not_done()


def test_the_day_is_that_of_utc() -> None:
    """Half past midnight in Tokyo is the day before."""
    tokyo = datetime.fromisoformat("2026-01-02T00:30:00+09:00")
    given(STATED).when(decay(tokyo)).then(MemoryDecayed(memory=v(1), day="2026-01-01", confidence=0.72))


@pytest.mark.parametrize(
    "history",
    [
        [MemoryPinned(memory=v(1))],
        [MemoryRetracted(memory=v(1))],
        [forgotten(1)],
        [remembered("B", 2), superseded(1, 2)],
        [ExpirySet(memory=v(1), expires_at=NOW)],
    ],
    ids=["pinned", "retracted", "forgotten", "superseded", "expired"],
)
def test_what_is_pinned_or_not_live_does_not_decay(history: list[MemoryPinned]) -> None:
    """Nobody's confidence falls without need."""
    given(STATED, *history).when(decay()).then().was_not_done()


def test_what_is_unpinned_decays_again() -> None:
    """A pin is an exemption for as long as it stands."""
    given(STATED, MemoryPinned(memory=v(1)), MemoryUnpinned(memory=v(1))).when(decay()).then(decayed(0.72))


def test_a_persons_statement_is_spared_unless_the_settings_say_otherwise() -> None:
    """What a person confirmed does not fade by itself; the setting lets it."""
    given(remembered("A")).when(decay()).then().was_not_done()
    given(remembered("A")).when(decay(rule=DecayPreferences(spare_people=False))).then(decayed(0.72))


@pytest.mark.parametrize("factor, floor", [(1.0, 0.1), (0.8, 0.9), (0.8, 1.0)])
def test_confidence_never_rises(factor: float, floor: float) -> None:
    """A factor of one and a floor above leave it as it is."""
    rule = DecayPreferences(factor=factor, floor=floor)
    given(STATED).when(decay(rule=rule)).then().was_not_done()

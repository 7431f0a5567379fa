"""When something was said, and what it rests on, decide as much as what it says."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest

from domain.events import Event, MemoryRemembered
from domain.memory import Memory, Remembered
from tests.unit.given import (
    AGENT,
    NOW,
    ORIGINATOR,
    By,
    context,
    draft,
    forgotten,
    given,
    rejected,
    remember,
    remembered,
    superseded,
    v,
)


class TestTime:
    """When something was said decides what is live, not when it was read."""

    EARLY, LATE = NOW - timedelta(days=9), NOW - timedelta(days=3)

    def stated(self, text: str, at: datetime | None, version: int = 1) -> MemoryRemembered:
        """A version with the time it was said."""
        return msgspec.structs.replace(remembered(text, version), stated_at=at)

    def test_what_was_said_before_comes_too_late(self) -> None:
        """An old conversation read after a newer one adds a version to history and leaves the newer one live."""
        old = msgspec.structs.replace(draft("old"), stated_at=self.EARLY)
        story = given(self.stated("new", self.LATE)).when(lambda memory, ctx: memory.remember(old, ctx))
        story.then(self.stated("old", self.EARLY, 2), superseded(2, 1, "order")).live(1)
        story.when(lambda memory, ctx: memory.remember(old, ctx)).then().returns(Remembered(v(2), "duplicate"))

    def test_what_was_said_later_supersedes(self) -> None:
        """In the order they were said, the later one wins."""
        new = msgspec.structs.replace(draft("new"), stated_at=self.LATE)
        story = given(self.stated("old", self.EARLY)).when(lambda memory, ctx: memory.remember(new, ctx))
        story.then(self.stated("new", self.LATE, 2), superseded(1, 2)).live(2)

    def test_a_statement_without_a_time_is_made_now(self) -> None:
        """A writer whose clock is behind is not late."""
        story = given(self.stated("old", self.LATE)).when(remember("new"), at=self.EARLY)
        story.then(remembered("new", 2), superseded(1, 2)).live(2)

    def test_two_periods_are_two_versions(self) -> None:
        """The same fact true at two times that do not meet is not folded into one."""
        first = msgspec.structs.replace(draft("works at Acme"), valid_from=self.EARLY, valid_to=self.EARLY)
        again = msgspec.structs.replace(draft("works at Acme"), valid_from=self.LATE)
        memory = Memory(ORIGINATOR)
        assert memory.remember(first, context()).outcome == "remembered"
        assert memory.remember(again, context()).outcome == "superseded"
        assert memory.remember(again, context()).outcome == "duplicate"


class TestReExtraction:
    """What somebody ended does not come back from the messages it came from."""

    def drawn(self, text: str, *sources: str) -> MemoryRemembered:
        """A statement drawn from messages."""
        return msgspec.structs.replace(draft(text), sources=sources)

    @pytest.mark.parametrize("end", [rejected(1, "A"), forgotten(1)], ids=["rejected", "forgotten"])
    def test_not_in_other_words(self, end: Event) -> None:
        """The same messages read again say nothing new, however it is put; other messages do."""
        written = msgspec.structs.replace(remembered("A"), sources=("m1", "m2"))
        again, news = self.drawn("put differently", "m2", "m1"), self.drawn("put differently", "m3")
        story = given(By(AGENT, written), end)
        story.when(lambda memory, ctx: memory.remember(again, ctx), by=AGENT)
        story.then().returns(Remembered(v(1), "blocked"))
        story.when(lambda memory, ctx: memory.remember(news, ctx), by=AGENT).live(2)

    def test_a_person_may_say_it_again(self) -> None:
        """What a person states needs no news."""
        written = msgspec.structs.replace(remembered("A"), sources=("m1",))
        again = self.drawn("A", "m1")
        given(written, rejected(1, "A")).when(lambda memory, ctx: memory.remember(again, ctx)).live(2)

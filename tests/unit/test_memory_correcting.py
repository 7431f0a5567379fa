"""Corrections, and what a person ended by one: the chain stays one, and old words do not come back by themselves."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from domain.envelope import Actor
from domain.errors import InvalidInputError, RefusedError
from domain.events import MemoryExpired, MemoryForgotten, MemoryPinned, MemoryRemembered, MemoryRetracted
from domain.memory import Remembered
from tests.unit.given import (
    AGENT,
    PERSON,
    By,
    Command,
    draft,
    forgotten,
    given,
    rejected,
    remember,
    remembered,
    restored,
    superseded,
    v,
)

UNTIL = datetime(2025, 6, 1, tzinfo=UTC)


def correct(version: int, text: str, *, until: datetime | None = None, request_id: str = "") -> Command:
    """The command that corrects a version."""
    statement = msgspec.structs.replace(draft(text, request_id=request_id), valid_to=until)
    return lambda memory, ctx: memory.correct(v(version), statement, ctx)


def drawn(text: str, *sources: str) -> MemoryRemembered:
    """A version 1 that rests on messages."""
    return msgspec.structs.replace(remembered(text), sources=sources)


def again(text: str, *sources: str, source: str = "extracted") -> Command:
    """The command that states what was read in messages."""
    statement = msgspec.structs.replace(draft(text), sources=sources, source=source)
    return lambda memory, ctx: memory.remember(statement, ctx)


class TestCorrecting:
    def test_a_correction_is_the_next_version(self) -> None:
        """The new words and the end of the old ones are one append, by the rule ``correction``."""
        story = given(remembered("A")).when(correct(1, "B")).then(remembered("B", 2), superseded(1, 2, "correction"))
        story.returns(Remembered(v(2), "superseded", v(1))).live(2)

    def test_the_same_content_is_a_duplicate(self) -> None:
        """A correction to what is said already writes nothing."""
        given(remembered("A")).when(correct(1, "a.")).then().returns(Remembered(v(1), "duplicate")).live(1)

    def test_the_same_words_of_another_period_are_a_correction(self) -> None:
        """Only the validity changes: a version of its own."""
        story = given(remembered("A")).when(correct(1, "A", until=UNTIL))
        story.then(msgspec.structs.replace(remembered("A", 2), valid_to=UNTIL), superseded(1, 2, "correction")).live(2)

    def test_a_retry_does_nothing(self) -> None:
        """A repeated request leaves a later correction alone."""
        story = given(remembered("A")).when(correct(1, "B", request_id="r")).when(correct(2, "C")).live(3)
        story.when(correct(1, "B", request_id="r")).returns(Remembered(v(2), "repeated")).live(3)

    def test_a_pin_is_kept(self) -> None:
        """What was pinned is pinned in its new words."""
        story = given(remembered("A"), MemoryPinned(memory=v(1))).when(correct(1, "B"))
        story.then(remembered("B", 2), superseded(1, 2, "correction"), MemoryPinned(memory=v(2)))

    def test_an_agent_corrects_no_person(self) -> None:
        """It corrects what an agent stated, not what a person did or brought back."""
        given(remembered("A")).when(correct(1, "B"), by=AGENT).then_raises(RefusedError).live(1)
        given(By(AGENT, remembered("A"))).when(correct(1, "B"), by=AGENT).live(2)
        story = given(By(AGENT, remembered("A")), MemoryRetracted(memory=v(1)), restored(1, "A"))
        story.when(correct(1, "B"), by=AGENT).then_raises(RefusedError).live(1)

    def test_an_agent_corrects_to_nothing_rejected(self) -> None:
        """A correction is no way around a rejection; a person may."""
        story = given(By(AGENT, remembered("A")), rejected(1, "A"), By(AGENT, remembered("B", 2)))
        story.when(correct(2, "a"), by=AGENT).then_raises(RefusedError).live(2)
        story.when(correct(2, "a")).live(3)

    @pytest.mark.parametrize("version", [1, 2])
    def test_what_is_over_is_not_corrected(self, version: int) -> None:
        """Neither a version that another replaced nor a forgotten one."""
        end = superseded(1, 2) if version == 1 else forgotten(1, 2)
        story = given(remembered("A"), remembered("B", 2), end)
        story.when(correct(version, "C")).then_raises(InvalidInputError)

    def test_a_retracted_version_can_be_corrected(self) -> None:
        """Without a live version the correction is simply the next one."""
        story = given(remembered("A"), MemoryRetracted(memory=v(1))).when(correct(1, "B"))
        story.then(remembered("B", 2)).live(2)


class TestLateArrival:
    def test_what_a_person_corrected_is_not_read_again(self) -> None:
        """From the same lines an agent brings the old words back neither at once nor after a forget."""
        story = given(By(AGENT, drawn("A", "m1", "m2"))).when(correct(1, "B"))
        story.when(again("A", "m1"), by=AGENT).returns(Remembered(v(1), "blocked")).live(2)
        story.when(lambda memory, ctx: memory.forget(ctx)).when(again("A", "m1"), by=AGENT)
        story.returns(Remembered(v(1), "blocked")).live()

    def test_other_lines_are_news(self) -> None:
        """A new message may say it again: against a person's correction that is a contradiction."""
        story = given(By(AGENT, drawn("A", "m1"))).when(correct(1, "B"))
        story.when(again("A", "m9"), by=AGENT).returns(Remembered(v(2), "noted")).live(2)

    @pytest.mark.parametrize("by", [PERSON, AGENT])
    def test_what_was_retracted_is_not_read_again(self, by: Actor) -> None:
        """Whoever retracted it had the message before them; other lines may say it again."""
        story = given(By(AGENT, drawn("A", "m1")), By(by, MemoryRetracted(memory=v(1))))
        story.when(again("A", "m1"), by=AGENT).returns(Remembered(v(1), "blocked"))
        story.when(again("A", "m9"), by=AGENT).returns(Remembered(v(2), "remembered")).live(2)

    def test_what_has_expired_is_not_read_again(self) -> None:
        """A second look at the message it was read from does not lengthen it."""
        given(By(AGENT, drawn("A", "m1")), MemoryExpired(memory=v(1))).when(again("A", "m1"), by=AGENT).returns(
            Remembered(v(1), "blocked")
        )

    def test_a_flush_brings_back_nothing_replaced(self) -> None:
        """The window about to be trimmed is old: what was read from it and replaced since stays replaced."""
        story = given(By(AGENT, drawn("A", "m1"))).when(again("B", "m2"), by=AGENT).live(2)
        flushed = again("A", "m1", source="pre-compaction")
        story.when(flushed, by=AGENT).returns(Remembered(v(1), "blocked")).live(2)

    def test_a_restored_version_is_a_persons(self) -> None:
        """An agent contradicts it in vain after a person brought it back."""
        story = given(By(AGENT, remembered("A")), MemoryRetracted(memory=v(1)), restored(1, "A"))
        story.when(remember("B"), by=AGENT).returns(Remembered(v(1), "noted")).live(1)


@pytest.mark.parametrize("verb", ["pin", "unpin"])
def test_nothing_is_set_on_what_is_forgotten(verb: str) -> None:
    """A forgotten version is neither pinned nor given an expiry."""
    gone: MemoryForgotten = forgotten(1)
    story = given(remembered("A"), gone).when(lambda memory, ctx: getattr(memory, verb)(v(1), ctx)).was_not_done()
    story.when(lambda memory, ctx: memory.expire(v(1), UNTIL, ctx)).then().was_not_done()

"""The life of a memory: versions, supersession, rejection, forgetting and coming back."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from domain.errors import InvalidInputError, NotFoundError, RefusedError
from domain.events import (
    ContradictionNoted,
    ExpirySet,
    Judgement,
    MemoryExpired,
    MemoryJudged,
    MemoryPinned,
    MemoryRejected,
    MemoryRestored,
    MemoryRetracted,
    MemoryUnpinned,
)
from domain.memory import Memory, Remembered
from tests.unit.given import (
    AGENT,
    NOW,
    PERSON,
    By,
    Command,
    context,
    draft,
    elsewhere,
    forgotten,
    given,
    rejected,
    remember,
    remembered,
    restored,
    superseded,
    v,
)

SOON = NOW + timedelta(hours=1)
LATER = NOW + timedelta(hours=2)


def _restore(version: int) -> Command:
    return lambda memory, ctx: memory.restore(v(version), ctx)


def _expire(at: datetime | None) -> Command:
    return lambda memory, ctx: memory.expire(v(1), at, ctx)


class TestRemembering:
    def test_the_first_statement(self) -> None:
        """A statement at a new address is version 1."""
        given().when(remember("A")).then(remembered("A")).returns(Remembered(v(1), "remembered")).live(1)

    @pytest.mark.parametrize("again", ["A", "a.", " A ", "Ａ"])
    def test_three_times_is_one_version(self, again: str) -> None:
        """The same content again, however it is typed, writes nothing and stays live (mem0#1674)."""
        story = given(remembered("A")).when(remember(again)).then().returns(Remembered(v(1), "duplicate"))
        story.when(remember(again), by=AGENT).then().returns(Remembered(v(1), "duplicate")).live(1)

    def test_another_content_supersedes_in_one_append(self) -> None:
        """The new version and the end of the old one are one collect."""
        story = given(remembered("A")).when(remember("B")).then(remembered("B", 2), superseded(1, 2))
        story.returns(Remembered(v(2), "superseded", v(1))).live(2)

    def test_back_and_forth_makes_three_versions(self) -> None:
        """A, B, A: compared with the live version only, so that the second A is version 3."""
        story = given(remembered("A"), remembered("B", 2), superseded(1, 2)).when(remember("A"))
        story.then(remembered("A", 3), superseded(2, 3)).live(3)

    def test_love_and_hate(self) -> None:
        """The opposite replaces and is stored: never nothing left (mem0#4536)."""
        story = given(remembered("I love tea")).when(remember("I hate tea"))
        story.then(remembered("I hate tea", 2), superseded(1, 2)).live(2)

    @pytest.mark.parametrize(
        "one, other", [("C#", "C"), ("-5", "5"), ("3.5", "3 5"), ("東京", "大阪"), ("서울", "부산")]
    )
    def test_small_differences_are_other_contents(self, one: str, other: str) -> None:
        """A sign, a point or a word of any script makes another version, not a duplicate."""
        given(remembered(one)).when(remember(other)).then(remembered(other, 2), superseded(1, 2))


class TestRetries:
    def test_a_retry_after_a_later_command_does_nothing(self) -> None:
        """A, then B, then A again by retry must not undo B."""
        story = given(remembered("A", request_id="r1"), remembered("B", 2, request_id="r2"), superseded(1, 2))
        story.when(remember("A", request_id="r1")).then().returns(Remembered(v(1), "repeated")).live(2)

    def test_another_request_is_no_retry(self) -> None:
        """The same words under a new request id are a statement."""
        story = given(remembered("A", request_id="r1"), remembered("B", 2), superseded(1, 2))
        story.when(remember("A", request_id="r3")).then(remembered("A", 3, request_id="r3"), superseded(2, 3))

    def test_without_a_request_id_nothing_is_a_retry(self) -> None:
        """Two commands without id are two commands."""
        given(remembered("A"), remembered("B", 2), superseded(1, 2)).when(remember("C")).live(3)

    def test_a_retried_forget_spares_what_came_after(self) -> None:
        """Forget, restate, forget again by retry: the restatement stays."""
        story = given(remembered("A"), forgotten(1, request_id="r1"), remembered("A", 2))
        story.when(lambda memory, ctx: memory.forget(ctx, request_id="r1")).then().returns(()).live(2)

    @pytest.mark.parametrize("verb", ["retract", "reject", "restore"])
    def test_a_retried_verb_spares_what_came_after(self, verb: str) -> None:
        """Retract, reject and restore that were done and undone are not done again by a retry."""
        ends: dict[str, Command] = {
            "retract": lambda memory, ctx: memory.retract(v(1), ctx, request_id="r"),
            "reject": lambda memory, ctx: memory.reject(v(1), ctx, request_id="r"),
            "restore": lambda memory, ctx: memory.restore(v(1), ctx, request_id="r"),
        }
        undo: Command = _restore(1)
        story = given(remembered("A"), *([superseded(1, 2), remembered("B", 2)] if verb == "restore" else []))
        story.when(ends[verb]).was_done()
        story.when(undo if verb != "restore" else remember("C")).when(ends[verb]).was_not_done()
        story.live(1) if verb != "restore" else story.live(3)

    def test_a_retried_contradiction_never_becomes_a_statement(self) -> None:
        """An agent's statement that was only noted is not written by its retry once the person's is gone."""
        noted = ContradictionNoted(memory=v(1), other="", text="B", request_id="r1")
        story = given(remembered("A"), By(AGENT, noted), forgotten(1))
        story.when(remember("B", request_id="r1"), by=AGENT).then().returns(Remembered(v(1), "repeated")).live()


class TestTrust:
    def test_an_agent_does_not_supersede_a_person(self) -> None:
        """The person's statement stays live and the contradiction is noted."""
        story = given(remembered("A")).when(remember("B"), by=AGENT)
        story.then(ContradictionNoted(memory=v(1), other="", text="B")).returns(Remembered(v(1), "noted")).live(1)

    def test_a_contradiction_is_noted_once(self) -> None:
        """An agent that repeats itself adds nothing; another contradiction is noted."""
        story = given(remembered("A"), By(AGENT, ContradictionNoted(memory=v(1), other="", text="B")))
        story.when(remember("b."), by=AGENT).then().returns(Remembered(v(1), "noted"))
        story.when(remember("C"), by=AGENT).then(ContradictionNoted(memory=v(1), other="", text="C")).live(1)

    def test_a_person_supersedes_anybody(self) -> None:
        """A person replaces an agent's statement, and a person's."""
        given(By(AGENT, remembered("A"))).when(remember("B")).then(remembered("B", 2), superseded(1, 2))

    def test_agents_supersede_agents(self) -> None:
        """Between agents the later statement counts."""
        story = given(By(AGENT, remembered("A"))).when(remember("B"), by=AGENT)
        story.then(remembered("B", 2), superseded(1, 2)).live(2)

    def test_an_agent_may_speak_after_a_person_forgot(self) -> None:
        """Forgetting is no rejection: without a live statement of a person an agent may state."""
        given(remembered("A"), forgotten(1)).when(remember("B"), by=AGENT).then(remembered("B", 2)).live(2)


class TestRejection:
    @pytest.mark.parametrize("text", ["Bad Idea", "bad idea!", "bаd ideа", "bad\u200b idea", "b a d idea", "bád idea"])
    def test_an_agent_is_refused_in_any_disguise(self, text: str) -> None:
        """What a person rejected an agent cannot state again, look-alikes and zero-width included."""
        story = given(By(AGENT, remembered("Bad idea")), rejected(1, "Bad idea"))
        story.when(remember(text), by=AGENT).then_raises(RefusedError)

    def test_an_agent_may_state_something_else(self) -> None:
        """The rejection is of a statement, not of the address."""
        given(remembered("A"), rejected(1, "A")).when(remember("B"), by=AGENT).then(remembered("B", 2)).live(2)

    def test_a_person_brings_it_back(self) -> None:
        """A person's restatement is a new version, and ends the rejection for everybody."""
        story = given(remembered("A"), rejected(1, "A")).when(remember("A")).then(remembered("A", 2)).live(2)
        story.when(remember("a"), by=AGENT).then().returns(Remembered(v(2), "duplicate"))

    def test_a_rejection_outlives_other_versions(self) -> None:
        """Something else in between does not end a rejection."""
        story = given(By(AGENT, remembered("A")), rejected(1, "A"), By(AGENT, remembered("B", 2)))
        story.when(remember("A"), by=AGENT).then_raises(RefusedError)

    def test_a_rejection_outlives_forgetting(self) -> None:
        """Forgetting a rejected memory does not let agents restate it."""
        story = given(By(AGENT, remembered("A")), rejected(1, "A"), forgotten(1))
        story.when(remember("A"), by=AGENT).then_raises(RefusedError)

    def test_rejecting(self) -> None:
        """A person rejects a version once; the event carries its skeleton."""
        reject: Command = lambda memory, ctx: memory.reject(v(1), ctx)  # noqa: E731 -- one command, twice
        story = given(remembered("Bád idea.")).when(reject).then(MemoryRejected(memory=v(1), skeleton="badidea")).live()
        story.when(reject).then().was_not_done()

    def test_an_agent_rejects_nothing(self) -> None:
        """Only a person calls something wrong."""
        story = given(remembered("A")).when(lambda memory, ctx: memory.reject(v(1), ctx), by=AGENT)
        story.then_raises(RefusedError).live(1)

    def test_an_agent_restores_nothing_rejected(self) -> None:
        """Neither the rejected version nor an older one that says the same."""
        story = given(remembered("A"), superseded(1, 2), remembered("B", 2), superseded(2, 3), remembered("a", 3))
        story.when(lambda memory, ctx: memory.reject(v(3), ctx))
        story.then(MemoryRejected(memory=v(3), skeleton="a"))
        for version in (1, 3):
            story.when(_restore(version), by=AGENT)
            story.then_raises(RefusedError).live()


class TestForgetting:
    def test_forgetting_takes_every_version(self) -> None:
        """All versions at the address go, superseded ones too, and their ids are reported."""
        story = given(remembered("A"), remembered("B", 2), superseded(1, 2))
        story.when(lambda memory, ctx: memory.forget(ctx)).then(forgotten(1, 2)).returns((v(1), v(2))).live()

    def test_forgetting_again_does_nothing(self) -> None:
        """What is forgotten is forgotten; what was never stated cannot be."""
        given(remembered("A"), forgotten(1)).when(lambda memory, ctx: memory.forget(ctx)).then().returns(())
        given().when(lambda memory, ctx: memory.forget(ctx)).then().returns(())

    def test_restating_makes_a_new_version(self) -> None:
        """A forgotten key can be used again, with a version of its own (sim#536)."""
        story = given(remembered("A"), forgotten(1)).when(remember("A")).then(remembered("A", 2)).live(2)
        story.when(lambda memory, ctx: memory.forget(ctx)).then(forgotten(2)).live()

    def test_forgotten_is_gone_for_good(self) -> None:
        """A forgotten version cannot be restored, by nobody."""
        story = given(remembered("A"), forgotten(1))
        story.when(_restore(1)).then_raises(InvalidInputError).live()

    @pytest.mark.parametrize("verb", ["retract", "reject"])
    def test_nothing_ends_what_is_forgotten(self, verb: str) -> None:
        """Retracting or rejecting a forgotten version changes nothing."""
        story = given(remembered("A"), forgotten(1))
        story.when(lambda memory, ctx: getattr(memory, verb)(v(1), ctx)).then().was_not_done()


class TestRestoring:
    def test_restoring_supersedes_the_live_one(self) -> None:
        """The version that comes back replaces the live one in the same append."""
        story = given(remembered("A"), remembered("B", 2), superseded(1, 2))
        story.when(_restore(1))
        story.then(restored(1, "A"), superseded(2, 1, "restore")).was_done().live(1)

    def test_restoring_what_is_live(self) -> None:
        """A live version is not restored again."""
        given(remembered("A")).when(_restore(1)).then().was_not_done()

    @pytest.mark.parametrize("end", [MemoryRetracted(memory=v(1)), rejected(1, "A"), MemoryExpired(memory=v(1))])
    def test_restoring_what_was_ended(self, end: MemoryRetracted | MemoryRejected | MemoryExpired) -> None:
        """A person brings back what was retracted, rejected or expired by hand."""
        story = given(remembered("A"), end).when(_restore(1))
        story.then(restored(1, "A")).live(1)
        story.when(remember("A"), by=AGENT).then().returns(Remembered(v(1), "duplicate"))

    def test_restoring_what_has_expired_makes_it_live(self) -> None:
        """A passed expiry is removed, or nothing would be live afterwards; once is enough."""
        story = given(remembered("A", expires_at=SOON)).when(_restore(1), at=LATER)
        content = remembered("A", expires_at=SOON)
        story.then(MemoryRestored(memory=v(1), content=content), ExpirySet(memory=v(1))).live(1, at=LATER)
        story.when(_restore(1), at=LATER).then().was_not_done()

    def test_an_agent_does_not_restore_over_a_person(self) -> None:
        """Bringing back an old version is no way around a person's statement."""
        story = given(By(AGENT, remembered("A")), remembered("B", 2), superseded(1, 2))
        story.when(_restore(1), by=AGENT).then_raises(RefusedError).live(2)

    def test_an_agent_restores_over_an_agent(self) -> None:
        """Where no person spoke an agent may bring a version back."""
        story = given(By(AGENT, remembered("A")), By(AGENT, remembered("B", 2)), superseded(1, 2))
        story.when(_restore(1), by=AGENT).live(1)


class TestExpiry:
    def test_expiry_is_judged_when_asked(self) -> None:
        """The same state is live before its expiry and not from then on, without an event."""
        story = given(remembered("A", expires_at=SOON)).when(remember("A"), at=SOON - timedelta(microseconds=1))
        story.then().live(1).live(at=SOON).live(at=LATER)

    def test_a_restatement_after_expiry(self) -> None:
        """The same words after the expiry are a new version, which replaces the one whose time is over."""
        story = given(remembered("A", expires_at=SOON)).when(remember("A"), at=LATER)
        story.then(remembered("A", 2), superseded(1, 2)).live(2, at=LATER)

    def test_an_agent_may_speak_after_a_person_expired(self) -> None:
        """A person's statement binds agents as long as it is live."""
        story = given(remembered("A", expires_at=SOON)).when(remember("B"), by=AGENT, at=LATER)
        story.then(remembered("B", 2), superseded(1, 2)).live(2, at=LATER)

    def test_a_longer_expiry_makes_no_second_live_version(self) -> None:
        """Removing the expiry of a version that was replaced after it does not bring it back."""
        story = given(remembered("A", expires_at=SOON)).when(remember("B"), at=LATER)
        story.when(lambda memory, ctx: memory.expire(v(1), None, ctx), at=LATER).live(2, at=LATER)

    def test_clocks_that_disagree_make_no_second_live_version(self) -> None:
        """A writer whose clock is behind sees what a writer ahead of it wrote as the one live version."""
        given(remembered("A", expires_at=SOON)).when(remember("B"), at=LATER).live(2, at=NOW)

    def test_setting_an_expiry(self) -> None:
        """An expiry is set once, moved and removed; the same again does nothing."""
        story = given(remembered("A"))
        for at in (SOON, LATER, None):
            story.when(_expire(at))
            story.then(ExpirySet(memory=v(1), expires_at=at)).was_done()
            story.when(_expire(at)).then().was_not_done()


class TestMarks:
    def test_pinning(self) -> None:
        """Pin and unpin do something once each."""
        story = given(remembered("A")).when(lambda memory, ctx: memory.unpin(v(1), ctx)).then().was_not_done()
        story.when(lambda memory, ctx: memory.pin(v(1), ctx)).then(MemoryPinned(memory=v(1))).was_done()
        story.when(lambda memory, ctx: memory.pin(v(1), ctx)).then().was_not_done()
        story.when(lambda memory, ctx: memory.unpin(v(1), ctx)).then(MemoryUnpinned(memory=v(1))).was_done()

    def test_a_pin_is_the_versions(self) -> None:
        """The next version is not pinned because the one before was."""
        story = (
            given(remembered("A"), MemoryPinned(memory=v(1)))
            .when(remember("B"))
            .then(remembered("B", 2), superseded(1, 2))
        )
        story.when(lambda memory, ctx: memory.pin(v(2), ctx)).then(MemoryPinned(memory=v(2)))

    def test_retracting(self) -> None:
        """A live version is withdrawn once; a superseded one is not live."""
        story = given(remembered("A"), remembered("B", 2), superseded(1, 2))
        story.when(lambda memory, ctx: memory.retract(v(1), ctx)).then().was_not_done()
        story.when(lambda memory, ctx: memory.retract(v(2), ctx)).then(MemoryRetracted(memory=v(2))).live()
        story.when(lambda memory, ctx: memory.retract(v(2), ctx)).then().was_not_done()

    def test_superseding_from_another_address(self) -> None:
        """A judge ends a live version with its probability and model; one that is not live stays as it is."""
        judge: Command = lambda memory, ctx: memory.supersede(  # noqa: E731 -- one command, twice
            v(1), by=elsewhere(), rule="judge", context=ctx, probability=0.75, model="m"
        )
        story = given(remembered("A")).when(judge).was_done().live()
        story.when(judge).was_not_done()

    def test_an_agents_memory_supersedes_no_persons(self) -> None:
        """Trust is the author's: who commands the supersession does not matter."""
        by_agent: Command = lambda memory, ctx: memory.supersede(  # noqa: E731 -- one command, twice
            v(1), by=elsewhere(AGENT), rule="judge", context=ctx
        )
        given(remembered("A")).when(by_agent).then().was_not_done()
        given(By(AGENT, remembered("A"))).when(by_agent).was_done().live()

    def test_a_contradiction_is_noted_once(self) -> None:
        """What contradicts and replaces nothing is written down with its probability, and leaves both live."""
        note: Command = lambda memory, ctx: memory.note(  # noqa: E731 -- one command, twice
            v(1), other=elsewhere(), context=ctx, probability=0.875, model="m"
        )
        noted = ContradictionNoted(memory=v(1), other="other@1", text="another", probability=0.875, model="m")
        given(remembered("A")).when(note).then(noted).was_done().live(1).when(note).then().was_not_done()

    def test_a_version_is_judged_once(self) -> None:
        """The outcome that was recorded first stands."""
        judged = MemoryJudged(
            memory=v(1), model="m", candidates=(Judgement(memory="o@1", replaces=0.5, contradicts=0),)
        )
        again = MemoryJudged(memory=v(1), model="other")
        story = given(remembered("A")).when(lambda memory, ctx: memory.judge(judged, ctx)).then(judged).was_done()
        story.when(lambda memory, ctx: memory.judge(again, ctx)).then().was_not_done()

    @pytest.mark.parametrize("verb", ["retract", "reject", "restore", "pin", "unpin"])
    def test_an_unknown_version(self, verb: str) -> None:
        """A version that was never written is not found."""
        story = given(remembered("A")).when(lambda memory, ctx: getattr(memory, verb)(v(2), ctx))
        story.then_raises(NotFoundError)


def test_events_say_who_when_and_under_which_key() -> None:
    """Every event of a command carries actor, time and the key scope of the memory it is about."""
    memory = Memory("p.memory.x")
    memory.remember(draft("A"), context(AGENT))
    memory.remember(draft("B"), context(PERSON, SOON))
    emitted = memory.collect_events()
    assert [one.actor for one in emitted] == [AGENT, PERSON, PERSON]
    assert [one.recorded_at for one in emitted] == [NOW, SOON, SOON]
    assert {one.key_scope for one in emitted} == {"contact:ana"}
    assert len({one.event_id for one in emitted}) == 3
    assert not memory.pending_events

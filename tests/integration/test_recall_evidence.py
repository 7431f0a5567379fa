"""Recall: evidence around a message: the window it stands in, its session, and who said it."""

from __future__ import annotations

import msgspec
import pytest

from projections.recall import RecallSettings
from tests.integration.test_recall import Profile, profile

__all__ = ["profile"]

WINDOW = frozenset({"message_window"})
WORDS = frozenset({"message_keyword"})


def test_a_window_is_three_messages(profile: Profile) -> None:
    """Words spread over neighbouring lines are found together, at the line between them first."""
    profile.say("we talked about the boat")
    middle = profile.say("it was nice")
    profile.say("and about the harbour")
    far = profile.say("nothing else")
    profile.feed()
    found = profile.ids("boat harbour", channels=WINDOW)
    assert found[0] == middle
    assert far in profile.ids("harbour", channels=WINDOW)
    assert far not in profile.ids("boat", channels=WINDOW)


def test_windows_end_with_the_session(profile: Profile) -> None:
    """Another session's line is nobody's neighbour, whatever the order they were said in."""
    first = profile.say("the boat", session="s1")
    other = profile.say("hello there", session="s2")
    last = profile.say("goodbye now", session="s1")
    profile.feed()
    assert set(profile.ids("boat", channels=WINDOW)) == {first, last}
    assert other not in profile.ids("boat", channels=WINDOW)


def test_windows_close_over_what_was_forgotten(profile: Profile) -> None:
    """A forgotten line gives its words to nobody, and the ones around it become neighbours."""
    first = profile.say("the boat")
    gone = profile.say("a secret anchor")
    last = profile.say("goodbye now")
    profile.feed()
    profile.log.forget_message(gone)
    profile.feed()
    assert profile.ids("anchor", channels=WINDOW) == []
    assert set(profile.ids("boat", channels=WINDOW)) == {first, last}


def test_windows_are_the_same_in_one_segment_or_many(profile: Profile) -> None:
    """How commits cut the index changes neither order nor scores."""
    for number in range(12):
        profile.say(f"line {number} about the {'boat' if number % 3 else 'harbour'}", session=f"s{number % 2}")
        profile.feed()
    before = [(hit.item.id, hit.score) for hit in profile.ask("boat harbour", channels=WINDOW, limit=20).results]
    profile.keywords.optimize()
    after = [(hit.item.id, hit.score) for hit in profile.ask("boat harbour", channels=WINDOW, limit=20).results]
    assert [id_ for id_, _ in after] == [id_ for id_, _ in before]
    assert [score for _, score in after] == pytest.approx([score for _, score in before], abs=1e-9)
    assert len(before) == 12


def test_a_session_about_it_lifts_its_lines(profile: Profile) -> None:
    """Of two lines that match alike, the one in the conversation that matches best comes first, older or not."""
    inside = profile.say("we saw the dog", session="about dogs")
    profile.say("dog dog dog kennel", session="about dogs")
    outside = profile.say("we saw a dog", session="something else")
    profile.say("one dog among far too many unrelated words that dilute whatever it says", session="third")
    profile.feed()
    ids = profile.ids("dog kennel", channels=WORDS | {"message_session"})
    assert ids.index(inside) < ids.index(outside)
    without = profile.ids("dog kennel", channels=WORDS)
    assert without.index(outside) < without.index(inside), "alone, the newer of equals comes first"


def test_a_question_in_the_first_person_asks_for_ones_own_words(profile: Profile) -> None:
    """The user's line comes before the assistant's equal one, and only when the question says I or my."""
    mine = profile.say("the boat is red", role="user")
    theirs = profile.say("the boat is red", role="assistant")
    profile.feed()
    assert profile.ids("what colour is my boat", channels=WORDS) == [mine, theirs]
    assert profile.ids("what colour is the boat", channels=WORDS) == [theirs, mine]


def test_a_question_that_names_a_speaker(profile: Profile) -> None:
    """The named speaker's line comes first; a name that nobody among the found has changes nothing."""
    ana = profile.say("the boat is red", name="Ana")
    bea = profile.say("the boat is red", name="Bea", role="assistant")
    profile.feed()
    assert profile.ids("what colour is Ana's boat", channels=WORDS)[0] == ana
    assert profile.ids("what colour is the boat", channels=WORDS)[0] == bea
    assert profile.ids("what colour is Zoe's boat", channels=WORDS)[0] == bea


def test_evidence_around_messages_can_be_switched_off(profile: Profile) -> None:
    """The classic set knows none of it."""
    mine = profile.say("the boat is red", role="user")
    theirs = profile.say("the boat is red", role="assistant")
    profile.feed()
    answer = profile.ask("what colour is my boat", settings=RecallSettings.classic())
    assert [hit.item.id for hit in answer.results] == [theirs, mine]
    assert not {"message_window", "message_neighbour", "message_session"} & set(answer.channels)
    assert msgspec.structs.asdict(RecallSettings.classic())["other_role"] == 1.0

"""Recall: evidence around a message: the window it stands in, its session, and who said it."""

from __future__ import annotations

import msgspec
import pytest

from projections.recall import RecallSettings
from projections.windows import WORDS
from tests.integration.test_recall import Profile, profile

__all__ = ["profile"]

WINDOW = frozenset({"message_window"})
KEYWORD = frozenset({"message_keyword"})


def test_a_window_is_what_stands_around_a_message(profile: Profile) -> None:
    """Words spread over neighbouring lines are found together, up to two lines to either side."""
    start = profile.say("we talked about the boat")
    profile.say("it was nice weather")
    middle = profile.say("and calm")
    profile.say("later it rained")
    end = profile.say("that was about the harbour")
    far = profile.say("nothing else")
    profile.feed()
    assert profile.ids("boat harbour", channels=WINDOW)[0] == middle
    assert far in profile.ids("harbour", channels=WINDOW)
    assert end not in profile.ids("boat", channels=WINDOW)
    assert start not in profile.ids("harbour", channels=WINDOW)


def test_a_window_has_room_for_so_many_words(profile: Profile) -> None:
    """A long line is heard by itself, and takes no place in the window of a short one."""
    profile.say("the boat")
    long = profile.say(" ".join(f"word{number}" for number in range(WORDS)))
    short = profile.say("goodbye now")
    profile.feed()
    found = profile.ids("boat", channels=WINDOW)
    assert long not in found
    assert short not in found
    assert profile.ids("word7", channels=WINDOW) == [long]


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
    ids = profile.ids("dog kennel", channels=KEYWORD | {"message_session"})
    assert ids.index(inside) < ids.index(outside)
    without = profile.ids("dog kennel", channels=KEYWORD)
    assert without.index(outside) < without.index(inside), "alone, the newer of equals comes first"


@pytest.mark.parametrize(
    "question,first",
    [
        ("what colour is my boat", "user"),
        ("what colour is the boat", "user"),
        ("can you tell me what colour my boat is", "user"),
        ("do you like the red boat", "newer"),
        ("what colour did you suggest for my boat", "newer"),
        ("the red boat you'd mentioned to me", "newer"),
    ],
)
def test_a_question_asks_for_ones_own_words(profile: Profile, question: str, first: str) -> None:
    """The user's line comes before the assistant's equal one, unless the question asks for what that one said."""
    mine = profile.say("the boat is red", role="user")
    theirs = profile.say("the boat is red", role="assistant")
    profile.feed()
    expected = [mine, theirs] if first == "user" else [theirs, mine]
    assert profile.ids(question, channels=KEYWORD) == expected


def test_who_has_a_name_is_no_assistant(profile: Profile) -> None:
    """Among people the role says nothing, unless the asker speaks of herself."""
    ana = profile.say("I say the boat is red", role="user", name="Ana")
    bea = profile.say("I say the boat is red", role="assistant", name="Bea")
    profile.feed()
    assert profile.ids("what colour is the boat", channels=KEYWORD) == [bea, ana]
    assert profile.ids("what colour is my boat", channels=KEYWORD) == [ana, bea]


def test_a_question_that_names_a_speaker(profile: Profile) -> None:
    """The named speaker's line comes first; a name that nobody among the found has changes nothing."""
    ana = profile.say("the boat is red", name="Ana")
    bea = profile.say("the boat is red", name="Bea", role="assistant")
    profile.feed()
    assert profile.ids("what colour is Ana's boat", channels=KEYWORD)[0] == ana
    assert profile.ids("what colour is the boat", channels=KEYWORD)[0] == bea
    assert profile.ids("what colour is Zoe's boat", channels=KEYWORD)[0] == bea


def test_evidence_around_messages_can_be_switched_off(profile: Profile) -> None:
    """The classic set knows none of it."""
    mine = profile.say("the boat is red", role="user")
    theirs = profile.say("the boat is red", role="assistant")
    profile.feed()
    answer = profile.ask("what colour is my boat", settings=RecallSettings.classic())
    assert [hit.item.id for hit in answer.results] == [theirs, mine]
    assert not {"message_window", "message_neighbour", "message_session"} & set(answer.channels)
    factors = ("other_role", "other_speaker", "empty_line", "impersonal_line", "unfitting_line")
    assert {msgspec.structs.asdict(RecallSettings.classic())[name] for name in factors} == {1.0}

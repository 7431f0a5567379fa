"""Recall: what stands beside a matching message is heard as well, and only there."""

from __future__ import annotations

import msgspec
import pytest

from projections.recall import RecallSettings
from projections.recall_types import Channel
from tests.integration.test_recall import BLUE, Profile, profile

__all__ = ["profile"]

WITHOUT = msgspec.structs.replace(RecallSettings(), message_neighbour=Channel(0.0))
ALONE = frozenset({"message_keyword", "message_neighbour"})
HEARD = "message_neighbour"


def test_an_answer_beside_the_question_is_found(profile: Profile) -> None:
    """The reply shares no word with the query; it is found beside the line that does, and says through what."""
    asked = profile.say("what is the name of your dog")
    reply = profile.say("she is called Luna")
    profile.say("filler one", session="s2")
    profile.feed()
    assert reply not in profile.ids("name of the dog", channels=frozenset({"message_keyword"}))
    answer = profile.ask("name of the dog", channels=ALONE)
    assert [hit.item.id for hit in answer.results] == [asked, reply]
    (found,) = answer.results[1].channels
    assert (found.channel, found.rank) == ("message_neighbour", 1)
    assert answer.results[1].relevance == 0.0


def test_neighbours_end_with_the_session(profile: Profile) -> None:
    """The last line of one session and the first of the next are not neighbours."""
    profile.say("the dog barks", session="s1")
    stranger = profile.say("she is called Luna", session="s2")
    profile.feed()
    assert stranger not in profile.ids("dog", channels=ALONE)


def test_a_forgotten_neighbour_is_passed_over(profile: Profile) -> None:
    """A forgotten line is not heard; the next one that stands is the neighbour then."""
    profile.say("the dog barks")
    gone = profile.say("she is called Luna")
    standing = profile.say("and the cat is Tom")
    profile.log.forget_message(gone)
    profile.feed()
    ids = profile.ids("dog", channels=ALONE)
    assert gone not in ids
    assert standing in ids


def test_a_fitting_memory_stays_above_a_message_with_fitting_neighbours(profile: Profile) -> None:
    """Neighbours of full evidence do not lift a message of full evidence above a memory of full evidence."""
    for line in ("blue sky one", "blue sky two", "blue sky three"):
        profile.say(line, BLUE)
    memory = profile.state("blue sky", BLUE)
    profile.feed()
    assert profile.ids("blue sky")[0] == memory


@pytest.mark.parametrize("name,before", [("Ana", 0.8), ("", 0.4)], ids=["people", "a program"])
def test_a_question_is_heard_by_its_answer(profile: Profile, name: str, before: float) -> None:
    """Of what stands around a line that only asks, its answer gains more than an answer to a statement would."""
    first = profile.say("I said the day was long", name=name)
    profile.say("which dog?", name=name)
    after = profile.say("I call her Luna", name=name)
    profile.say("I have many words to say of that day at the sea", name=name)
    profile.feed()
    heard = {one.item.id: one.channels for one in profile.ask("dog?", channels=ALONE).results}
    score = {id_: found.score for id_, channels in heard.items() for found in channels if found.channel == HEARD}
    assert score[after] == pytest.approx(score[first] * before * (2 - 0.3 * len("which dog?") / 120))


def test_a_long_line_hears_little(profile: Profile) -> None:
    """The more a line says by itself, the less it gains of what is beside it."""
    long = profile.say("much else was said on that day " * 320)
    profile.say("the dog barks")
    short = profile.say("she is called Luna")
    profile.feed()
    scores = {hit.item.id: hit.score for hit in profile.ask("dog", channels=ALONE).results}
    assert 0 < scores[long] < scores[short] / 2


def test_neighbours_can_be_switched_off(profile: Profile) -> None:
    """Weight 0 leaves the channel out."""
    profile.say("the dog barks")
    reply = profile.say("she is called Luna")
    profile.feed()
    answer = profile.ask("dog", settings=WITHOUT, channels=frozenset({"message_keyword"}))
    assert reply not in [hit.item.id for hit in answer.results]
    assert "message_neighbour" not in answer.channels

"""Recall: a memory is heard where the message that it was read from is."""

from __future__ import annotations

import msgspec
import pytest

from projections.recall import RecallSettings
from projections.recall_types import Channel
from tests.builders import unit
from tests.integration.test_recall import BLUE, OFF, Profile, profile

__all__ = ["profile"]

WITHOUT = msgspec.structs.replace(RecallSettings(), memory_source=Channel(0.0))
NEAR = unit(1, 0.4, 0, 0)
LONG = f"of all that was said that day {'word ' * 60}a boat was the least"


def test_a_fact_stands_before_the_message_it_was_read_from(profile: Profile) -> None:
    """The question has the message's words; the fact, which says it otherwise, comes first, and says through what."""
    message = profile.say("my boat is berthed in the old harbour", BLUE)
    profile.say(LONG, OFF)
    fact = profile.state("keeps a boat at the quay", NEAR, source="turn", sources=(message,))
    profile.feed()
    answer = profile.ask("where is my boat berthed")
    assert [hit.item.id for hit in answer.results][:2] == [fact, message]
    assert profile.ids("where is my boat berthed", settings=WITHOUT)[:2] == [message, fact]
    assert "memory_source" in [found.channel for found in answer.results[0].channels]
    assert answer.channels["memory_source"] == [fact]


def test_of_a_messages_facts_the_fitting_one_gains(profile: Profile) -> None:
    """Everything else that was read from the message stays behind it."""
    message = profile.say("my boat is berthed in the old harbour, and my sister plays the cello", BLUE)
    profile.say(LONG, OFF)
    fitting = profile.state("keeps a boat at the quay", NEAR, source="turn", sources=(message,))
    other = profile.state("has a sister", OFF, source="turn", sources=(message,))
    profile.feed()
    found = profile.ids("where is my boat berthed")
    assert found.index(fitting) < found.index(message) < found.index(other)


@pytest.mark.parametrize("how", ["forgotten", "of another contact"])
def test_what_may_not_be_heard_lends_nothing(profile: Profile, how: str) -> None:
    """A message that is forgotten, or that the asker may not hear, changes no memory's place."""
    message = profile.say("my boat is berthed in the old harbour", BLUE, session="of bob")
    fact = profile.state("keeps a boat at the quay", NEAR, source="turn", sources=(message,))
    if how == "forgotten":
        profile.log.forget_message(message, session="of bob")
    else:
        profile.log.contact("of bob", "bob")
    profile.feed()
    answer = profile.ask("where is my boat berthed", contact="ana")
    assert [hit.item.id for hit in answer.results] == [fact]
    assert "memory_source" not in [found.channel for found in answer.results[0].channels]


def test_messages_lend_where_they_are_asked_for(profile: Profile) -> None:
    """A question about facts alone is answered by what facts say."""
    message = profile.say("my boat is berthed in the old harbour", BLUE)
    fact = profile.state("keeps a boat at the quay", NEAR, source="turn", sources=(message,))
    profile.feed()
    (hit,) = profile.ask("where is my boat", kinds=frozenset({"fact"})).results
    assert hit.item.id == fact
    assert {found.channel for found in hit.channels} == {"vector", "keyword"}

"""Splitting an ingest call: occurrences are numbered before, order and limits hold after."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from umbriel import IngestReply, InvalidInputError, Message, MessageOutcome
from umbriel._split import batches, later_position, merge, with_occurrences


def said(content: str, role: str = "user", occurrence: int = 1) -> Message:
    """Return a message."""
    return Message(role=role, content=content, occurrence=occurrence)


def test_equal_messages_are_numbered_across_the_whole_call() -> None:
    """Occurrence counts equal (role, content) from 1, whatever lies between."""
    numbered = with_occurrences([said("yes"), said("no"), said("yes"), said("yes", "assistant"), said("yes")])
    assert [message.occurrence for message in numbered] == [1, 1, 2, 1, 3]


def test_numbering_twice_changes_nothing() -> None:
    """A numbered call numbered again is the same, and a higher ordinal of the caller's counts."""
    once = with_occurrences([said("yes"), said("yes", occurrence=4), said("yes")])
    assert [message.occurrence for message in once] == [1, 4, 5]
    assert with_occurrences(once) == once


@given(
    sizes=st.lists(st.integers(0, 60), max_size=40),
    max_messages=st.integers(1, 7),
    max_bytes=st.integers(50, 400),
)
def test_batches_keep_order_and_limits(sizes: list[int], max_messages: int, max_bytes: int) -> None:
    """Joined batches are the call; each is within both limits unless one message alone exceeds them."""
    messages = [said("é" * size) for size in sizes]
    split = list(batches(messages, max_messages=max_messages, max_bytes=max_bytes))
    assert [message for batch in split for message in batch] == messages
    assert all(split) or split == [[]]
    for batch in split:
        assert len(batch) <= max_messages
        assert len(batch) == 1 or len(msgspec.json.encode(batch)) <= max_bytes + 1


def test_an_empty_call_is_one_empty_request() -> None:
    """The server, not the client, says that nothing is too little."""
    assert list(batches([])) == [[]]


def test_a_lone_surrogate_is_named() -> None:
    """Text that is not Unicode is refused with what was found, before anything is sent."""
    with pytest.raises(InvalidInputError, match=r"lone surrogate.*U\+D800"):
        list(batches([said("bad \ud800")]))


def test_merged_replies_keep_order_and_the_highest_position() -> None:
    """Outcomes follow the call; the position is the highest by sequence, not by spelling."""
    replies = [
        IngestReply(session="s", outcomes=[outcome("a")], position="UMBRIEL.x:10"),
        IngestReply(session="s", outcomes=[outcome("b")], position="UMBRIEL.x:9"),
    ]
    merged = merge(replies)
    assert [done.id for done in merged.outcomes] == ["a", "b"]
    assert merged.position == "UMBRIEL.x:10"
    assert later_position("", "UMBRIEL.x:2") == "UMBRIEL.x:2"


def outcome(name: str) -> MessageOutcome:
    """Return the outcome of one recorded message."""
    return MessageOutcome(id=name, outcome="recorded", position="UMBRIEL.x:1")

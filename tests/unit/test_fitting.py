"""A long story is cut to one reply: sources first, each cut marked, the newest kept."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from gateways.service.fitting import fitted
from umbriel.types import HistoryEvent, Memory, SourceLine, WhyReply

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def memory(number: int, text: str) -> Memory:
    """A version."""
    return Memory(
        id=f"a@{number}",
        text=text,
        kind="fact",
        status="live",
        confidence=0.9,
        source="explicit",
        recorded_at=NOW,
        position="p",
    )


def story(*, versions: int = 2, sources: int = 2, length: int = 10) -> WhyReply:
    """A reply with texts of one length, one event a version."""
    said = "x" * length
    return WhyReply(
        memory=memory(versions, "now"),
        versions=[memory(number, said) for number in range(1, versions + 1)],
        events=[
            HistoryEvent(topic="memory.contradiction_noted", at=NOW, by="a", by_type="agent", position="p", detail=one)
            for one in [{"text": said, "candidates": [said]}] * versions
        ],
        sources=[SourceLine(id=f"m{number}", session="s", role="user", text=said) for number in range(sources)],
        position="p",
    )


def test_what_fits_is_left_alone() -> None:
    """A short story is returned as it is."""
    assert fitted(story(), 900_000) == story()


def test_sources_are_cut_first_and_say_so() -> None:
    """Where cutting what was said is enough, what was drawn from it stays whole; a mark tells the whole length."""
    reply = fitted(story(versions=1, sources=40, length=30_000), 900_000)
    assert all(one.text.endswith("[cut, 30000 characters]") for one in reply.sources)
    assert len(reply.sources) == 40
    assert reply.versions[0].text == "x" * 30_000
    assert not reply.omitted


@pytest.mark.parametrize("versions, sources, length", [(60, 60, 30_000), (9_000, 10, 500), (2, 20_000, 10)])
def test_every_story_fits(versions: int, sources: int, length: int) -> None:
    """Whatever its length a story becomes a reply, with the newest versions and a count of what is missing."""
    whole = story(versions=versions, sources=sources, length=length)
    reply = fitted(whole, 900_000)
    assert len(msgspec.json.encode(reply)) <= 900_000
    left = len(reply.versions) + len(reply.events) + len(reply.sources)
    assert left + reply.omitted == 2 * versions + sources
    assert reply.versions[-1].id == whole.versions[-1].id

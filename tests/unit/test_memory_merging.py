"""What one memory does when it stands for others: in its own words, or in a model's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from domain.errors import RefusedError
from domain.events import MemoryConsolidated, MemoryDecayed, MemoryPinned, MemoryRemembered
from domain.kinds import Source
from domain.text import fold_content
from domain.version import Version
from tests.unit.given import AGENT, NOW, By, Command, draft, given, remembered, superseded, v

STATED = By(AGENT, remembered("A"))


def member(text: str, *, source: Source = "turn", session: str = "s", sources: Sequence[str] = ("m1",)) -> Version:
    """A version at another address, drawn from a conversation."""
    written = msgspec.structs.replace(
        draft(text), memory="other@1", source=source, session=session, sources=tuple(sources), confidence=0.95
    )
    return Version(written, "extraction-worker", "service", NOW + timedelta(hours=1))


def stand_for(*members: Version) -> Command:
    """The command that lets version 1 stand for others."""
    return lambda memory, ctx: memory.stand_for(v(1), members, ctx)


def reword(text: str, *members: Version) -> Command:
    """The command that puts version 1 into other words."""
    return lambda memory, ctx: memory.reword(v(1), text, members, ctx, model="m")


def test_it_takes_sources_and_the_highest_confidence() -> None:
    """It gains what the others rest on, and keeps words, author and version; what had decayed is trusted again."""
    event = MemoryConsolidated(memory=v(1), members=("other@1",), sources=("m1",), confidence=0.95)
    faded = MemoryDecayed(memory=v(1), day="2025-12-01", confidence=0.1)
    given(STATED, faded).when(stand_for(member("A"))).then(event).live(1)


def test_it_gains_again() -> None:
    """Sources of an earlier merge stay."""
    before = MemoryConsolidated(memory=v(1), members=("x@1",), sources=("m0",), confidence=0.9)
    event = MemoryConsolidated(memory=v(1), members=("other@1",), sources=("m0", "m1"), confidence=0.95)
    given(STATED, before).when(stand_for(member("A"))).then(event)


def _reworded(text: str, *, session: str) -> MemoryRemembered:
    return msgspec.structs.replace(
        remembered(text, 2),
        source="consolidation",
        confidence=0.95,
        sources=("m1",),
        session=session,
        stated_at=NOW + timedelta(hours=1),
        model="m",
        folded=fold_content(text),
    )


def test_a_models_words_are_the_next_version() -> None:
    """The version before is superseded in the same append; several origins belong to no conversation."""
    events = _reworded("B", session=""), superseded(1, 2, "consolidation")
    given(STATED).when(reword("B", member("A"))).then(*events).live(2)


def test_what_one_conversation_said_stays_with_it() -> None:
    """The next version of what was drawn from one conversation is under that conversation's key."""
    first = msgspec.structs.replace(remembered("A"), source="turn", session="s", sources=("m0",), confidence=0.5)
    story = given(By(AGENT, first)).when(reword("B", member("A")))
    next_one = msgspec.structs.replace(_reworded("B", session="s"), sources=("m0", "m1"))
    story.then(next_one, superseded(1, 2, "consolidation")).live(2)


@pytest.mark.parametrize("history", [[remembered("A")], [STATED, MemoryPinned(memory=v(1))]], ids=["person", "pinned"])
def test_a_persons_and_pinned_words_are_nobodys_to_change(history: list[By]) -> None:
    """No model rewrites them."""
    given(*history).when(reword("B", member("A"))).then_raises(RefusedError)

"""Whatever quotes what was forgotten is shown without those words, and everything else as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from domain.events import (
    TOPICS,
    ContradictionNoted,
    ConversationDeleted,
    DroppedItem,
    Event,
    ExtractedItem,
    ExtractionCompleted,
    Learning,
    MemoryForgotten,
    MessageForgotten,
    NotesSet,
    RecallServed,
    ReflectionRecorded,
    Served,
    TaskSet,
)
from domain.redacting import QUOTING, Forgotten, Tombstone, buried, quoted, redacted, summary_at
from tests.canaries import ADDRESS, CANARY, MEMORY, MESSAGE, SESSION, UNQUOTING, filled

AT = datetime(2026, 1, 2, tzinfo=UTC)
HERE, THERE = 5, 9
FORGETTING = (
    MessageForgotten(message=MESSAGE, session=SESSION),
    MemoryForgotten(address=ADDRESS, memories=(MEMORY,)),
    ConversationDeleted(session=SESSION),
)
TOMBSTONE = Tombstone(THERE, "forgetting", AT)
ALL = Forgotten({name: TOMBSTONE for event in FORGETTING for name in (*buried(event), summary_at(HERE))})


def text(event: Event) -> str:
    """The event as JSON."""
    return msgspec.json.encode(event).decode()


def left(event: Event, forgotten: Forgotten = ALL, position: int = HERE) -> Event:
    """What is shown of an event."""
    found = redacted(event, position, forgotten)
    return event if found is None else found.event


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_no_topic_shows_what_was_forgotten(topic: str) -> None:
    """Each field that has room for words holds a canary before, and none after; the mark names who forgot it.

    A new topic is given a rule, or is one that no message and no memory is behind.
    """
    event = filled(TOPICS[topic])
    quotes = TOPICS[topic] in QUOTING
    assert (CANARY in text(event)) == (quotes or TOPICS[topic] in UNQUOTING)
    found = redacted(event, HERE, ALL)
    assert (found is not None) == quotes
    if found is not None:
        assert CANARY not in text(found.event)
        assert found.by == "forgetting"
        assert redacted(found.event, HERE, ALL) is None


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_nothing_is_taken_out_for_somebody_elses_sake(topic: str) -> None:
    """Where other messages, memories and sessions are forgotten, an event is shown as it is."""
    others = Forgotten({f"another {name}": TOMBSTONE for name in ALL.tombstones})
    assert redacted(filled(TOPICS[topic]), HERE, others) is None


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_what_an_event_quotes_is_known_beforehand(topic: str) -> None:
    """An event none of whose names is forgotten needs no look: what is cached is passed over by them."""
    event = filled(TOPICS[topic])
    assert ("" in quoted(event, HERE)) is False
    assert (redacted(event, HERE, ALL) is not None) == ALL.hits(quoted(event, HERE))


def only(*names: str) -> Forgotten:
    """Some names, forgotten."""
    return Forgotten(dict.fromkeys(names, TOMBSTONE))


def test_an_item_goes_with_its_own_lines_or_memory_only() -> None:
    """Of a stretch that was read, what rests on other lines stays; what names no line goes with any of them."""
    items = (
        filled(ExtractedItem, text="of m1", sources=("m1",), memory="a@1"),
        filled(ExtractedItem, text="of m2", sources=("m2",), memory="b@1"),
        filled(ExtractedItem, text="of both", sources=("m1", "m2"), memory="c@1"),
    )
    dropped = (
        DroppedItem(text="d1", reason="r", sources=("m1",)),
        DroppedItem(text="d2", reason="r", sources=("m2",)),
        DroppedItem(text="d", reason="r"),
    )
    event = filled(ExtractionCompleted, messages=("m1", "m2"), items=items, dropped=dropped)

    def texts(*names: str) -> list[str]:
        shown = left(event, only(*names))
        assert isinstance(shown, ExtractionCompleted)
        return [text for text in (*(i.text for i in shown.items), *(d.text for d in shown.dropped)) if text]

    assert texts("m1") == ["of m2", "d2"]
    assert texts("b@1") == ["of m1", "of both", "d1", "d2", "d"]
    assert texts("m3") == ["of m1", "of m2", "of both", "d1", "d2", "d"]


@pytest.mark.parametrize("event", [NotesSet(session="s", mode="append", notes="n"), TaskSet(session="s", task="t")])
def test_notes_go_with_the_deletion_after_them(event: Event) -> None:
    """What was noted in a session before it was deleted is gone, what is noted in it afterwards is there."""
    gone = Forgotten(dict.fromkeys(buried(ConversationDeleted(session="s")), TOMBSTONE))
    assert left(event, gone, THERE - 1) != event
    assert left(event, gone, THERE + 1) == event


def test_a_question_goes_with_what_was_said_before_it_was_asked() -> None:
    """It may be what was said word for word; one asked later, or answered with what is not forgotten, stays."""
    entries = (
        Served(verb="recall", query="early", results=("a@1",), at=AT - timedelta(seconds=1)),
        Served(verb="recall", query="late", results=("a@1",), at=AT + timedelta(seconds=1)),
        Served(verb="recall", query="found", results=("b@1",), at=AT + timedelta(seconds=1)),
        Served(verb="recall", query="timeless", results=()),
    )
    said = dict.fromkeys(buried(MessageForgotten(message="m", session="s")), TOMBSTONE)

    def queries(session: str) -> list[str]:
        shown = left(RecallServed(entries=entries, session=session), Forgotten({**said, "b@1": TOMBSTONE}))
        assert isinstance(shown, RecallServed)
        return [one.query for one in shown.entries if one.query]

    assert queries("s") == ["late"]
    assert queries("t") == ["early", "late", "timeless"]


def test_a_reflection_keeps_what_is_not_the_words_of_what_was_learnt() -> None:
    """The learning that was forgotten goes, and the reflection's text where it holds those words."""
    learnings = (Learning(text="never on Fridays", memory="a@1"), Learning(text="ask first", memory="b@1"))
    for said, shown in (("Learnt: never on Fridays.", ""), ("Two things went wrong.", "Two things went wrong.")):
        event = ReflectionRecorded(reflection="r", topic="deploys", day="d", text=said, learnings=learnings)
        found = left(event, only("a@1"))
        assert isinstance(found, ReflectionRecorded)
        assert (found.topic, found.text) == ("deploys", shown)
        assert [one.text for one in found.learnings] == ["", "ask first"]


def test_the_first_who_forgot_is_named() -> None:
    """Of several events that forgot what is quoted, the mark names the first."""
    forgotten = Forgotten({"m": Tombstone(8, "second", AT), "a@1": Tombstone(7, "first", AT)})
    found = redacted(ContradictionNoted(memory="a@1", other="b@1", text="t", sources=("m",)), HERE, forgotten)
    assert found is not None
    assert found.by == "first"

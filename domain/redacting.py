"""What an event shows once something that it quotes was forgotten: everything but the words.

The log keeps every event; what was forgotten leaves each reading of it. Which that is follows from the events that
forget (`buried`), and each topic says here which ids it may quote (`quoted`) and what is left of it then (`redacted`).
A topic without a rule quotes neither messages nor memories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from domain.events import (
    ContradictionNoted,
    ConversationDeleted,
    DroppedItem,
    Event,
    ExtractedItem,
    ExtractionCompleted,
    ExtractionFailed,
    MemoriesKept,
    MemoryForgotten,
    MemoryJudged,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRevised,
    MessageForgotten,
    MessageRecorded,
    NotesSet,
    OverlayAdded,
    RecallServed,
    ReflectionDrafted,
    ReflectionRecorded,
    Served,
    SummaryRewritten,
    TaskSet,
)

__all__ = [
    "QUOTING",
    "Forgotten",
    "Redacted",
    "Tombstone",
    "buried",
    "deleted",
    "quoted",
    "redacted",
    "said_in",
    "summary_at",
]

E = TypeVar("E", bound=msgspec.Struct)


class Tombstone(msgspec.Struct, frozen=True):
    """The event that forgot something: where it is in the log, its id, and when it was recorded."""

    position: int
    event: str
    at: datetime


class Forgotten(msgspec.Struct, frozen=True):
    """What is forgotten in a profile: ids of messages and memories, `deleted`, `said_in` and `summary_at` names."""

    tombstones: Mapping[str, Tombstone] = {}

    def hits(self, names: Iterable[str]) -> bool:
        """Whether any of these is forgotten."""
        return not self.tombstones.keys().isdisjoint(names)

    def first(self, names: Iterable[str]) -> Tombstone | None:
        """Return the first event that forgot one of these, None where nothing did."""
        found = [self.tombstones[name] for name in names if name in self.tombstones]
        return min(found, key=lambda one: one.position, default=None)


class Redacted(msgspec.Struct, frozen=True):
    """An event without the words that are forgotten, and the id of the event that forgot them."""

    event: Event
    by: str


def deleted(session: str) -> str:
    """Name a session of which everything until its last deletion is forgotten."""
    return f"deleted:{session}"


def said_in(session: str) -> str:
    """Name a session in which a message was forgotten: the last one that was."""
    return f"said:{session}"


def summary_at(position: int) -> str:
    """Name the summary that an event at a position wrote, once it lost a message."""
    return f"summary:{position}"


def buried(event: Event) -> tuple[str, ...]:
    """Return the names of what an event forgets; a later event takes the place of an earlier one under a name."""
    match event:
        case MessageForgotten():
            return event.message, said_in(event.session)
        case MemoryForgotten():
            return event.memories
        case ConversationDeleted():
            return (deleted(event.session),)
    return ()


def quoted(event: Event, position: int) -> tuple[str, ...]:
    """Return the names of what an event may quote."""
    rule = _RULES.get(type(event))
    return () if rule is None else tuple(dict.fromkeys(name for name in rule.names(event, position) if name))


def redacted(event: Event, position: int, forgotten: Forgotten) -> Redacted | None:
    """Return what is left of an event at a position, None where it may be shown as it is."""
    names = quoted(event, position)
    if not forgotten.hits(names):
        return None
    left = _RULES[type(event)].cut(event, position, forgotten)
    by = forgotten.first(names)
    return None if left == event or by is None else Redacted(left, by.event)


class _Rule(msgspec.Struct, frozen=True):
    names: Callable[[Any, int], Iterable[str]]
    cut: Callable[[Any, int, Forgotten], Event]


def _without(struct: E, *fields: str) -> E:
    """Return a Struct whose texts and lists under these names are empty."""
    return msgspec.structs.replace(struct, **{field: type(getattr(struct, field))() for field in fields})


def _all(*fields: str) -> Callable[[Any, int, Forgotten], Event]:
    return lambda event, _position, _forgotten: _without(event, *fields)


# -- memories -----------------------------------------------------------------------------------


def _remembered(event: MemoryRemembered) -> MemoryRemembered:
    return _without(event, "text", "folded", "key", "queries", "metadata")


def _restored(event: MemoryRestored, _position: int, _forgotten: Forgotten) -> Event:
    return msgspec.structs.replace(event, content=_remembered(event.content))


def _revised(event: MemoryRevised, _position: int, _forgotten: Forgotten) -> Event:
    return msgspec.structs.replace(event, metadata=None)


def _learnings(event: ReflectionRecorded, _position: int, forgotten: Forgotten) -> Event:
    """What was learnt goes, and the own words where they hold it or a message they rest on is gone."""
    if forgotten.hits(event.sources):
        left = tuple(_without(one, "text", "key") for one in event.learnings)
        return msgspec.structs.replace(_without(event, "text", "topic"), learnings=left)
    lost = [one for one in event.learnings if forgotten.hits((one.memory, *one.drawn_from))]
    words = [one.text for one in lost if one.text]
    left = tuple(_without(one, "text", "key") if one in lost else one for one in event.learnings)
    held = [field for field in ("text", "topic") if any(one in getattr(event, field) for one in words)]
    return msgspec.structs.replace(_without(event, *held), learnings=left)


def _thoughts(event: ReflectionDrafted, _position: int, forgotten: Forgotten) -> Event:
    """Each thought that rests on what is forgotten goes, topic and all."""
    lost = [forgotten.hits((*one.sources, *one.drawn_from)) for one in event.thoughts]
    left = (_without(one, "topic", "text") if gone else one for one, gone in zip(event.thoughts, lost, strict=True))
    return msgspec.structs.replace(event, thoughts=tuple(left))


# -- conversations and what was read from them --------------------------------------------------


def _extracted(event: ExtractionCompleted, _position: int, forgotten: Forgotten) -> Event:
    """An item goes with any of its lines or its memory; what names no lines may be about each of the stretch."""
    lost = forgotten.hits(event.messages)

    def item(one: ExtractedItem) -> ExtractedItem:
        hit = forgotten.hits((*one.sources, one.memory))
        return _without(one, "text", "key", "queries", "before") if hit else one

    def dropped(one: DroppedItem) -> DroppedItem:
        hit = forgotten.hits(one.sources) if one.sources else lost
        return _without(one, "text", "reason") if hit else one

    items, left = tuple(map(item, event.items)), tuple(map(dropped, event.dropped))
    return msgspec.structs.replace(event, items=items, dropped=left)


def _before(field: str) -> Callable[[Any, int, Forgotten], Event]:
    def cut(event: NotesSet | TaskSet, position: int, forgotten: Forgotten) -> Event:
        return _without(event, field) if position < forgotten.tombstones[deleted(event.session)].position else event

    return cut


def _served(event: RecallServed, position: int, forgotten: Forgotten) -> Event:
    """A question goes with what it was answered with, and with what was said in its session until it was asked."""
    tombstone = forgotten.tombstones.get(said_in(event.session))
    session = forgotten.tombstones.get(deleted(event.session))
    over = session is not None and position < session.position

    def entry(one: Served) -> Served:
        early = tombstone is not None and (one.at is None or one.at <= tombstone.at)
        return _without(one, "query") if over or early or forgotten.hits(one.results) else one

    return msgspec.structs.replace(event, entries=tuple(map(entry, event.entries)))


_RULES: dict[type[Event], _Rule] = {
    MessageRecorded: _Rule(lambda one, _: (one.message,), _all("content", "name", "attachment")),
    MemoryRemembered: _Rule(lambda one, _: (one.memory,), lambda one, _position, _forgotten: _remembered(one)),
    MemoryRestored: _Rule(lambda one, _: (one.memory,), _restored),
    MemoryRevised: _Rule(lambda one, _: (one.memory,), _revised),
    MemoryRejected: _Rule(lambda one, _: (one.memory,), _all("skeleton")),
    MemoryJudged: _Rule(lambda one, _: (one.memory, *(other.memory for other in one.candidates)), _all("reason")),
    MemoriesKept: _Rule(lambda one, _: (one.memory, *one.members), _all("reason")),
    ContradictionNoted: _Rule(lambda one, _: (one.memory, one.other, *one.sources), _all("text")),
    ReflectionRecorded: _Rule(
        lambda one, _: (
            *one.sources,
            *(name for learnt in one.learnings for name in (learnt.memory, *learnt.drawn_from)),
        ),
        _learnings,
    ),
    ReflectionDrafted: _Rule(
        lambda one, _: (name for thought in one.thoughts for name in (*thought.sources, *thought.drawn_from)),
        _thoughts,
    ),
    ExtractionCompleted: _Rule(
        lambda one, _: (
            *one.messages,
            *(name for item in one.items for name in (*item.sources, item.memory)),
            *(name for item in one.dropped for name in item.sources),
        ),
        _extracted,
    ),
    ExtractionFailed: _Rule(lambda one, _: one.messages, _all("reason")),
    OverlayAdded: _Rule(lambda one, _: one.messages, _all("summary")),
    SummaryRewritten: _Rule(lambda _, position: (summary_at(position),), _all("summary")),
    NotesSet: _Rule(lambda one, _: (deleted(one.session),), _before("notes")),
    TaskSet: _Rule(lambda one, _: (deleted(one.session),), _before("task")),
    RecallServed: _Rule(
        lambda one, _: (
            *(name for entry in one.entries for name in entry.results),
            *((said_in(one.session), deleted(one.session)) if one.session else ()),
        ),
        _served,
    ),
}

#: Every event that may quote a message or a memory; any other holds nothing of either.
QUOTING = frozenset(_RULES)

"""What leaves an event when it leaves the log: words that were forgotten since, wherever they stand.

The event itself stays, so that ids and chains stay whole. What is forgotten is what the ledger says is forgotten now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from domain.envelope import Envelope
from domain.events import (
    ContradictionNoted,
    DroppedItem,
    EmbeddingComputed,
    Event,
    ExtractedItem,
    ExtractionCompleted,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRevised,
    MessageRecorded,
    NotesSet,
    OverlayAdded,
    RecallServed,
    ReflectionRecorded,
    Served,
    SummaryRewritten,
    TaskSet,
)
from domain.grants import ALL
from domain.ids import base_message_id
from projections.ledger import Ledger

__all__ = ["Gone", "forgotten_of", "item_of", "redacted"]

_ROLES = ("user", "assistant")


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """What is forgotten of all that some events speak of.

    ``items`` are what embeddings hold the vectors of, ``summaries`` the positions of those that stand (None: all do),
    ``lost`` sessions with a forgotten message, by contact, and ``deleted`` where a session was deleted last.
    """

    messages: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    items: dict[str, str] = {}
    summaries: frozenset[int] | None = None
    lost: dict[str | None, list[str]] = {}
    deleted: dict[str, int] = {}


def forgotten_of(ledger: Ledger, envelopes: Sequence[Envelope], deleted: dict[str, int]) -> Gone:
    """Look up what these events speak of."""
    events = [one.data for one in envelopes]
    contacts = {_asked_about(one) for one in events if isinstance(one, RecallServed)}
    lost = {contact: ledger.sessions_that_lost(contact) for contact in contacts}
    queries = (one for event in events if isinstance(event, RecallServed) for one in _as_messages(event, lost))
    return Gone(
        messages=frozenset(ledger.forgotten_messages({*_all(map(_messages, events)), *queries})),
        memories=frozenset(ledger.forgotten_memories(_all(map(_memories, events)))),
        items=ledger.items_of(one.embedding for one in events if isinstance(one, EmbeddingComputed)),
        summaries=frozenset(
            ledger.kept_summaries(one.position for one in envelopes if isinstance(one.data, SummaryRewritten))
        ),
        lost=lost,
        deleted=deleted,
    )


def item_of(event: Event, gone: Gone) -> str:
    """Return the message or memory whose vectors an event holds, empty for none that anybody may know."""
    return gone.items.get(event.embedding, "") if isinstance(event, EmbeddingComputed) else ""


def redacted(envelope: Envelope, gone: Gone) -> Event:
    """Return the event without what was forgotten: the very same one where nothing of it was."""
    event = envelope.data
    match event:
        case MessageRecorded() if event.message in gone.messages:
            return replace(event, content="", name="", redacted=True)
        case MemoryRemembered() if event.memory in gone.memories:
            return _without_words(event)
        case MemoryRestored() if event.memory in gone.memories:
            return replace(event, content=_without_words(event.content))
        case MemoryRejected() if event.memory in gone.memories:
            return replace(event, skeleton="")
        case MemoryRevised() if event.metadata and event.memory in gone.memories:
            return replace(event, metadata={})
        case EmbeddingComputed() if event.vectors and not item_of(event, gone):
            return replace(event, vectors=b"")
    return _derived(envelope, event, gone)


def _derived(envelope: Envelope, event: Event, gone: Gone) -> Event:
    match event:
        case ContradictionNoted() if event.text and _touched(event, gone):
            return replace(event, text="")
        case ExtractionCompleted():
            return _extraction(event, gone)
        case OverlayAdded() if event.summary and not gone.messages.isdisjoint(event.messages):
            return replace(event, summary="")
        case SummaryRewritten() if event.summary and _is_lost(envelope, gone):
            return replace(event, summary="")
        case ReflectionRecorded():
            return _reflection(event, gone)
        case NotesSet() if event.notes and _is_deleted(envelope, event.session, gone):
            return replace(event, notes="")
        case TaskSet() if event.task and _is_deleted(envelope, event.session, gone):
            return replace(event, task="")
        case RecallServed():
            return _recall(event, gone)
    return event


def _without_words(event: MemoryRemembered) -> MemoryRemembered:
    return replace(event, text="", folded="", queries=(), metadata={}, key="", redacted=True)


def _touched(event: ContradictionNoted, gone: Gone) -> bool:
    return not gone.memories.isdisjoint((event.memory, event.other)) or not gone.messages.isdisjoint(event.sources)


def _is_lost(envelope: Envelope, gone: Gone) -> bool:
    return gone.summaries is not None and envelope.position not in gone.summaries


def _is_deleted(envelope: Envelope, session: str, gone: Gone) -> bool:
    return envelope.position < gone.deleted.get(session, 0)


def _extraction(event: ExtractionCompleted, gone: Gone) -> ExtractionCompleted:
    items = tuple(_item(one, gone) for one in event.items)
    dropped = tuple(_dropped(one, event, gone) for one in event.dropped)
    same = all(a is b for a, b in zip((*items, *dropped), (*event.items, *event.dropped), strict=True))
    return event if same else replace(event, items=items, dropped=dropped)


def _item(item: ExtractedItem, gone: Gone) -> ExtractedItem:
    if item.memory not in gone.memories and gone.messages.isdisjoint(item.sources):
        return item
    return replace(item, text="", key="", queries=(), before="") if item.text else item


def _dropped(item: DroppedItem, event: ExtractionCompleted, gone: Gone) -> DroppedItem:
    # Without sources it may be from any message of the stretch.
    hit = not gone.messages.isdisjoint(item.sources or event.messages)
    return replace(item, text="") if hit and item.text else item


def _reflection(event: ReflectionRecorded, gone: Gone) -> ReflectionRecorded:
    hit = [one for one in event.learnings if one.memory in gone.memories and one.text]
    if not hit:
        return event
    learnings = tuple(replace(one, text="", key="") if one in hit else one for one in event.learnings)
    # Where what was learnt is all that was thought, that goes too.
    text = "" if event.text in {one.text for one in hit} else event.text
    return replace(event, learnings=learnings, text=text)


def _recall(event: RecallServed, gone: Gone) -> RecallServed:
    hit = [bool(one.query) and _repeats(event, one, gone) for one in event.entries]
    entries = tuple(replace(one, query="") if lost else one for one, lost in zip(event.entries, hit, strict=True))
    return replace(event, entries=entries) if any(hit) else event


def _repeats(event: RecallServed, entry: Served, gone: Gone) -> bool:
    """Whether a question is a forgotten message's words; of a session that lost one, any may be."""
    if event.session:
        return event.session in gone.lost[_asked_about(event)]
    return not gone.messages.isdisjoint(_ids_as_messages(entry.query, gone.lost[_asked_about(event)]))


def _asked_about(event: RecallServed) -> str | None:
    return None if event.session or event.contact in {"", ALL} else event.contact


def _as_messages(event: RecallServed, lost: dict[str | None, list[str]]) -> Iterable[str]:
    if not event.session:
        for entry in event.entries:
            yield from _ids_as_messages(entry.query, lost[_asked_about(event)])


def _ids_as_messages(query: str, sessions: Iterable[str]) -> Iterable[str]:
    return (base_message_id(session, role, query) for session in sessions for role in _ROLES)


def _messages(event: Event) -> Iterable[str]:
    match event:
        case MessageRecorded():
            return (event.message,)
        case ContradictionNoted():
            return event.sources
        case OverlayAdded():
            return event.messages
        case ExtractionCompleted():
            parts: Sequence[ExtractedItem | DroppedItem] = (*event.items, *event.dropped)
            return (*event.messages, *(source for one in parts for source in one.sources))
    return ()


def _memories(event: Event) -> Iterable[str]:
    match event:
        case ContradictionNoted():
            return (event.memory, event.other)
        case MemoryRemembered() | MemoryRestored() | MemoryRejected() | MemoryRevised():
            return (event.memory,)
        case ExtractionCompleted():
            return (one.memory for one in event.items if one.memory)
        case ReflectionRecorded():
            return (one.memory for one in event.learnings if one.memory)
    return ()


def _all(parts: Iterable[Iterable[str]]) -> set[str]:
    return {one for part in parts for one in part}

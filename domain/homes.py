"""Where an event lives: what the id in its subject is made of, and whose key it is under.

Both depend on the profile (its secret, its keys), so an event that comes from another log finds its home here anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from domain.errors import InvalidInputError
from domain.events import (
    AccessCounted,
    ContactsLinked,
    ContactsUnlinked,
    Event,
    ImportStarted,
    MemoriesKept,
    MemoriesMerged,
    MemoryForgotten,
    MemoryRemembered,
    MemoryRestored,
    PassCompleted,
    ProfileCreated,
    ProfileImported,
    RecallServed,
    ReflectionDrafted,
    ReflectionRecorded,
    RefusalRecorded,
    SettingsChanged,
    UsageRecorded,
)
from domain.grants import ALL
from domain.ids import split_memory_id
from domain.indexing import HasScope, key_scope_of, memory_key_scope
from domain.kinds import contact_scope, contacts_scope, conversation_scope, profile_scope, questions_scope
from domain.passes import CONSOLIDATION, upkeep_id
from domain.reflection import reflection_key_scope

__all__ = ["memories_of", "memory_of", "scope_of", "subject_parts"]

#: The field that holds the public id of what an event is about, by topic or category.
_NAMED_BY = {
    "message": "message",
    "conversation": "session",
    "extraction": "extraction",
    "goal": "goal",
    "reflection.recorded": "reflection",
    "reflection.drafted": "draft",
}
#: Categories whose events are under the key of their session.
_OF_SESSIONS = frozenset({"message", "extraction", "conversation"})
_Counted = AccessCounted | RecallServed | UsageRecorded | RefusalRecorded


def memory_of(event: Event) -> str:
    """Return the version that a memory event is about (of several, the last); empty for other events."""
    if event.category() != "memory":
        return ""
    if isinstance(event, MemoryForgotten):
        return event.memories[-1] if event.memories else ""
    return str(getattr(event, "memory", ""))


def memories_of(event: Event) -> tuple[str, ...]:
    """Return the memories whose keys say whose key an event is under."""
    if isinstance(event, ReflectionRecorded):
        return tuple(one.memory for one in event.learnings if one.memory)
    memory = memory_of(event)
    return (memory,) if memory else ()


def subject_parts(event: Event, event_id: str) -> tuple[str, ...]:
    """Return what the keyed id in an event's subject is a hash of.

    Raises InvalidInputError for an event that has no such id: an embedding's own id is in its subject.
    """
    category = event.category()
    if field := _NAMED_BY.get(event.TOPIC) or _NAMED_BY.get(category):
        return (str(getattr(event, field, "")),)
    if category == "memory":
        return (split_memory_id(memory_of(event))[0],)
    if isinstance(event, _Counted):
        return (category, event_id)
    match event:
        case ProfileCreated() | SettingsChanged():
            return ("profile",)
        case ContactsLinked() | ContactsUnlinked():
            return ("contacts", event.first, event.second)
        case ImportStarted() | ProfileImported():
            return ("import", event.run)
        case MemoriesMerged() | MemoriesKept():
            return (upkeep_id(CONSOLIDATION, event.day),)
        case PassCompleted():
            return (upkeep_id(event.name, event.day),)
    raise InvalidInputError("this event has no subject of its own", expected="another event", found=event.TOPIC)


def scope_of(event: Event, written: Mapping[str, HasScope]) -> str:
    """Return whose key an event is under; ``written`` are the memories it may be about, by id.

    Raises InvalidInputError for an event about a memory that is not among them.
    """
    match event:
        case MemoryRemembered():
            return memory_key_scope(event)
        case MemoryRestored():
            return memory_key_scope(event.content)
        case ContactsLinked() | ContactsUnlinked():
            return contacts_scope(event.first, event.second)
        case ReflectionRecorded() if event.model:
            return _scope_of_thought(event, written)
        case ReflectionDrafted():
            sessions = {one.session for one in event.thoughts}
            return reflection_key_scope(event.contact, sessions.pop() if len(sessions) == 1 else "")
        case RecallServed():
            return _scope_of_questions(event)
        case _ if event.category() in _OF_SESSIONS:
            return conversation_scope(str(getattr(event, "session", "")))
        case _ if event.category() == "memory":
            return _scope_of_memory(memory_of(event), written)
    return profile_scope()


def _scope_of_questions(event: RecallServed) -> str:
    if event.session:
        return conversation_scope(event.session)
    return questions_scope() if event.contact in {"", ALL} else contact_scope(event.contact)


def _scope_of_thought(event: ReflectionRecorded, written: Mapping[str, HasScope]) -> str:
    """What a day came to is under the key of the memory it became."""
    became = (one.memory for one in event.learnings if one.outcome != "duplicate" and one.memory in written)
    memory = next(became, None)
    return reflection_key_scope(event.contact) if memory is None else _scope_of_memory(memory, written)


def _scope_of_memory(memory: str, written: Mapping[str, HasScope]) -> str:
    if memory not in written:
        raise InvalidInputError(
            "an event is about a memory that is not there", expected="the event that wrote it first", found=memory
        )
    known = written[memory]
    return key_scope_of(memory, known.source, known.session, known.scope)

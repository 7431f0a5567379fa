"""The events: frozen Structs with an explicit topic and schema version, and how they are decoded.

An event says what happened and holds everything needed to apply it: no clock, no random number and
no model is consulted when it is folded or projected. Optional fields are left out of the JSON
when they hold their default.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from domain.errors import DamagedError
from domain.kinds import Kind, Source
from domain.settings import ProfileSettings

__all__ = [
    "TOPICS",
    "AccessCounted",
    "ContactSet",
    "ContactsLinked",
    "ContactsUnlinked",
    "ContradictionNoted",
    "EmbeddingComputed",
    "EmbeddingFailed",
    "Event",
    "ExpirySet",
    "MemoryDecayed",
    "MemoryExpired",
    "MemoryForgotten",
    "MemoryJudged",
    "MemoryPinned",
    "MemoryRejected",
    "MemoryRemembered",
    "MemoryRestored",
    "MemoryRetracted",
    "MemoryRevised",
    "MemorySuperseded",
    "MemoryUnpinned",
    "MessageForgotten",
    "MessageRecorded",
    "ProfileCreated",
    "RecallServed",
    "SettingsChanged",
    "decode_event",
    "upcaster",
]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of every event payload."""

    TOPIC: ClassVar[str] = ""
    SCHEMA: ClassVar[int] = 1

    def blob(self) -> bytes | None:
        """Binary content stored beside the JSON, or None."""
        return None

    def without_blob(self) -> Event:
        """The event as its JSON shows it."""
        return self

    @classmethod
    def category(cls) -> str:
        """The subject category, the topic's first part."""
        return cls.TOPIC.split(".", 1)[0]


# -- profile ------------------------------------------------------------------------------------


class ProfileCreated(Event, frozen=True):
    """A profile came into being with its first write."""

    TOPIC = "profile.created"
    name: str
    encrypted: bool = True


class SettingsChanged(Event, frozen=True):
    """The profile's settings are these from now on, all of them; ``version`` counts changes from 1."""

    TOPIC = "profile.settings_changed"
    version: int
    settings: ProfileSettings


class ContactsLinked(Event, frozen=True):
    """Two contacts are one person; ``first`` sorts before ``second``."""

    TOPIC = "profile.contacts_linked"
    first: str
    second: str


class ContactsUnlinked(Event, frozen=True):
    """The link between two contacts was taken back."""

    TOPIC = "profile.contacts_unlinked"
    first: str
    second: str


# -- conversations and messages -----------------------------------------------------------------


class MessageRecorded(Event, frozen=True):
    """One message of a conversation, as it was said. ``at`` is when it was said, if known."""

    TOPIC = "message.recorded"
    message: str
    session: str
    role: str
    content: str
    occurrence: int = 1
    at: datetime | None = None
    name: str = ""
    caller_id: str = ""
    turn_id: str = ""
    channel: str = ""


class MessageForgotten(Event, frozen=True):
    """A message left every view; its content stays encrypted in the log until it is erased.

    ``caller_id`` and ``at`` are the message's own, so that it is known again when it comes again.
    """

    TOPIC = "message.forgotten"
    message: str
    session: str
    caller_id: str = ""
    at: datetime | None = None


class ContactSet(Event, frozen=True):
    """A conversation was attached to a contact."""

    TOPIC = "conversation.contact_set"
    session: str
    contact: str
    channel: str = ""


# -- memories -----------------------------------------------------------------------------------


class MemoryRemembered(Event, frozen=True):
    """One version of a memory was written at its address.

    ``memory`` is ``<address>@<version>``; ``scope`` is the contact as written, None for agent-wide;
    ``folded`` is the normalised content that duplicates are recognised by.
    """

    TOPIC = "memory.remembered"
    memory: str
    address: str
    version: int
    kind: Kind
    text: str
    folded: str
    source: Source
    confidence: float
    fact_type: str = ""
    scope: str | None = None
    key: str = ""
    session: str = ""
    sources: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    metadata: dict[str, Any] = {}
    request_id: str = ""


class MemorySuperseded(Event, frozen=True):
    """A version was replaced. ``rule``: ``address``, ``restore``, ``judge``, ``heuristic`` or ``consolidation``."""

    TOPIC = "memory.superseded"
    memory: str
    by: str
    rule: str
    probability: float | None = None
    model: str = ""


class MemoryRevised(Event, frozen=True):
    """Metadata of a version changed; never its text."""

    TOPIC = "memory.revised"
    memory: str
    metadata: dict[str, Any]


class ContradictionNoted(Event, frozen=True):
    """Another statement contradicts this one and replaces nothing."""

    TOPIC = "memory.contradiction_noted"
    memory: str
    other: str
    text: str = ""
    probability: float | None = None
    model: str = ""
    request_id: str = ""


class MemoryJudged(Event, frozen=True):
    """A verifier answered about a pair; recorded whatever the answer was."""

    TOPIC = "memory.judged"
    memory: str
    other: str
    replaces: float
    contradicts: float
    model: str


class MemoryDecayed(Event, frozen=True):
    """Confidence fell on a UTC day (at most once a day)."""

    TOPIC = "memory.decayed"
    memory: str
    day: str
    confidence: float


class MemoryPinned(Event, frozen=True):
    """The memory is exempt from decay and consolidation."""

    TOPIC = "memory.pinned"
    memory: str


class MemoryUnpinned(Event, frozen=True):
    """The memory is subject to decay again."""

    TOPIC = "memory.unpinned"
    memory: str


class ExpirySet(Event, frozen=True):
    """The time after which the memory is no longer live; None removes it."""

    TOPIC = "memory.expiry_set"
    memory: str
    expires_at: datetime | None = None


class MemoryExpired(Event, frozen=True):
    """The memory was ended by hand or because its session ended."""

    TOPIC = "memory.expired"
    memory: str


class MemoryRetracted(Event, frozen=True):
    """The statement was withdrawn without a replacement."""

    TOPIC = "memory.retracted"
    memory: str
    request_id: str = ""


class MemoryRejected(Event, frozen=True):
    """A person said this is wrong; only a person brings it back."""

    TOPIC = "memory.rejected"
    memory: str
    skeleton: str
    request_id: str = ""


class MemoryRestored(Event, frozen=True):
    """A version that was not live is live again; it carries its content, so that views need no memory of it."""

    TOPIC = "memory.restored"
    memory: str
    content: MemoryRemembered
    request_id: str = ""


class MemoryForgotten(Event, frozen=True):
    """Every version at the address left every view."""

    TOPIC = "memory.forgotten"
    address: str
    memories: tuple[str, ...]
    with_sources: bool = False
    request_id: str = ""


# -- derived work, recorded so that a rebuild calls no model ------------------------------------


class EmbeddingComputed(Event, frozen=True):
    """Vectors of one exact text under one model: float32, shape (chunks, dimension), L2-normalised."""

    TOPIC = "embedding.computed"
    embedding: str
    model: str
    dimension: int
    chunks: int
    vectors: bytes = b""

    def blob(self) -> bytes | None:
        """Return the raw little-endian float32 rows."""
        return self.vectors

    def without_blob(self) -> EmbeddingComputed:
        """Return the event with its rows left out."""
        return msgspec.structs.replace(self, vectors=b"")


class EmbeddingFailed(Event, frozen=True):
    """A text could not be embedded; it counts as complete, with this reason."""

    TOPIC = "embedding.failed"
    embedding: str
    model: str
    reason: str


class AccessCounted(Event, frozen=True):
    """Accesses of memories since the last flush of one instance: id to (count, last time)."""

    TOPIC = "access.counted"
    instance: str
    counts: dict[str, tuple[int, datetime]]


class RecallServed(Event, frozen=True):
    """What one recall handed out, for audit."""

    TOPIC = "recall.served"
    query: str
    results: tuple[str, ...]
    contact: str = ""


def _all_topics(base: type[Event]) -> dict[str, type[Event]]:
    found: dict[str, type[Event]] = {}
    for cls in base.__subclasses__():
        found[cls.TOPIC] = cls
    return found


#: Every topic and its newest Struct.
TOPICS: dict[str, type[Event]] = _all_topics(Event)

_Upcast = Callable[[dict[str, Any]], dict[str, Any]]
_UPCASTERS: dict[tuple[str, int], _Upcast] = {}


def upcaster(topic: str, from_schema: int) -> Callable[[_Upcast], _Upcast]:
    """Register a function that turns a payload of ``from_schema`` into the next schema."""

    def register(function: _Upcast) -> _Upcast:
        _UPCASTERS[topic, from_schema] = function
        return function

    return register


def decode_event(topic: str, schema: int, data: bytes, blob: bytes = b"") -> Event:
    """Return the event of a payload written under any released schema.

    Older schemas go through their upcasters one step at a time. Raises DamagedError for an unknown
    topic or a schema newer than this code, and msgspec errors for a payload that does not fit.
    """
    cls = TOPICS.get(topic)
    if cls is None or schema > cls.SCHEMA:
        known = f"{topic} up to schema {cls.SCHEMA}" if cls else "a known topic"
        raise DamagedError("an event was written by a newer Umbriel", expected=known, found=f"{topic} schema {schema}")
    event = msgspec.json.decode(data, type=cls) if schema == cls.SCHEMA else _upcast(cls, schema, data)
    if not blob:
        return event
    if not isinstance(event, EmbeddingComputed):
        raise DamagedError("binary content after an event that has none", expected=topic, found=f"{len(blob)} bytes")
    return msgspec.structs.replace(event, vectors=blob)


def _upcast(cls: type[Event], schema: int, data: bytes) -> Event:
    raw = msgspec.json.decode(data)
    for step in range(schema, cls.SCHEMA):
        upcast = _UPCASTERS.get((cls.TOPIC, step))
        if upcast is None:
            raise DamagedError(
                "an event has a schema that was never released", expected=cls.TOPIC, found=f"schema {schema}"
            )
        raw = upcast(raw)
    return msgspec.convert(raw, cls)

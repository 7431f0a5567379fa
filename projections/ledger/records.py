"""What the ledger answers with: frozen Structs, times as aware UTC datetimes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from domain.events import Origin

__all__ = [
    "AsOf",
    "Checkpoint",
    "ContactRecord",
    "Conversation",
    "Counts",
    "ExtractionRecord",
    "Filler",
    "HistoryRecord",
    "IndexCounts",
    "KeyHit",
    "Live",
    "LiveItem",
    "MemoryRecord",
    "MessageRecord",
    "Page",
    "Pending",
    "RefusalRecord",
    "ThinkingCounts",
    "UnreadSession",
    "UsageRecord",
    "micros",
    "moment",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(at: datetime) -> int:
    """Return microseconds since 1970 UTC; a time without a zone is UTC."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """Return the UTC time of microseconds since 1970."""
    return _EPOCH + value * _MICROSECOND


class Checkpoint(msgspec.Struct, frozen=True):
    """How far the ledger is; ``event_id`` is that of the last event applied, at ``event_position``."""

    position: int
    event_position: int
    event_id: str


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """One session; an empty contact is none. ``token`` is its filter token in the indexes."""

    session: str
    token: str
    contact: str
    channel: str
    created_at: datetime
    position: int


class ContactRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A contact as written: its own conversations and live memories, direct links, and who is one with it."""

    contact: str
    conversations: int
    memories: int
    channels: tuple[str, ...]
    links: tuple[str, ...]
    group: tuple[str, ...]


class MessageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One message; ``content`` and ``name`` are empty once it is forgotten. ``utc_offset`` is in minutes."""

    id: str
    session: str
    role: str
    name: str
    content: str
    at: datetime | None
    recorded_at: datetime
    position: int
    occurrence: int
    caller_id: str
    turn_id: str
    author: str
    author_type: str
    forgotten: bool
    contact: str
    utc_offset: int


class MemoryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a memory. ``scope`` is the contact as written, None for agent-wide."""

    id: str
    address: str
    version: int
    kind: str
    fact_type: str
    scope: str | None
    key: str
    folded_key: str
    text: str
    queries: tuple[str, ...]
    session: str
    source: str
    confidence: float
    author: str
    author_type: str
    sources: tuple[str, ...]
    metadata: dict[str, Any]
    occurred_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    recorded_at: datetime
    position: int
    status: str
    superseded_by: str
    pinned: bool
    accesses: int
    last_access: datetime | None
    stated_at: datetime | None
    extraction: str
    model: str
    origin: Origin | None = None
    origin_status: str = ""

    def status_at(self, now: datetime) -> str:
        """Return the status with expiry judged at ``now``."""
        if self.status == "live" and self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return self.status


class HistoryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One event in the life of a memory; ``detail`` holds the event's own fields, without texts once forgotten."""

    position: int
    memory: str
    topic: str
    at: datetime
    actor: str
    actor_type: str
    detail: dict[str, Any]


class LiveItem(msgspec.Struct, frozen=True, kw_only=True):
    """A memory or a message (``kind="message"``) that is live, with what recall shows of it."""

    id: str
    kind: str
    text: str
    position: int
    recorded_at: datetime
    session: str
    at: datetime | None
    contact: str = ""
    key: str = ""
    fact_type: str = ""
    role: str = ""
    name: str = ""
    source: str = ""
    sources: tuple[str, ...] = ()
    confidence: float | None = None
    stated_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    pinned: bool = False

    @property
    def happened(self) -> datetime:
        """When it happened or began, as far as that is known; else when it was said, else recorded."""
        return self.at or self.valid_from or self.stated_at or self.recorded_at


class Live(msgspec.Struct, frozen=True):
    """Which of the asked ids are live, all seen in one snapshot at ``position``."""

    position: int
    items: dict[str, LiveItem]


class KeyHit(msgspec.Struct, frozen=True):
    """A live memory with ``matched`` of its key's segments among those asked for; ``share`` is in (0, 1]."""

    id: str
    share: float
    matched: int
    position: int


class Filler(msgspec.Struct, frozen=True):
    """A live memory with the time of its last access or write, and how often it was accessed."""

    id: str
    last: datetime
    accesses: int
    position: int


class AsOf(msgspec.Struct, frozen=True):
    """A point of the past: what the log held up to a position, judged by the clock of then."""

    position: int
    clock: datetime


class Page(msgspec.Struct, frozen=True):
    """Memories newest first; an empty cursor is the last page."""

    entries: list[MemoryRecord]
    cursor: str


class Pending(msgspec.Struct, frozen=True):
    """A text without vectors: waiting, or failed with a ``reason``. ``position`` and ``kind`` are its first item's."""

    embedding: str
    key_scope: str
    key_id: str
    text: str
    position: int
    reason: str = ""
    kind: str = ""


class IndexCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What the indexes should hold: items, those with an embedding, and those whose vectors have not come."""

    items: int
    embedded: int
    without_vectors: int


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How much the ledger holds; ``memories`` counts live ones, ``versions`` all."""

    conversations: int
    messages: int
    memories: int
    versions: int
    items: int
    pending: int
    failed: int


class UnreadSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with messages still to be read for memories: how many, and the last of them."""

    session: str
    contact: str
    messages: int
    first_position: int
    last_role: str
    last_recorded_at: datetime
    answered: bool


class ExtractionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Work on a stretch of a conversation: ``messages`` read, ``items`` found, ``dropped`` of them."""

    id: str
    session: str
    source: str
    pipeline: str
    model: str
    state: str
    reason: str
    tries: int
    messages: int
    items: int
    dropped: int
    at: datetime
    position: int


class ThinkingCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What is still to be thought about, and what could not be: messages and memories, failed stretches."""

    unread: int
    failed: int
    unjudged: int


class UsageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Model calls of a kind on one UTC day."""

    day: str
    provider: str
    model: str
    purpose: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    estimated: bool


class RefusalRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How often a rule kept something from being done."""

    rule: str
    subject: str
    provider: str
    detail: str
    count: int
    last_at: datetime

"""The wire types: every request and reply as a frozen Struct, shared by the client and the server.

Times are RFC 3339 UTC with microseconds. A position is ``<stream>.<incarnation>:<sequence>``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from umbriel._wire import Reply, Request
from umbriel.changes import ChangeRequest, CorrectRequest, ExpireRequest, ForgetRequest, TouchedReply
from umbriel.copies import Origin
from umbriel.recalling import ChannelHit, RecallReply, RecallRequest, RecallResult, Visibility
from umbriel.state import (
    ForwardingStatus,
    ProfileInfo,
    ProfilesReply,
    RebuildReply,
    RebuildRequest,
    StatusReply,
    StatusRequest,
    ViewStatus,
    WorkItem,
)

__all__ = [
    "ChangeRequest",
    "ChannelHit",
    "CorrectRequest",
    "ErrorReply",
    "ExpireRequest",
    "FeedEvent",
    "FeedReply",
    "FeedRequest",
    "ForgetRequest",
    "ForwardingStatus",
    "GetRequest",
    "HistoryEvent",
    "HistoryReply",
    "IdRequest",
    "IngestReply",
    "IngestRequest",
    "Kind",
    "ListReply",
    "ListRequest",
    "Memory",
    "Message",
    "MessageOutcome",
    "ProfileInfo",
    "ProfilesReply",
    "RebuildReply",
    "RebuildRequest",
    "RecallReply",
    "RecallRequest",
    "RecallResult",
    "RememberReply",
    "RememberRequest",
    "SourceLine",
    "StatusReply",
    "StatusRequest",
    "TouchedReply",
    "ViewStatus",
    "Visibility",
    "WhyReply",
    "WorkItem",
]

Kind = Literal["fact", "event", "instruction", "task"]


class ErrorReply(Reply, frozen=True):
    """What every surface answers when it cannot do what was asked; ``done`` of ``total`` where that is being made."""

    code: str
    message: str
    expected: str = ""
    found: str = ""
    retryable: bool = False
    done: int = 0
    total: int = 0


class Message(Request, frozen=True):
    """One message to ingest.

    ``occurrence`` is its ordinal (from 1) among equal messages of the whole call; 0 lets the server count
    within the request. ``id`` is the caller's own message id. ``attachment`` is text that is kept beside the words, at
    most 262,144 bytes as JSON writes it: never searched, read for memories or shown to a model; `messages` returns it.
    """

    role: str
    content: str
    id: str = ""
    occurrence: int = 0
    at: datetime | None = None
    name: str = ""
    turn_id: str = ""
    attachment: str = ""


class IngestRequest(Request, frozen=True):
    """At most 500 messages of one session."""

    messages: list[Message]
    session: str = ""
    contact: str = ""
    channel: str = ""
    wait: bool = False


class MessageOutcome(Reply, frozen=True):
    """What became of one message: recorded, duplicate or blocked (it was forgotten or erased)."""

    id: str
    outcome: Literal["recorded", "duplicate", "blocked"]
    position: str


class IngestReply(Reply, frozen=True):
    """Outcomes in the order of the request; ``position`` is the highest of them."""

    session: str
    outcomes: list[MessageOutcome]
    position: str


class RememberRequest(Request, frozen=True):
    """One explicit memory; contact-scoped with ``contact``, agent-wide with ``scope="agent"`` or neither."""

    content: str
    key: str = ""
    kind: Kind | None = None
    fact_type: str = ""
    contact: str = ""
    scope: Literal["", "agent"] = ""
    session: str = ""
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    metadata: dict[str, Any] = {}
    wait: bool = False
    request_id: str = ""


class Memory(Reply, frozen=True):
    """One version of a memory as the ledger knows it.

    ``stated_at`` is when it was said, where that is known; ``extraction`` and ``model`` are the work that wrote it and
    the model it asked, empty where a caller stated it. A copy has its ``origin``.
    """

    id: str
    text: str
    kind: str
    status: str
    confidence: float
    source: str
    recorded_at: datetime
    position: str
    key: str = ""
    fact_type: str = ""
    contact: str = ""
    session: str = ""
    author: str = ""
    author_type: str = ""
    superseded_by: str = ""
    pinned: bool = False
    sources: list[str] = []
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    metadata: dict[str, Any] = {}
    accesses: int = 0
    address: str = ""
    stated_at: datetime | None = None
    extraction: str = ""
    model: str = ""
    origin: Origin | None = None


class RememberReply(Reply, frozen=True):
    """The memory now at its address; ``outcome`` says whether this call wrote it."""

    memory: Memory
    outcome: Literal["remembered", "superseded", "duplicate", "repeated", "noted", "late", "blocked"]
    position: str
    superseded: str = ""


class GetRequest(Request, frozen=True):
    """By ``id`` (any version of a memory), or the newest live memory under ``key`` (the contact's, then agent-wide).

    ``as_of`` is a time (RFC 3339, of recording) or a position: what was known then, as it was.
    """

    id: str = ""
    key: str = ""
    contact: str = ""
    kind: Kind | None = None
    as_of: str = ""
    at_least: str = ""


class ListRequest(Request, frozen=True):
    """Memories, newest first; ``status`` is live by default, ``all`` for every status; ``as_of`` as in `GetRequest`.

    ``text`` is words that the memory or its key says, in any case.
    """

    session: str = ""
    contact: str = ""
    kind: Kind | None = None
    status: str = "live"
    text: str = ""
    cursor: str = ""
    limit: int = 50
    as_of: str = ""
    at_least: str = ""


class ListReply(Reply, frozen=True):
    """One page; an empty ``cursor`` is the last page."""

    entries: list[Memory]
    position: str
    cursor: str = ""


class IdRequest(Request, frozen=True):
    """One memory by id (any version)."""

    id: str
    at_least: str = ""


class HistoryEvent(Reply, frozen=True):
    """One event in the life of a memory."""

    topic: str
    at: datetime
    by: str
    by_type: str
    position: str
    memory: str = ""
    detail: dict[str, Any] = {}


class HistoryReply(Reply, frozen=True):
    """Every version at an address, oldest first, and every event that touched it."""

    versions: list[Memory]
    events: list[HistoryEvent]
    position: str
    omitted: int = 0


class SourceLine(Reply, frozen=True):
    """A message that a memory rests on; empty text when it was forgotten."""

    id: str
    session: str
    role: str
    text: str
    name: str = ""
    at: datetime | None = None
    recorded_at: datetime | None = None


class WhyReply(Reply, frozen=True):
    """Why a memory says what it says: its version chain, the decisions, and the source lines.

    A version that rests on no messages, as a corrected one, has those of the versions before it. Texts too long for
    one reply end in a mark; ``omitted`` counts the oldest entries that were left out.
    """

    memory: Memory
    versions: list[Memory]
    events: list[HistoryEvent]
    sources: list[SourceLine]
    position: str
    omitted: int = 0


class FeedRequest(Request, frozen=True):
    """Events after a position; waits up to ``wait`` seconds (≤ 30) for the first one."""

    after: str = ""
    kinds: list[str] = []
    contact: str = ""
    limit: int = 100
    wait: float = 0.0


class FeedEvent(Reply, frozen=True):
    """One decrypted event. ``data`` is the event as documented in the event catalogue.

    ``redacted``: it quotes what was forgotten, and is shown without those words; ``redacted_by`` is the id of the
    event that forgot them.
    """

    position: str
    topic: str
    recorded_at: datetime
    event_id: str
    actor: str
    actor_type: str
    data: dict[str, Any]
    redacted: bool = False
    redacted_by: str = ""


class FeedReply(Reply, frozen=True):
    """Events in log order, and the position to ask after next."""

    events: list[FeedEvent]
    position: str

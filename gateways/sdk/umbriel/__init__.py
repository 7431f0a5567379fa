"""The Umbriel client: memory for agents, over NATS.

async with await Umbriel.embedded() as memory:
    await memory.remember("The lab moved to Lisbon", key="lab city")
    answer = await memory.recall("where is the lab?")
"""

from __future__ import annotations

from umbriel._embedded import data_directory
from umbriel._errors import (
    AlreadyRunningError,
    ConflictError,
    DamagedError,
    InvalidInputError,
    LogFullError,
    MismatchError,
    NotFoundError,
    RefusedError,
    UmbrielError,
    UnavailableError,
)
from umbriel._split import sequence_of
from umbriel.client import Umbriel
from umbriel.grants import GrantSpec, PrincipalInfo, PrincipalSecret, PrincipalsReply
from umbriel.types import (
    ChannelHit,
    ErrorReply,
    FeedEvent,
    FeedReply,
    HistoryEvent,
    HistoryReply,
    IngestReply,
    Kind,
    ListReply,
    Memory,
    Message,
    MessageOutcome,
    ProfileInfo,
    ProfilesReply,
    RebuildReply,
    RecallReply,
    RecallResult,
    RememberReply,
    SourceLine,
    StatusReply,
    TouchedReply,
    ViewStatus,
    Visibility,
    WhyReply,
)

__all__ = [
    "AlreadyRunningError",
    "ChannelHit",
    "ConflictError",
    "DamagedError",
    "ErrorReply",
    "FeedEvent",
    "FeedReply",
    "GrantSpec",
    "HistoryEvent",
    "HistoryReply",
    "IngestReply",
    "InvalidInputError",
    "Kind",
    "ListReply",
    "LogFullError",
    "Memory",
    "Message",
    "MessageOutcome",
    "MismatchError",
    "NotFoundError",
    "PrincipalInfo",
    "PrincipalSecret",
    "PrincipalsReply",
    "ProfileInfo",
    "ProfilesReply",
    "RebuildReply",
    "RecallReply",
    "RecallResult",
    "RefusedError",
    "RememberReply",
    "SourceLine",
    "StatusReply",
    "TouchedReply",
    "Umbriel",
    "UmbrielError",
    "UnavailableError",
    "ViewStatus",
    "Visibility",
    "WhyReply",
    "data_directory",
    "sequence_of",
]

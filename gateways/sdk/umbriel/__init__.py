"""The Umbriel client: memory for agents, over NATS.

async with await Umbriel.embedded() as memory:
    await memory.remember("The lab moved to Lisbon", key="lab city")
    answer = await memory.recall("where is the lab?")
"""

from __future__ import annotations

from umbriel._embedded import data_directory, read_endpoint
from umbriel._errors import (
    AlreadyRunningError,
    BuildingError,
    ConflictError,
    DamagedError,
    ErasedError,
    InvalidInputError,
    LogFullError,
    MismatchError,
    NotFoundError,
    RefusedError,
    UmbrielError,
    UnavailableError,
)
from umbriel._exports import Export
from umbriel._iterators import ExportSync, SubscriptionSync
from umbriel._paging import pages
from umbriel._split import sequence_of
from umbriel._subscription import Subscription
from umbriel.admin import ContactInfo, ContactsReply, LinkReply, RetryReply, SettingsReply
from umbriel.client import Umbriel
from umbriel.copies import Origin
from umbriel.grants import GrantSpec, PrincipalInfo, PrincipalSecret, PrincipalsReply
from umbriel.sessions import DeleteSessionReply, EndSessionReply
from umbriel.sync import UmbrielSync
from umbriel.types import (
    ChannelHit,
    ErrorReply,
    FeedEvent,
    FeedReply,
    ForwardingStatus,
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
    WorkItem,
)

__all__ = [
    "AlreadyRunningError",
    "BuildingError",
    "ChannelHit",
    "ConflictError",
    "ContactInfo",
    "ContactsReply",
    "DamagedError",
    "DeleteSessionReply",
    "EndSessionReply",
    "ErasedError",
    "ErrorReply",
    "Export",
    "ExportSync",
    "FeedEvent",
    "FeedReply",
    "ForwardingStatus",
    "GrantSpec",
    "HistoryEvent",
    "HistoryReply",
    "IngestReply",
    "InvalidInputError",
    "Kind",
    "LinkReply",
    "ListReply",
    "LogFullError",
    "Memory",
    "Message",
    "MessageOutcome",
    "MismatchError",
    "NotFoundError",
    "Origin",
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
    "RetryReply",
    "SettingsReply",
    "SourceLine",
    "StatusReply",
    "Subscription",
    "SubscriptionSync",
    "TouchedReply",
    "Umbriel",
    "UmbrielError",
    "UmbrielSync",
    "UnavailableError",
    "ViewStatus",
    "Visibility",
    "WhyReply",
    "WorkItem",
    "data_directory",
    "pages",
    "read_endpoint",
    "sequence_of",
]

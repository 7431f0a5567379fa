"""The events: frozen Structs with an explicit topic and schema version, and how they are decoded.

An event says what happened and holds everything needed to apply it: no clock, no random number and
no model is consulted when it is folded or projected. Optional fields are left out of the JSON
when they hold their default.
"""

from __future__ import annotations

from domain.events.base import Event
from domain.events.conversation import (
    ContactSet,
    ConversationDeleted,
    ConversationEnded,
    MessageForgotten,
    MessageRecorded,
    NotesSet,
    OverlayAdded,
    SummaryRewritten,
    TaskCleared,
    TaskSet,
)
from domain.events.copying import CopyFollowed, Followed, MemoryCopied, Origin, OriginChanged
from domain.events.decoding import TOPICS, decode_event, upcaster
from domain.events.embedding import EmbeddingComputed, EmbeddingFailed
from domain.events.erasure import (
    Erasable,
    ErasureLifted,
    KeyDestroyed,
    ProfileDeleted,
    ProfileErased,
    Unreadable,
)
from domain.events.extraction import DroppedItem, ExtractedItem, ExtractionCompleted, ExtractionFailed
from domain.events.goal import GoalClosed, GoalProgressed, GoalSet
from domain.events.memory import (
    ContradictionNoted,
    ExpirySet,
    Judgement,
    MemoryConsolidated,
    MemoryDecayed,
    MemoryExpired,
    MemoryForgotten,
    MemoryJudged,
    MemoryPinned,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemorySuperseded,
    MemoryUnpinned,
)
from domain.events.principal import PrincipalChanged
from domain.events.profile import (
    ContactsLinked,
    ContactsUnlinked,
    ImportStarted,
    ImportVerified,
    ProfileCreated,
    ProfileImported,
    SettingsChanged,
)
from domain.events.reflection import Learning, ReflectionDrafted, ReflectionRecorded, Thought
from domain.events.seal import LogRecovered, LostRange, SealMade
from domain.events.upkeep import MemoriesKept, MemoriesMerged, PassCompleted
from domain.events.use import AccessCounted, RecallServed, RefusalRecorded, Served, Usage, UsageRecorded

__all__ = [
    "TOPICS",
    "AccessCounted",
    "ContactSet",
    "ContactsLinked",
    "ContactsUnlinked",
    "ContradictionNoted",
    "ConversationDeleted",
    "ConversationEnded",
    "CopyFollowed",
    "DroppedItem",
    "EmbeddingComputed",
    "EmbeddingFailed",
    "Erasable",
    "ErasureLifted",
    "Event",
    "ExpirySet",
    "ExtractedItem",
    "ExtractionCompleted",
    "ExtractionFailed",
    "Followed",
    "GoalClosed",
    "GoalProgressed",
    "GoalSet",
    "ImportStarted",
    "ImportVerified",
    "Judgement",
    "KeyDestroyed",
    "Learning",
    "LogRecovered",
    "LostRange",
    "MemoriesKept",
    "MemoriesMerged",
    "MemoryConsolidated",
    "MemoryCopied",
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
    "NotesSet",
    "Origin",
    "OriginChanged",
    "OverlayAdded",
    "PassCompleted",
    "PrincipalChanged",
    "ProfileCreated",
    "ProfileDeleted",
    "ProfileErased",
    "ProfileImported",
    "RecallServed",
    "ReflectionDrafted",
    "ReflectionRecorded",
    "RefusalRecorded",
    "SealMade",
    "Served",
    "SettingsChanged",
    "SummaryRewritten",
    "TaskCleared",
    "TaskSet",
    "Thought",
    "Unreadable",
    "Usage",
    "UsageRecorded",
    "decode_event",
    "upcaster",
]

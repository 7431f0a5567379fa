"""The ledger view: one SQLite file that knows every message and memory and decides what is live."""

from __future__ import annotations

from projections.ledger.changes import Changed, State, Successor
from projections.ledger.days import Misquote
from projections.ledger.erasures import ErasureRecord, Held, ToGo
from projections.ledger.grounds import Closing, Overdue, Resting, Untold
from projections.ledger.records import (
    AsOf,
    Checkpoint,
    ContactRecord,
    Conversation,
    Counts,
    ExtractionRecord,
    Filler,
    HistoryRecord,
    IndexCounts,
    KeyHit,
    Live,
    LiveItem,
    MemoryRecord,
    MessageRecord,
    Page,
    Pending,
    RefusalRecord,
    ThinkingCounts,
    UnreadSession,
    UsageRecord,
)
from projections.ledger.scopes import Said, Stated
from projections.ledger.segments import query_segments, query_words
from projections.ledger.upkeep import PassRecord, Unused
from projections.ledger.view import Ledger, model_of
from projections.ledger.working import GoalEventRecord, GoalRecord, LearningRecord, NoteRecord, ReflectionRecord

__all__ = [
    "AsOf",
    "Changed",
    "Checkpoint",
    "Closing",
    "ContactRecord",
    "Conversation",
    "Counts",
    "ErasureRecord",
    "ExtractionRecord",
    "Filler",
    "GoalEventRecord",
    "GoalRecord",
    "Held",
    "HistoryRecord",
    "IndexCounts",
    "KeyHit",
    "LearningRecord",
    "Ledger",
    "Live",
    "LiveItem",
    "MemoryRecord",
    "MessageRecord",
    "Misquote",
    "NoteRecord",
    "Overdue",
    "Page",
    "PassRecord",
    "Pending",
    "ReflectionRecord",
    "RefusalRecord",
    "Resting",
    "Said",
    "State",
    "Stated",
    "Successor",
    "ThinkingCounts",
    "ToGo",
    "UnreadSession",
    "Untold",
    "Unused",
    "UsageRecord",
    "model_of",
    "query_segments",
    "query_words",
]

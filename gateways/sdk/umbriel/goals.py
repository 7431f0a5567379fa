"""Wire types of reflections and goals."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from umbriel._wire import Reply, Request

__all__ = [
    "CloseGoalRequest",
    "GoalEvent",
    "GoalInfo",
    "GoalReply",
    "GoalsReply",
    "GoalsRequest",
    "LearningInfo",
    "ProgressGoalRequest",
    "ReflectReply",
    "ReflectRequest",
    "ReflectionInfo",
    "ReflectionsReply",
    "ReflectionsRequest",
    "SetGoalRequest",
]


class ReflectRequest(Request, frozen=True):
    """What was thought about a topic, and what was learnt (without ``learnings``: the text itself)."""

    topic: str
    text: str
    learnings: list[str] = msgspec.field(default_factory=list)
    wait: bool = False
    request_id: str = ""


class LearningInfo(Reply, frozen=True):
    """One thing learnt, the key and id of the memory it became, and what was decided about it.

    ``outcome`` is that of ``remember``, or ``refused`` where a person rejected the statement.
    """

    text: str
    outcome: str
    memory: str = ""
    key: str = ""


class ReflectionInfo(Reply, frozen=True):
    """One reflection; the words of what was forgotten since are empty.

    What the daily pass wrote names the ``contact`` whose conversations it is about, and the ``model`` that worded it.
    """

    topic: str
    day: str
    text: str
    learnings: list[LearningInfo]
    recorded_at: datetime
    position: str
    author: str = ""
    author_type: str = ""
    contact: str = ""
    model: str = ""


class ReflectReply(Reply, frozen=True):
    """What became of each learning; ``recorded`` is False where the day has this reflection already."""

    topic: str
    day: str
    learnings: list[LearningInfo]
    recorded: bool
    position: str


class ReflectionsRequest(Request, frozen=True):
    """Reflections on a topic, of a UTC day (``2026-01-31``), or all; newest first, behind ``cursor``."""

    topic: str = ""
    day: str = ""
    cursor: str = ""
    limit: int = 50
    at_least: str = ""


class ReflectionsReply(Reply, frozen=True):
    """One page; an empty ``cursor`` is the last page."""

    reflections: list[ReflectionInfo]
    position: str
    cursor: str = ""


class SetGoalRequest(Request, frozen=True):
    """What to aim at. Under a ``name`` other words change the goal; without one, other words are another goal."""

    text: str
    name: str = ""
    due: datetime | None = None
    request_id: str = ""


class ProgressGoalRequest(Request, frozen=True):
    """How far a goal (its id or name) is: a note, a ``fraction`` in [0, 1], or both."""

    goal: str
    note: str = ""
    fraction: float | None = None
    request_id: str = ""


class CloseGoalRequest(Request, frozen=True):
    """How a goal (its id or name) ended."""

    goal: str
    outcome: Literal["achieved", "dropped", "failed"] = "achieved"
    note: str = ""
    request_id: str = ""


class GoalEvent(Reply, frozen=True):
    """One event of a goal; ``text`` is what it said then, or the note."""

    topic: str
    at: datetime
    position: str
    text: str = ""
    fraction: float | None = None
    outcome: str = ""
    author: str = ""
    author_type: str = ""


class GoalInfo(Reply, frozen=True):
    """A goal as it is: ``state`` is open, achieved, dropped or failed; ``omitted`` counts older events left out."""

    id: str
    text: str
    state: str
    set_at: datetime
    changed_at: datetime
    name: str = ""
    due: datetime | None = None
    fraction: float | None = None
    author: str = ""
    author_type: str = ""
    history: list[GoalEvent] = msgspec.field(default_factory=list)
    omitted: int = 0


class GoalReply(Reply, frozen=True):
    """The goal that was set, progressed or closed, and whether that changed anything."""

    goal: GoalInfo
    changed: bool
    position: str


class GoalsRequest(Request, frozen=True):
    """Goals by ``status`` (open, closed, an outcome, or all) or one by id or name; ``history`` events of each."""

    status: Literal["open", "closed", "achieved", "dropped", "failed", "all"] = "open"
    goal: str = ""
    history: int = 20
    cursor: str = ""
    limit: int = 50
    at_least: str = ""


class GoalsReply(Reply, frozen=True):
    """One page, newest first; an empty ``cursor`` is the last page."""

    goals: list[GoalInfo]
    position: str
    cursor: str = ""

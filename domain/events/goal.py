"""Events of goals: what is aimed at, how far it is, and how it ended."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from domain.events.base import Event

__all__ = ["GoalClosed", "GoalProgressed", "GoalSet", "Outcome"]

Outcome = Literal["achieved", "dropped", "failed"]


class GoalSet(Event, frozen=True):
    """Something is aimed at from now on; set again, the goal says something else or is open again."""

    TOPIC = "goal.set"
    goal: str
    text: str
    name: str = ""
    due: datetime | None = None
    request_id: str = ""


class GoalProgressed(Event, frozen=True):
    """A goal came closer, or not; ``fraction`` in [0, 1] is how far it is, None for as far as before."""

    TOPIC = "goal.progressed"
    goal: str
    note: str = ""
    fraction: float | None = None
    request_id: str = ""


class GoalClosed(Event, frozen=True):
    """Nobody works at the goal any more."""

    TOPIC = "goal.closed"
    goal: str
    outcome: Outcome
    note: str = ""
    request_id: str = ""

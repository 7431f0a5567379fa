"""Events of the daily passes over a profile: what one decided, and that it was done."""

from __future__ import annotations

import msgspec

from domain.events.base import Event

__all__ = ["MemoriesKept", "MemoriesMerged", "PassCompleted"]


class MemoriesMerged(Event, frozen=True):
    """Memories that say the same became one: ``memory`` stands, ``members`` were superseded by it.

    Appended in one step with what follows from it. ``cluster`` is the hash of all that were held together, ``cosine``
    the lowest of any two of them; ``model`` worded what stands, empty where it is the wording of one of them. It
    holds ids only: what was said is under the keys of the memories.
    """

    TOPIC = "upkeep.merged"
    day: str
    cluster: str
    memory: str
    members: tuple[str, ...]
    cosine: float
    model: str = ""


class MemoriesKept(Event, frozen=True):
    """A model was asked for a wording of memories that are alike, and they stay as they are; ``reason`` says why."""

    TOPIC = "upkeep.kept"
    day: str
    cluster: str
    memory: str
    members: tuple[str, ...]
    model: str
    reason: str


class PassCompleted(Event, frozen=True):
    """A pass over the profile is done for a UTC day; ``counts`` says what it did.

    ``scheduled`` is False for one that somebody asked for: it takes the place of none.
    """

    TOPIC = "upkeep.completed"
    name: str
    day: str
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    scheduled: bool = True

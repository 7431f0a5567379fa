"""The event of a reflection: what was thought about, and what came of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from domain.events.base import Event

__all__ = ["Learning", "ReflectionRecorded"]


class Learning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing learnt: the key it was written under, the memory it became, and what was decided about it.

    ``outcome`` is what `domain.memory.Memory.remember` decided, or ``refused`` where a person rejected the statement;
    its words are left out then.
    """

    text: str
    key: str = ""
    memory: str = ""
    outcome: Literal["remembered", "superseded", "duplicate", "noted", "late", "blocked", "repeated", "refused", ""] = (
        ""
    )


class ReflectionRecorded(Event, frozen=True):
    """Something was reflected on, on a UTC day; appended in one step with the memories that came of it."""

    TOPIC = "reflection.recorded"
    reflection: str
    topic: str
    day: str
    text: str
    learnings: tuple[Learning, ...] = ()
    request_id: str = ""

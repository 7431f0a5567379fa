"""The events of a reflection: what was thought about, and what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from domain.events.base import Event

__all__ = ["Learning", "ReflectionDrafted", "ReflectionRecorded", "Thought"]


class Learning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing learnt: the key it was written under, the memory it became, and what was decided about it.

    ``outcome`` is what `domain.memory.Memory.remember` decided, or ``refused`` where a person rejected the statement;
    its words are left out then. ``drawn_from`` are memories that it restates: it holds as long as each of them does.
    """

    text: str
    key: str = ""
    memory: str = ""
    outcome: Literal["remembered", "superseded", "duplicate", "noted", "late", "blocked", "repeated", "refused", ""] = (
        ""
    )
    drawn_from: tuple[str, ...] = ()


class ReflectionRecorded(Event, frozen=True):
    """Something was reflected on, on a UTC day; appended in one step with the memories that came of it.

    What the daily pass wrote is of one ``contact`` (None: of nobody's conversations), rests on messages (``sources``)
    and names the ``model`` that worded it; what a caller thought rests on nothing.
    """

    TOPIC = "reflection.recorded"
    reflection: str
    topic: str
    day: str
    text: str
    learnings: tuple[Learning, ...] = ()
    request_id: str = ""
    contact: str | None = None
    sources: tuple[str, ...] = ()
    model: str = ""


class Thought(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a day came to on one topic, with the messages (``sources``) and the memories that it was drawn from.

    ``session`` is the conversation that all of it is from, if it is one; ``expires_at`` is when what is open is stale.
    """

    topic: str
    text: str
    sources: tuple[str, ...] = ()
    drawn_from: tuple[str, ...] = ()
    session: str = ""
    stated_at: datetime | None = None
    expires_at: datetime | None = None


class ReflectionDrafted(Event, frozen=True):
    """A UTC day with one contact (None: nobody's conversations) was thought about, before anything follows from it.

    The first one stands; what is remembered derives from it alone. ``lines`` of conversations and ``notes`` (memories)
    count what was looked at; without ``thoughts`` there was nothing to say.
    """

    TOPIC = "reflection.drafted"
    draft: str
    day: str
    pipeline: str
    model: str
    lines: int
    notes: int
    contact: str | None = None
    thoughts: tuple[Thought, ...] = ()

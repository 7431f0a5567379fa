"""How memories are used: what was handed out, and what a model call cost."""

from __future__ import annotations

from datetime import datetime

import msgspec

from domain.events.base import Event

__all__ = ["AccessCounted", "RecallServed", "RefusalRecorded", "Served", "Usage", "UsageRecorded"]


class AccessCounted(Event, frozen=True):
    """Accesses of memories since the last flush of one instance: id to (count, last time)."""

    TOPIC = "access.counted"
    instance: str
    counts: dict[str, tuple[int, datetime]]


class Served(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question: who asked it, when, and the ids of what was handed out, best first.

    ``principal`` is empty in what the first schema recorded. ``answered`` where a model put the results into words.
    """

    verb: str
    query: str
    results: tuple[str, ...]
    principal: str = ""
    principal_type: str = ""
    at: datetime | None = None
    provider: str = "local"
    answered: bool = False


class RecallServed(Event, frozen=True):
    """What one instance's recalls handed out since its last flush, for audit.

    All of one event are about the same ``contact`` or ``session``, under whose key it is. It is the profile's where
    both are empty, or the contact is ``*``, which is all of them.
    """

    TOPIC = "recall.served"
    SCHEMA = 2
    entries: tuple[Served, ...]
    contact: str = ""
    session: str = ""
    instance: str = ""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Model calls of one kind since the last flush: tokens as the provider counts them, else our estimate.

    ``cost`` is in the currency of the configured prices, None where no price is configured.
    """

    provider: str
    model: str
    purpose: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None = None
    estimated: bool = False


class UsageRecorded(Event, frozen=True):
    """What one instance's model calls for a profile came to since its last flush."""

    TOPIC = "usage.recorded"
    instance: str
    entries: tuple[Usage, ...]


class RefusalRecorded(Event, frozen=True):
    """Something was not done because a rule forbids it; ``count`` of its kind since the last such event.

    ``rule`` is ``data-flow`` (content of the class ``subject`` was kept from ``provider``) or ``grant`` (``principal``
    asked for the verb ``subject`` in ``profile``); ``detail`` says what was expected and found, never content.
    """

    TOPIC = "refusal.recorded"
    rule: str
    subject: str
    provider: str
    detail: str
    count: int = 1
    principal: str = ""
    profile: str = ""

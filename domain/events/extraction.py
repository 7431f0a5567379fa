"""What was drawn from a stretch of conversation: items, what became of each, and what was left out and why."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from domain.events.base import Event
from domain.kinds import Kind, Source

__all__ = ["DroppedItem", "ExtractedItem", "ExtractionCompleted", "ExtractionFailed"]


class ExtractedItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One statement drawn from messages (``sources`` are their ids), and the memory it became.

    ``found_by`` names the passes that found it; ``checks`` those of the eight checks that it did not meet as it was
    first put (``before``). ``outcome`` is what `domain.memory.Memory.remember` decided.
    """

    text: str
    kind: Kind
    sources: tuple[str, ...]
    fact_type: str = ""
    key: str = ""
    queries: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    stated_at: datetime | None = None
    found_by: Literal["full", "detail", "both"] = "full"
    verdict: Literal["passed", "corrected", "unchecked"] = "passed"
    checks: tuple[str, ...] = ()
    before: str = ""
    memory: str = ""
    outcome: str = ""


class DroppedItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A statement that did not become a memory: the reason, and the check it failed if it was one."""

    text: str
    reason: str
    check: str = ""
    sources: tuple[str, ...] = ()


class ExtractionCompleted(Event, frozen=True):
    """A stretch of one conversation (``messages``, oldest first) was read for memories.

    Appended in one step with the memories it made, so that either all of it happened or nothing. ``contact`` is the
    scope those got, None for agent-wide; ``model`` and ``pipeline`` name what read it.
    """

    TOPIC = "extraction.completed"
    extraction: str
    session: str
    messages: tuple[str, ...]
    source: Source
    pipeline: str
    model: str
    contact: str | None = None
    items: tuple[ExtractedItem, ...] = ()
    dropped: tuple[DroppedItem, ...] = ()
    tries: int = 1


class ExtractionFailed(Event, frozen=True):
    """A stretch of conversation could not be read; it waits for a retry and holds nothing else up."""

    TOPIC = "extraction.failed"
    extraction: str
    session: str
    messages: tuple[str, ...]
    source: Source
    pipeline: str
    model: str
    reason: str
    tries: int

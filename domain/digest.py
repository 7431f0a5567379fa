"""What is thought about at the end of a day: the day with one contact, and who words what it came to."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

import msgspec

from domain.transcript import Line

__all__ = ["Day", "Note", "Reflected", "Reflector", "Talk", "Wording"]


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """What was said in one conversation on that day; the lines of a day are numbered through.

    ``unanswered`` says that nothing in the conversation followed the day's last line.
    """

    session: str
    lines: tuple[Line, ...]
    channel: str = ""
    unanswered: bool = False


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A live memory that was written on that day; ``index`` counts the day's notes from 0."""

    index: int
    id: str
    text: str
    kind: str
    fact_type: str
    confidence: float
    stated_at: datetime
    sources: tuple[str, ...] = ()
    session: str = ""
    expires_at: datetime | None = None


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """A UTC day (``2026-01-31``) with one contact, None for conversations with nobody named; nobody else is in it."""

    day: str
    contact: str | None = None
    talks: tuple[Talk, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """Everything that was said."""
        return tuple(line for talk in self.talks for line in talk.lines)


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """What a day came to on one topic; ``lines`` and ``notes`` are the numbers of what it rests on.

    Everything in it may come from a model: whoever writes it down checks every field first. ``open`` marks what is
    still to be done or answered.
    """

    topic: str
    text: str
    lines: tuple[int, ...] = ()
    notes: tuple[int, ...] = ()
    open: bool = False


class Reflected(msgspec.Struct, frozen=True):
    """What was made of a day, and by which model; without wordings there is nothing to say."""

    wordings: tuple[Wording, ...]
    model: str


class Reflector(Protocol):
    """Thinks about a day."""

    @property
    def name(self) -> str:
        """What is recorded with its thoughts until one names its model."""

    async def reflect(self, day: Day, *, profile: str) -> Reflected:
        """Return what the day came to, nothing beyond what is in it; raises what `domain.ports.Chat` raises."""

"""One version of a memory: what was written, what became of it, and what a command decided."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from domain.events import MemoryRemembered

__all__ = ["Outcome", "Remembered", "Status", "Version"]

Status = Literal["live", "superseded", "retracted", "rejected", "expired", "forgotten"]
Outcome = Literal["remembered", "superseded", "duplicate", "repeated", "noted", "late", "blocked"]


class Version(msgspec.Struct):
    """State of one version: what was written and what became of it."""

    written: MemoryRemembered
    author: str
    author_type: str
    recorded_at: datetime
    status: Status = "live"
    expires_at: datetime | None = None
    pinned: bool = False
    decayed_on: str = ""
    #: a person ended it by a correction or a retraction: what it rests on is no news any more
    settled: bool = False
    #: confidence as it is since it has decayed, or stands for others
    changed: float | None = None
    #: sources of what it stands for, beside its own
    gained: tuple[str, ...] = ()
    #: somebody brought it back: it is not merged again
    restored: bool = False

    @property
    def confidence(self) -> float:
        """How much it is trusted now: as it was written, or less since."""
        return self.written.confidence if self.changed is None else self.changed

    @property
    def sources(self) -> tuple[str, ...]:
        """What it rests on: its own sources, then those of what it stands for."""
        return tuple(dict.fromkeys((*self.written.sources, *self.gained)))

    #: a caller stated what had been drawn from messages
    affirmed: bool = False
    #: source messages that were forgotten
    lost: frozenset[str] = frozenset()

    @property
    def stands_alone(self) -> bool:
        """Whether somebody states it, so that it needs no message to rest on."""
        return self.affirmed or self.author_type == "person" or self.written.source in ("explicit", "copy")

    @property
    def stated_at(self) -> datetime:
        """When it was said, as far as is known."""
        return self.written.stated_at or self.recorded_at

    def says(self, draft: MemoryRemembered) -> bool:
        """Whether it states the same: equal content, and not of two periods apart."""
        return self.written.folded == draft.folded and not _apart(self.written, draft)

    def same(self, draft: MemoryRemembered) -> bool:
        """Whether it says exactly this: equal content of the same period."""
        mine, other = self.written, draft
        return (mine.folded, mine.valid_from, mine.valid_to) == (other.folded, other.valid_from, other.valid_to)

    def over_at(self, now: datetime) -> bool:
        """Whether it came to an end that no reading of the same messages takes back."""
        expired = self.expires_at is not None and self.expires_at <= now
        return self.settled or expired or self.status in ("rejected", "forgotten", "retracted", "expired")

    def live_at(self, now: datetime) -> bool:
        """Whether the version counts as live at ``now``; expiry is judged when asked."""
        return self.status == "live" and (self.expires_at is None or self.expires_at > now)


class Remembered(msgspec.Struct, frozen=True):
    """What a remember command decided; ``superseded`` is the id it replaced, if any."""

    memory: str
    outcome: Outcome
    superseded: str = ""


def _apart(one: MemoryRemembered, other: MemoryRemembered) -> bool:
    """Whether two statements are about periods that do not meet."""
    ends = (one.valid_to, other.valid_from), (other.valid_to, one.valid_from)
    return any(end is not None and start is not None and end < start for end, start in ends)

"""What upkeep does to the versions at an address, beside what callers ask for."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.events import MemoryDecayed
from domain.indexing import memory_key_scope
from domain.kernel import Aggregate, Context
from domain.settings import DecayPreferences
from domain.version import Version

__all__ = ["Kept", "day_of"]

#: Products of the factor are the same whichever machine works them out.
_DIGITS = 6


def day_of(moment: datetime) -> str:
    """Return the UTC day of a moment, as ``2026-01-31``."""
    return moment.astimezone(UTC).date().isoformat()


class Kept(Aggregate):
    """A part of `domain.memory.Memory`."""

    def find(self, memory: str) -> Version:
        """Return the state of one version, or raise NotFoundError."""
        raise NotImplementedError

    def decay(self, memory: str, as_of: datetime, rule: DecayPreferences, context: Context) -> bool:
        """Let the confidence of a version that nobody used fall, at most once a UTC day.

        False where it has fallen on the day of ``as_of`` or a later one, is at the floor, is not live then, is
        pinned, or is a person's and those are spared. Whether it was used is the caller's to know.
        """
        version, day = self.find(memory), day_of(as_of)
        if not version.live_at(as_of) or version.pinned or version.decayed_on >= day:
            return False
        if rule.spare_people and version.author_type == "person":
            return False
        confidence = max(rule.floor, round(version.confidence * rule.factor, _DIGITS))
        if confidence >= version.confidence:
            return False
        event = MemoryDecayed(memory=memory, day=day, confidence=confidence)
        self.emit(event, context, key_scope=memory_key_scope(version.written))
        return True

    def on_decayed(self, event: MemoryDecayed) -> None:
        """Take the confidence, and note the day."""
        version = self.find(event.memory)
        version.faded, version.decayed_on = event.confidence, event.day

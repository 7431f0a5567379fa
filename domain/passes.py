"""The upkeep aggregate: which daily passes over a profile were done, and what they decided."""

from __future__ import annotations

from domain.events import MemoriesKept, MemoriesMerged, PassCompleted
from domain.kernel import Aggregate, Context
from domain.kinds import profile_scope

__all__ = ["CONSOLIDATION", "Upkeep", "upkeep_id"]

#: The name of the pass that decays and merges, and the rule of the supersessions it makes.
CONSOLIDATION = "consolidation"


def upkeep_id(name: str, day: str) -> str:
    """Return the public id of the aggregate that holds a pass of a day: one a month, so that none grows for ever."""
    return f"{name} {day[:7]}"


class Upkeep(Aggregate):
    """The passes of one name in one month."""

    CATEGORY = "upkeep"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self._completed: set[str] = set()
        self._merged: dict[str, dict[str, int]] = {}
        self._kept: set[str] = set()

    def is_completed(self, day: str) -> bool:
        """Whether the scheduled pass of a day was done."""
        return day in self._completed

    def merges(self, day: str) -> int:
        """How many merges were decided on a day."""
        return len(self._merged.get(day, ()))

    def merged(self, day: str) -> int:
        """How many memories were superseded by the merges of a day."""
        return sum(self._merged.get(day, {}).values())

    def complete(self, event: PassCompleted, context: Context) -> bool:
        """Record that a pass is done; False when the scheduled one of that day was before."""
        if event.scheduled and event.day in self._completed:
            return False
        self.emit(event, context, key_scope=profile_scope())
        return True

    def merge(self, event: MemoriesMerged, context: Context) -> bool:
        """Record a merge; False when just these memories were merged on that day before."""
        if event.cluster in self._merged.get(event.day, ()):
            return False
        self.emit(event, context, key_scope=profile_scope())
        return True

    def is_kept(self, cluster: str) -> bool:
        """Whether a model was asked about just these memories in this month, and they stayed apart."""
        return cluster in self._kept

    def keep(self, event: MemoriesKept, context: Context) -> bool:
        """Record that memories stay apart; False when that was said before."""
        if event.cluster in self._kept:
            return False
        self.emit(event, context, key_scope=profile_scope())
        return True

    def on_completed(self, event: PassCompleted) -> None:
        """Note the day."""
        if event.scheduled:
            self._completed.add(event.day)

    def on_merged(self, event: MemoriesMerged) -> None:
        """Note the memories that were held together."""
        self._merged.setdefault(event.day, {})[event.cluster] = len(event.members)

    def on_kept(self, event: MemoriesKept) -> None:
        """Note the memories that were held together."""
        self._kept.add(event.cluster)

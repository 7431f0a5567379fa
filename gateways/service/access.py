"""Accesses counted in memory and flushed as one event a profile, so that a read never waits for a write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from domain.envelope import Actor
from domain.events import AccessCounted
from gateways.service.events import EventReader
from gateways.service.flushing import Flusher

__all__ = ["Accesses"]

#: ids in one event, far below what a message may carry
_PER_EVENT = 1_000


class Accesses(Flusher):
    """Counts what ``recall`` and ``get`` hand out."""

    actor = Actor("access-counter", "service")

    def __init__(self, events: EventReader) -> None:
        super().__init__(events)
        self._counts: dict[str, dict[str, tuple[int, datetime]]] = defaultdict(dict)

    def count(self, profile: str, memories: Sequence[str], now: datetime) -> None:
        """Note that these memories were handed out."""
        counts = self._counts[profile]
        for memory in memories:
            counts[memory] = (counts.get(memory, (0, now))[0] + 1, now)

    def touch(self, profile: str, memory: str, now: datetime) -> None:
        """Note that a memory was used without being handed out: it was said again."""
        counts = self._counts[profile]
        counts[memory] = (counts.get(memory, (0, now))[0], now)

    def _take(self, without: AbstractSet[str]) -> Mapping[str, list[AccessCounted]]:
        taken = {profile: self._counts.pop(profile) for profile in self._counts.keys() - without}
        return {profile: self._events_of(list(counts.items())) for profile, counts in taken.items()}

    def _events_of(self, counts: Sequence[tuple[str, tuple[int, datetime]]]) -> list[AccessCounted]:
        return [
            AccessCounted(instance=self._instance, counts=dict(counts[start : start + _PER_EVENT]))
            for start in range(0, len(counts), _PER_EVENT)
        ]

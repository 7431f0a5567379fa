"""What model calls came to, flushed as one event a profile, so that a call never waits for its own accounting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from domain.envelope import Actor
from domain.events import Usage, UsageRecorded
from gateways.models.meter import Meter
from gateways.service.events import EventReader
from gateways.service.flushing import Flusher

__all__ = ["Usages"]

#: entries of one event, far below what a message may carry
_PER_EVENT = 500


class Usages(Flusher):
    """Records what a meter counted."""

    actor = Actor("usage-meter", "service")

    def __init__(self, events: EventReader, meter: Meter) -> None:
        super().__init__(events)
        self.meter = meter

    def _take(self, without: AbstractSet[str]) -> Mapping[str, list[UsageRecorded]]:
        return {profile: self._events_of(entries) for profile, entries in self.meter.take(without=without).items()}

    def _events_of(self, entries: Sequence[Usage]) -> list[UsageRecorded]:
        return [
            UsageRecorded(instance=self._instance, entries=tuple(entries[start : start + _PER_EVENT]))
            for start in range(0, len(entries), _PER_EVENT)
        ]

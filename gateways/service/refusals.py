"""What the data-flow policy kept from providers, counted in memory and recorded as events every so often."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from domain.envelope import Actor
from domain.events import RefusalRecorded
from gateways.service.events import EventReader
from gateways.service.flushing import Flusher

__all__ = ["PolicyRefusals"]

_RULE = "data-flow"


class _Kind(msgspec.Struct, frozen=True):
    """What was kept from whom; equal refusals are counted together."""

    subject: str
    provider: str
    detail: str


class PolicyRefusals(Flusher):
    """Counts refusals by kind: however often one happens, it is one event a flush."""

    actor = Actor("data-flow-policy", "service")

    def __init__(self, events: EventReader) -> None:
        super().__init__(events)
        self._counts: dict[str, Counter[_Kind]] = defaultdict(Counter)
        self._lock = threading.Lock()

    def note(self, profile: str, subject: str, provider: str, detail: str) -> None:
        """Note that content of the class ``subject`` was kept from ``provider``; any thread may."""
        with self._lock:
            self._counts[profile][_Kind(subject, provider, detail)] += 1

    def _take(self, without: AbstractSet[str]) -> Mapping[str, list[RefusalRecorded]]:
        with self._lock:
            taken = {profile: self._counts.pop(profile) for profile in self._counts.keys() - without}
        return {
            profile: [
                RefusalRecorded(
                    rule=_RULE, subject=kind.subject, provider=kind.provider, detail=kind.detail, count=count
                )
                for kind, count in counts.items()
            ]
            for profile, counts in taken.items()
        }

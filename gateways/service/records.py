"""What happens to the service itself, as events of no profile: refusals, and changes of principals."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from domain.envelope import Actor
from domain.events import Event, PrincipalChanged, RefusalRecorded
from domain.events.principal import PrincipalChange
from domain.grants import ALL, Principal
from domain.sealing import SYSTEM
from gateways.service.context import Caller
from gateways.service.events import EventReader
from gateways.service.flushing import Flusher

__all__ = ["GRANT", "SystemRecords"]

#: the rule of refusals by grants
GRANT = "grant"
#: kinds of refusals of one principal that are recorded apart in an hour; more are counted together
_KINDS_PER_HOUR = 60
_HOUR = 3600.0
_SHOWN = 64


class _Kind(msgspec.Struct, frozen=True):
    principal: str
    verb: str
    profile: str
    reason: str


class SystemRecords(Flusher):
    """Counts refusals by kind, and keeps changes of principals, until the next flush.

    Whoever is refused chooses verbs and profiles; after so many kinds in an hour its refusals are one kind, so that
    nobody fills the log.
    """

    actor = Actor("audit", "service")

    def __init__(self, events: EventReader) -> None:
        super().__init__(events)
        self._lock = threading.Lock()
        self._refused: Counter[_Kind] = Counter()
        self._changes: list[PrincipalChanged] = []
        self._kinds: dict[str, set[_Kind]] = {}
        self._hour = time.monotonic()

    def refused(self, principal: str, verb: str, profile: str, reason: str) -> None:
        """Note that a principal was refused; any thread may."""
        kind = _Kind(principal, verb[:_SHOWN], profile[:_SHOWN], reason)
        with self._lock:
            if time.monotonic() - self._hour > _HOUR:
                self._kinds, self._hour = {}, time.monotonic()
            known = self._kinds.setdefault(principal, set())
            if kind not in known and len(known) >= _KINDS_PER_HOUR:
                kind = _Kind(principal, "", "", "many more requests were refused")
            else:
                known.add(kind)
            self._refused[kind] += 1

    async def changed(self, caller: Caller, principal: Principal, change: PrincipalChange) -> None:
        """Record a change of a principal now, or as soon as the log answers."""
        event = PrincipalChanged(
            principal=principal.name,
            change=change,
            by=caller.principal,
            by_type=caller.type,
            type=principal.type,
            grants=tuple(
                f"{one.profile}:{one.access}" + ("" if ALL in one.contacts else f" for {len(one.contacts)} contacts")
                for one in principal.grants
            ),
        )
        with self._lock:
            self._changes.append(event)
        await self.flush()

    def _take(self, without: AbstractSet[str]) -> Mapping[str, list[Event]]:
        if SYSTEM in without:
            return {}
        with self._lock:
            refused, self._refused = self._refused, Counter()
            changes, self._changes = self._changes, []
        events: list[Event] = [*changes]
        events += [
            RefusalRecorded(
                rule=GRANT,
                subject=kind.verb,
                provider="",
                detail=kind.reason,
                count=count,
                principal=kind.principal,
                profile=kind.profile,
            )
            for kind, count in refused.items()
        ]
        return {SYSTEM: events} if events else {}

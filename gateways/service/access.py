"""Accesses counted in memory and flushed as one event a profile, so that a read never waits for a write."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

import structlog

from domain.envelope import Actor, Envelope
from domain.errors import UmbrielError
from domain.events import AccessCounted
from domain.ids import keyed_id, originator_id
from domain.kinds import profile_scope
from gateways.service.events import EventReader
from gateways.service.flushing import Flusher

__all__ = ["Accesses"]

_log = structlog.get_logger(__name__)
#: ids in one event, far below what a message may carry
_PER_EVENT = 1_000
_COUNTER = Actor("access-counter", "service")


class Accesses(Flusher):
    """Counts what ``recall`` and ``get`` hand out. Each flush has a subject of its own: nobody contends."""

    def __init__(self, events: EventReader) -> None:
        self._events = events
        self._instance = uuid.uuid4().hex
        self._counts: dict[str, dict[str, tuple[int, datetime]]] = defaultdict(dict)

    def count(self, profile: str, memories: Sequence[str], now: datetime) -> None:
        """Note that these memories were handed out."""
        counts = self._counts[profile]
        for memory in memories:
            counts[memory] = (counts.get(memory, (0, now))[0] + 1, now)

    async def flush(self) -> None:
        """Append what was counted; what cannot be written now is kept for the next flush."""
        taken, self._counts = self._counts, defaultdict(dict)
        for profile, counts in taken.items():
            for part in _parts(list(counts.items())):
                await self._flush(profile, dict(part))

    async def _flush(self, profile: str, counts: dict[str, tuple[int, datetime]]) -> None:
        try:
            await self._append(profile, counts)
        except UmbrielError as error:
            _log.warning("accesses_kept", profile=profile, reason=str(error))
            self._merge(profile, counts)

    def _merge(self, profile: str, counts: dict[str, tuple[int, datetime]]) -> None:
        newer = self._counts[profile]
        for memory, (count, at) in counts.items():
            more, last = newer.get(memory, (0, at))
            newer[memory] = (count + more, max(at, last))

    async def _append(self, profile: str, counts: dict[str, tuple[int, datetime]]) -> None:
        event_id = uuid.uuid4().hex
        secret = await self._events.secret(profile)
        envelope = Envelope(
            originator_id=originator_id(profile, "access", keyed_id(secret, "access", event_id)),
            originator_version=1,
            event_id=event_id,
            recorded_at=datetime.now(UTC),
            actor=_COUNTER,
            data=AccessCounted(instance=self._instance, counts=counts),
            key_scope=profile_scope(),
        )
        await self._events.append([envelope], expected=0)


def _parts(
    counts: Sequence[tuple[str, tuple[int, datetime]]],
) -> list[Sequence[tuple[str, tuple[int, datetime]]]]:
    return [counts[start : start + _PER_EVENT] for start in range(0, len(counts), _PER_EVENT)]

"""What is counted in memory and written as events now and then: nothing lost, nothing written twice.

An append whose outcome is unknown is repeated as the very same event: the log takes the first event of a subject once,
so a conflict says that it had arrived. What is counted meanwhile waits until the profile's older counts are written.
"""

from __future__ import annotations

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime

import msgspec
import structlog

from domain.envelope import Actor, Envelope
from domain.errors import ConflictError, ErasedError, UmbrielError
from domain.events import Event
from domain.ids import keyed_id, originator_id
from domain.kinds import profile_scope
from gateways.service.events import EventReader

__all__ = ["Flusher"]

_log = structlog.get_logger(__name__)


class _Unwritten(msgspec.Struct, frozen=True):
    profile: str
    event_id: str
    at: datetime
    data: Event


class Flusher(ABC):
    """Writes what a subclass counted. Each event has a subject of its own: nobody contends."""

    actor: Actor

    def __init__(self, events: EventReader) -> None:
        self._events = events
        self._instance = uuid.uuid4().hex
        self._unwritten: list[_Unwritten] = []
        self._one_at_a_time = asyncio.Lock()

    @abstractmethod
    def _take(self, without: AbstractSet[str]) -> Mapping[str, Iterable[Event]]:
        """Return and forget what was counted, as events by profile, leaving the profiles ``without`` as they are."""

    def _scope(self, event: Event) -> str:
        """Return whose key an event is under."""
        del event
        return profile_scope()

    async def run(self, seconds: float) -> None:
        """Flush every so often until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            # Cut off half-way, a flush would lose what it had taken.
            flushing = asyncio.create_task(self.flush())
            try:
                await asyncio.shield(flushing)
            except asyncio.CancelledError:
                await flushing
                raise

    async def flush(self) -> None:
        """Append what was counted; what cannot be written now is kept for the next flush."""
        async with self._one_at_a_time:
            await self._write_all(self._unwritten)
            held = {one.profile for one in self._unwritten}
            now = datetime.now(UTC)
            taken = self._take(held)
            self._unwritten += [
                _Unwritten(profile, uuid.uuid4().hex, now, data) for profile, events in taken.items() for data in events
            ]
            await self._write_all([one for one in self._unwritten if one.profile not in held])

    async def _write_all(self, some: Iterable[_Unwritten]) -> None:
        for one in tuple(some):
            if await self._written(one):
                self._unwritten.remove(one)

    async def _written(self, one: _Unwritten) -> bool:
        try:
            await self._append(one)
        except (ConflictError, ErasedError):
            return True
        except UmbrielError as error:
            _log.warning("counts_kept", topic=one.data.TOPIC, profile=one.profile, reason=str(error))
            return False
        return True

    async def _append(self, one: _Unwritten) -> None:
        category = one.data.category()
        secret = await self._events.secret(one.profile)
        envelope = Envelope(
            originator_id=originator_id(one.profile, category, keyed_id(secret, category, one.event_id)),
            originator_version=1,
            event_id=one.event_id,
            recorded_at=one.at,
            actor=self.actor,
            data=one.data,
            key_scope=self._scope(one.data),
        )
        await self._events.append([envelope], expected=0)

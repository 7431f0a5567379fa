"""What the data-flow policy kept from providers, counted in memory and recorded as events every so often."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from datetime import UTC, datetime

import msgspec
import structlog

from domain.envelope import Actor, Envelope
from domain.errors import UmbrielError
from domain.events import RefusalRecorded
from domain.ids import keyed_id, originator_id
from domain.kinds import profile_scope
from gateways.service.events import EventReader
from gateways.service.flushing import Flusher

__all__ = ["PolicyRefusals"]

_log = structlog.get_logger(__name__)
_RULE = "data-flow"
_POLICY = Actor("data-flow-policy", "service")


class _Kind(msgspec.Struct, frozen=True):
    """What was kept from whom; equal refusals are counted together."""

    profile: str
    subject: str
    provider: str
    detail: str


class PolicyRefusals(Flusher):
    """Counts refusals by kind: however often one happens, it is one event a flush."""

    def __init__(self, events: EventReader) -> None:
        self._events = events
        self._counts: Counter[_Kind] = Counter()
        self._lock = threading.Lock()

    def note(self, profile: str, subject: str, provider: str, detail: str) -> None:
        """Note that content of the class ``subject`` was kept from ``provider``; any thread may."""
        self._count(_Kind(profile, subject, provider, detail), 1)

    def _count(self, kind: _Kind, count: int) -> None:
        with self._lock:
            self._counts[kind] += count

    async def flush(self) -> None:
        """Append what was counted, an event a kind; what cannot be written now is kept for the next flush."""
        with self._lock:
            taken, self._counts = self._counts, Counter()
        for kind, count in taken.items():
            try:
                await self._append(kind, count)
            except UmbrielError as error:
                _log.warning("refusals_kept", profile=kind.profile, reason=str(error))
                self._count(kind, count)

    async def _append(self, kind: _Kind, count: int) -> None:
        event_id = uuid.uuid4().hex
        secret = await self._events.secret(kind.profile)
        envelope = Envelope(
            originator_id=originator_id(kind.profile, "refusal", keyed_id(secret, "refusal", event_id)),
            originator_version=1,
            event_id=event_id,
            recorded_at=datetime.now(UTC),
            actor=_POLICY,
            data=RefusalRecorded(
                rule=_RULE, subject=kind.subject, provider=kind.provider, detail=kind.detail, count=count
            ),
            key_scope=profile_scope(),
        )
        await self._events.append([envelope], expected=0)

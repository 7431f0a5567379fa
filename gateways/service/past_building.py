"""One generation of the past in the making: views replayed from the log up to a point, beside what is served.

What is forgotten by now is not written to it, and what was forgotten after the point is taken out of what rests on
it. Vectors that came after the point for what was there before count: they say nothing that was not known.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import msgspec

from domain.envelope import Envelope
from domain.errors import DamagedError, UmbrielError
from domain.events import EmbeddingComputed, MemoryRemembered, MemoryRestored, MessageRecorded
from domain.redacting import Forgotten, redacted
from gateways.service.events import EventReader
from gateways.service.profiles import OpenProfile
from gateways.service.redacting import FORGETTING_TOPICS
from projections.building import Building
from projections.generations import PAST, VIEWS, Plan, ViewSet

__all__ = ["Abandoned", "PastJob", "build"]

#: events read and applied at once
_BATCH = 2_000
_GENERATION = "g000001"
_VECTORS = "embedding.computed"


class Abandoned(Exception):  # noqa: N818 -- not an error: nobody waits for it, or it may not be made as it was begun
    """The generation is not wanted any more."""


class PastJob:
    """How the making of one generation stands; ``done`` and ``total`` count the profile's events."""

    def __init__(self, profile: str, position: int) -> None:
        self.profile = profile
        self.position = position
        self.done = 0
        self.total = 0
        self.asked = time.monotonic()
        self.begun = self.dropped = False
        self.error: UmbrielError | None = None
        self.ended = asyncio.Event()

    def check_wanted(self, patience: float) -> None:
        """Stop here when it was dropped, or when nobody has asked for it in ``patience`` seconds."""
        if self.dropped or time.monotonic() - self.asked > patience:
            raise Abandoned


async def build(
    events: EventReader, opened: OpenProfile, job: PastJob, forgotten: Forgotten, patience: float
) -> ViewSet:
    """Return the views as they were at the job's position, open; a directory that is not to be kept is removed."""
    root = opened.root / PAST / f"{job.position}-{time.monotonic_ns()}"
    making = _Making(events, opened, job, forgotten, patience)
    try:
        return await making.run(root)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)
        raise


class _Making:
    def __init__(
        self, events: EventReader, opened: OpenProfile, job: PastJob, forgotten: Forgotten, patience: float
    ) -> None:
        self._events, self._opened, self._job = events, opened, job
        self._forgotten, self._patience = forgotten, patience

    async def run(self, root: Path) -> ViewSet:
        """Replay, take out, and open what was made."""
        job, log, indexing = self._job, self._events.log, self._opened.indexing
        job.check_wanted(self._patience)
        end, job.total = await log.last_position(), await log.count_after(0, job.profile)
        plan = self._plan()
        building = await asyncio.to_thread(Building, root, plan, indexing, self._opened.growth)
        try:
            await self._replay(building)
            await self._take_out(building, end)
            await asyncio.to_thread(building.finish)
            job.check_wanted(self._patience)
            return await asyncio.to_thread(
                ViewSet, root, plan.generations, indexing, building.parts, self._opened.growth
            )
        except BaseException:
            await asyncio.to_thread(building.close)
            raise

    def _plan(self) -> Plan:
        return Plan(
            id=str(self._job.position),
            profile=self._job.profile,
            state="running",
            views=VIEWS,
            generations=dict.fromkeys(VIEWS, _GENERATION),
            reason="as of",
            model=self._opened.indexing.model,
            dimension=self._opened.indexing.dimension,
        )

    async def _replay(self, building: Building) -> None:
        """Apply everything up to the point but what is forgotten by now."""
        after = 0
        while after < self._job.position:
            self._job.check_wanted(self._patience)
            part = await self._events.read(after, _BATCH, self._job.profile)
            for reason in part.poison.values():
                raise DamagedError("an event of the log cannot be read", expected="a readable event", found=reason)
            before = [one for one in part.envelopes if one.position <= self._job.position]
            kept = [left for one in before if (left := self._left_of(one)) is not None]
            await asyncio.to_thread(building.apply, kept)
            self._job.done += len(before)
            if part.position == after:
                return
            after = part.position

    def _left_of(self, envelope: Envelope) -> Envelope | None:
        """Return an event without the words that are forgotten, None where it is what was forgotten."""
        match envelope.data:
            case MessageRecorded(message=id_) | MemoryRemembered(memory=id_) | MemoryRestored(memory=id_):
                return None if self._forgotten.hits((id_,)) else envelope
        found = redacted(envelope.data, envelope.position, self._forgotten)
        return envelope if found is None else msgspec.structs.replace(envelope, data=found.event)

    async def _take_out(self, building: Building, end: int) -> None:
        """Apply what ended content after the point, and the vectors that were still to come."""
        waiting = await asyncio.to_thread(_waiting, building)
        topics, after = FORGETTING_TOPICS | ({_VECTORS} if waiting else set()), self._job.position
        while after < end:
            self._job.check_wanted(self._patience)
            entries = await self._events.log.read(after, _BATCH, self._job.profile)
            if not entries:
                return
            part = await self._events.decode([one for one in entries if one.topic in topics], entries[-1].position)
            for reason in part.poison.values():
                raise DamagedError("an event of the log cannot be read", expected="a readable event", found=reason)
            wanted = [
                one
                for one in part.envelopes
                if not isinstance(one.data, EmbeddingComputed) or one.data.embedding in waiting
            ]
            await asyncio.to_thread(building.apply, wanted)
            self._job.done += len(entries)
            after = part.position


def _waiting(building: Building) -> frozenset[str]:
    assert building.ledger is not None  # noqa: S101 -- every view is made
    return frozenset(one.embedding for one in building.ledger.pending_embeddings(building.ledger.counts().pending))

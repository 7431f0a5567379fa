"""The verifier: a new memory is held against older ones like it, after it was acknowledged and once.

Until it has spoken both are live. What a judge said is recorded with what follows from it, in one step.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial

import structlog

from domain.errors import UmbrielError
from domain.ports import Judge
from gateways.service.aggregates import change_many
from gateways.service.context import Core
from gateways.service.likeness import Alike, alike, is_item, restates
from gateways.service.models import Models, answered
from gateways.service.profiles import OpenProfile
from gateways.service.rounds import ProfileWorker
from gateways.service.verdicts import Judged, Verdict, in_order
from projections.ledger import MemoryRecord
from projections.off import OffView
from projections.vectors import VectorView

__all__ = ["VerifierWorker"]

_log = structlog.get_logger(__name__)
_AT_ONCE = 200


class VerifierWorker(ProfileWorker):
    """Judges the new memories of the profiles it is told about, oldest first."""

    def __init__(self, core: Core, models: Models) -> None:
        super().__init__("verifier", parallel=core.settings.extraction.profiles)
        self._core = core
        self._models = models
        self._limits = core.settings.verifier
        self._tries: dict[str, int] = {}

    async def _work(self, name: str) -> bool:
        async with self._core.profiles.use(name) as profile:
            views, position = profile.views, 0
            if views.stopped or isinstance(views.vectors, OffView):
                return False
            if not (await self._core.in_thread(views.ledger.settings)).verifier.enabled:
                return False
            look = partial(views.ledger.unjudged, _AT_ONCE, now=datetime.now(UTC))
            found = await self._core.in_thread(look)
            for memory in found:
                done = await self._try(profile, memory, views.vectors)
                if done is None:
                    return False
                position = max(position, done)
            # The ledger knows what is judged once the reader has come by.
            await self._core.reader.wait_for(position, self._core.settings.wait_seconds)
            return len(found) == _AT_ONCE

    async def _try(self, profile: OpenProfile, memory: MemoryRecord, vectors: VectorView) -> int | None:
        """Judge one memory and return the position of the record; None when it is to be tried again later.

        A judge that stays silent is not waited for for ever: the local one is asked instead, and the record says so.
        """
        if not await self._core.in_thread(lambda: _is_comparable(profile, memory, vectors)):
            # Its vectors wake us. Younger memories wait, for they are to be held against it.
            return None
        settings = await self._core.in_thread(profile.views.ledger.settings)
        judge = self._models.judge(profile.name, settings.data_flow)
        try:
            verdict = await self._judge(profile, memory, vectors, judge)
        except UmbrielError as error:
            tries = self._tries.get(memory.id, 0) + 1
            if error.retryable and tries < self._limits.tries:
                self._tries[memory.id] = tries
                self._queue.wake_later(profile.name, self._limits.pause_seconds * 2 ** (tries - 1))
                _log.warning("verifier_delayed", profile=profile.name, memory=memory.id, tries=tries)
                return None
            _log.warning("judge_failed", profile=profile.name, memory=memory.id, reason=error.code)
            reason = f"{judge.name} did not answer: {error.code}"
            verdict = await self._locally(profile, memory, vectors, reason)
        self._tries.pop(memory.id, None)
        now = datetime.now(UTC)
        _, position = await change_many(self._core, lambda loaded: verdict.decide(loaded, profile, self._limits, now))
        return position

    async def _locally(self, profile: OpenProfile, memory: MemoryRecord, vectors: VectorView, reason: str) -> Verdict:
        judge = self._models.local_judge
        try:
            return await self._judge(profile, memory, vectors, judge, reason=reason)
        except UmbrielError as error:
            return Verdict(memory=memory, rule=judge.rule, reason=f"{reason}; {judge.name} neither: {error.code}")

    async def _judge(
        self, profile: OpenProfile, memory: MemoryRecord, vectors: VectorView, judge: Judge, *, reason: str = ""
    ) -> Verdict:
        if restates(memory):
            return Verdict(memory=memory, reason="it restates what a day came to", rule=judge.rule)
        if is_item(memory):
            return Verdict(memory=memory, reason="it is an item of a store", rule=judge.rule)
        ledger = profile.views.ledger
        others = await self._core.in_thread(lambda: alike(ledger, vectors, memory, self._limits))
        if not others:
            why = reason or ("" if vectors.vector_of(memory.id) else "it has no vectors")
            return Verdict(memory=memory, reason=why, rule=judge.rule)
        opinions = await asyncio.gather(*(self._opinion(profile, memory, one, judge) for one in others))
        # A judge that passes questions on says who answered.
        said = [one.opinion for one in opinions]
        return Verdict(
            memory=memory,
            judged=opinions,
            rule=next((one.rule for one in said if one.rule), judge.rule),
            model=next((one.model for one in said if one.model), judge.name),
            reason=reason,
        )

    async def _opinion(self, profile: OpenProfile, memory: MemoryRecord, other: Alike, judge: Judge) -> Judged:
        later, earlier = in_order(memory, other.memory)
        answer = judge.judge(later, earlier, cosine=other.cosine, profile=profile.name)
        return Judged(other, await answered(judge.name, answer, seconds=self._limits.judge_seconds))


def _is_comparable(profile: OpenProfile, memory: MemoryRecord, vectors: VectorView) -> bool:
    """Whether a memory has its vectors, or will never have any."""
    if vectors.vector_of(memory.id) is not None:
        return True
    # What the ledger waits for no more has come to the vectors as soon as they are as far.
    position = profile.views.ledger.position
    return not profile.views.ledger.waiting([memory.id]) and vectors.position >= position

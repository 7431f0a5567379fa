"""The embedding worker: what waits in the ledgers is embedded, and the vectors become events."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from domain.envelope import Actor, Envelope
from domain.errors import ConflictError, ErasedError, UmbrielError
from domain.events import EmbeddingComputed, EmbeddingFailed, Event
from domain.ids import originator_id
from domain.ports import Embedded, Embedder
from domain.settings import Reaches
from gateways.service.events import EventReader
from gateways.service.models import KEPT, Refused, passes, unheard
from gateways.service.profiles import OpenProfile, Profiles
from gateways.service.rounds import ProfileWorker
from projections.ledger import Pending

__all__ = ["EmbeddingWorker", "Retried"]

_WORKER = Actor("embedding-worker", "service")
_RETRIED_AT_ONCE = 10_000


class Retried(msgspec.Struct, frozen=True):
    """What became of embeddings that had failed: how many were tried, how many came, why the others did not."""

    tried: int
    computed: int
    reasons: list[str]


class EmbeddingWorker(ProfileWorker):
    """Embeds pending texts of the profiles it is told about, a batch at a time.

    What is pending follows from the ledger, so a crash loses nothing; the id of an embedding is a keyed
    hash of its text, so two workers write it once.
    """

    def __init__(
        self,
        events: EventReader,
        profiles: Profiles,
        embedder: Embedder,
        *,
        batch: int,
        reaches: Reaches = "local",
        refused: Refused = unheard,
    ) -> None:
        super().__init__("embedding")
        self._events = events
        self._profiles = profiles
        self._embedder = embedder
        self._batch = batch
        self._reaches = reaches
        self._refused = refused
        self._written: dict[str, set[str]] = {}

    async def _work(self, name: str) -> bool:
        async with self._profiles.use(name) as profile:
            if not self._fits(profile):
                return False  # a rebuild embeds for the model there is now
            written = self._written.get(name, set())
            found = await asyncio.to_thread(profile.views.ledger.pending_embeddings, self._batch + len(written))
            # The ledger learns of an embedding when the reader comes by, so what was just written is passed over.
            fresh = {one.embedding: one for one in found if one.embedding not in written}
            # What the ledger no longer waits for needs no remembering.
            written.intersection_update(one.embedding for one in found)
            if not written:
                self._written.pop(name, None)
            if not fresh:
                return False
            pending = list(fresh.values())[: self._batch]
            await self.embed(profile, pending)
            self._written.setdefault(name, written).update(one.embedding for one in pending)
            return True

    def _fits(self, profile: OpenProfile) -> bool:
        indexing = profile.views.indexing
        return (indexing.model, indexing.dimension) == (self._embedder.model, self._embedder.dimension)

    async def embed(self, profile: OpenProfile, pending: Sequence[Pending]) -> None:
        """Embed these texts with the worker's model and append the vectors, or why there are none, as events."""
        results = await asyncio.to_thread(self._results, profile, pending)
        envelopes = [self._envelope(profile, one, result) for one, result in zip(pending, results, strict=True)]
        try:
            await self._events.append(envelopes, expected=0)
        except (ConflictError, ErasedError):
            for envelope in envelopes:
                await self._append_one(envelope)

    async def _append_one(self, envelope: Envelope) -> None:
        try:
            await self._events.append([envelope], expected=0)
        except (ConflictError, ErasedError):
            return

    async def retry(self, profile: OpenProfile) -> Retried:
        """Embed again what failed before. What succeeds now is one more event after the failure, and counts."""
        failed = await asyncio.to_thread(profile.views.ledger.pending_embeddings, _RETRIED_AT_ONCE, state="failed")
        computed, reasons = 0, []
        for start in range(0, len(failed), self._batch):
            part = failed[start : start + self._batch]
            results = await asyncio.to_thread(self._results, profile, part)
            reasons += [result for result in results if isinstance(result, str)]
            # A failure for the same reason is no news.
            news = [(one, new) for one, new in zip(part, results, strict=True) if new != one.reason]
            computed += await self._append_again(profile, news)
        return Retried(len(failed), computed, reasons)

    async def _append_again(self, profile: OpenProfile, news: Sequence[tuple[Pending, Embedded | str]]) -> int:
        envelopes = [self._envelope(profile, one, result) for one, result in news]
        heads = await self._events.log.heads([one.originator_id for one in envelopes])
        computed = 0
        for envelope in envelopes:
            head = heads.get(envelope.originator_id)
            version, expected = (head.version + 1, head.position) if head else (1, 0)
            again = msgspec.structs.replace(envelope, originator_version=version)
            # When another instance was first, its result is as good as this one.
            with suppress(ConflictError, ErasedError):
                await self._events.append([again], expected=expected)
            computed += isinstance(envelope.data, EmbeddingComputed)
        return computed

    def _results(self, profile: OpenProfile, pending: Sequence[Pending]) -> list[Embedded | str]:
        """Embed what may go to the model; what may not has the policy as its reason."""
        if self._reaches == "local":
            return self._vectors([one.text for one in pending])
        flow = profile.views.ledger.settings().data_flow
        limits = [flow.messages if one.kind == "message" else flow.memories for one in pending]
        sent = [
            passes(
                self._refused,
                profile.name,
                subject="messages" if one.kind == "message" else "memories",
                provider=self._embedder.model,
                limit=limit,
                reaches=self._reaches,
            )
            for one, limit in zip(pending, limits, strict=True)
        ]
        came = iter(self._vectors([one.text for one, goes in zip(pending, sent, strict=True) if goes]))
        return [next(came) if goes else KEPT for goes in sent]

    def _vectors(self, texts: Sequence[str]) -> list[Embedded | str]:
        """Embed texts together; when the model fails on one of them, each alone, the reason for those that fail."""
        try:
            return list(self._embedder.embed(texts))
        except Exception as error:
            if isinstance(error, UmbrielError) and error.retryable:
                raise  # it is not these texts that are at fault
            if len(texts) == 1:
                return [f"{type(error).__name__}: {error}"]
            return [result for text in texts for result in self._vectors([text])]

    def _envelope(self, profile: OpenProfile, pending: Pending, result: Embedded | str) -> Envelope:
        model, dimension = self._embedder.model, self._embedder.dimension
        event: Event
        if isinstance(result, str):
            event = EmbeddingFailed(embedding=pending.embedding, model=model, reason=result)
        else:
            event = EmbeddingComputed(
                embedding=pending.embedding,
                model=model,
                dimension=dimension,
                chunks=result.chunks,
                vectors=result.vectors,
            )
        return Envelope(
            originator_id=originator_id(profile.name, "embedding", pending.embedding),
            originator_version=1,
            event_id=uuid.uuid4().hex,
            recorded_at=datetime.now(UTC),
            actor=_WORKER,
            data=event,
            key_scope=pending.key_scope,
        )

"""Merging: what says the same becomes one memory, which the others are superseded by, in one atomic append.

The decision is recorded with what follows from it, under an id of the profile, the day and the memories: killed
anywhere, a pass has either done a merge or not begun it, and two services never do one twice. Nothing is added: of
several live memories one is left, as it was or as its next version.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial

import msgspec
import structlog

from domain.envelope import Actor
from domain.errors import UmbrielError
from domain.events import MemoriesKept, MemoriesMerged
from domain.kernel import Context
from domain.memory import Memory, Version
from domain.merging import Comparer, Worder
from domain.passes import CONSOLIDATION, Upkeep, upkeep_id
from domain.settings import ProfileSettings
from domain.upkeep import day_of
from gateways.service.aggregates import Loaded, change, change_many, load
from gateways.service.clusters import Cluster, clusters
from gateways.service.context import Core
from gateways.service.models import Models, answered
from gateways.service.profiles import OpenProfile
from projections.ledger import MemoryRecord
from projections.off import OffView

__all__ = ["CONSOLIDATION", "Merged", "Merger"]

_log = structlog.get_logger(__name__)
_WORKER = Actor("consolidation", "service")
_WORD_SECONDS = 120.0


class Merged(msgspec.Struct, frozen=True):
    """What a merge did: the memory that stands, the model that worded it (if any), and those that it superseded."""

    memory: str
    model: str
    members: tuple[str, ...]
    cosine: float


class Merger:
    """Merges duplicates of one profile, for the pass of a day; ``most`` is how many merges that day may have."""

    def __init__(
        self,
        core: Core,
        models: Models,
        comparer: Comparer,
        profile: OpenProfile,
        settings: ProfileSettings,
        as_of: datetime,
    ) -> None:
        self._core, self._comparer = core, comparer
        self._profile, self._settings, self._as_of = profile, settings, as_of
        self._worder = models.worder(profile.name, settings.data_flow)
        #: how often a model may still be asked
        self._questions = 2 * settings.consolidation.merges
        self._day = day_of(as_of)
        self._subject = profile.subject(Upkeep.CATEGORY, upkeep_id(CONSOLIDATION, self._day))

    @property
    def model(self) -> str:
        """The model that is asked for wordings, empty without one."""
        return self._worder.name if self._worder is not None else ""

    async def run(self, *, again: bool = False) -> list[Merged]:
        """Merge what is to be merged, as many as the settings allow a day, or (with ``again``) as many once more."""
        upkeep = await load(self._core, Upkeep, self._subject)
        most = self._settings.consolidation.merges + (upkeep.merges(self._day) if again else 0)
        merged: list[Merged] = []
        async with aclosing(self.found()) as found:
            async for cluster in found:
                if upkeep.merges(self._day) + len(merged) >= most:
                    break
                if (done := await self._try(cluster, upkeep, most)) is not None:
                    merged.append(done)
        return merged

    async def _try(self, cluster: Cluster, upkeep: Upkeep, most: int) -> Merged | None:
        if cluster.same:
            return await self._merge(cluster, "", "", most)
        if self._worder is None or upkeep.is_kept(cluster.id) or not self._questions:
            return None
        self._questions -= 1
        text, model = await self._worded(self._worder, cluster)
        return await self._merge(cluster, text, model, most) if text else None

    async def found(self) -> AsyncGenerator[Cluster]:
        """Yield what is to be merged, none where it is switched off or the vectors are off.

        What only a model can find the same comes first; in a smaller cluster the rules may find the same what it did
        not.
        """
        views = self._core.profiles.current(self._profile).views
        ledger, vectors, prefer = views.ledger, views.vectors, self._settings.consolidation
        if not prefer.enabled or isinstance(vectors, OffView):
            return
        seen: set[str] = set()
        for words in (True, False) if self._worder is not None else (False,):
            looked = clusters(ledger, vectors, self._comparer, prefer, self._as_of, words=words)
            while (cluster := await self._core.in_thread(partial(next, looked, None))) is not None:
                if cluster.id not in seen:
                    seen.add(cluster.id)
                    yield cluster

    async def _worded(self, worder: Worder, cluster: Cluster) -> tuple[str, str]:
        """Return a model's words for a cluster and the model; without words where it has none that fit."""
        statements = [one.text for one in (cluster.anchor, *cluster.members)]
        try:
            asked = worder.word(statements, profile=self._profile.name)
            worded = await answered(worder.name, asked, seconds=_WORD_SECONDS)
        except UmbrielError as error:
            _log.warning("wording_failed", profile=self._profile.name, model=worder.name, reason=error.code)
            return "", ""
        reason = "they do not say the same"
        if worded.text:
            reason = self._comparer.objection(worded.text, statements)
            if not reason:
                return worded.text, worded.model
        event = MemoriesKept(
            day=self._day,
            cluster=cluster.id,
            memory=cluster.anchor.id,
            members=tuple(one.id for one in cluster.members),
            model=worded.model,
            reason=reason,
        )
        context = Context(actor=_WORKER, now=datetime.now(UTC))
        await change(self._core, Upkeep, self._subject, lambda upkeep: upkeep.keep(event, context))
        return "", ""

    async def _merge(self, cluster: Cluster, text: str, model: str, most: int) -> Merged | None:
        """Merge a cluster; None when one of it is not what it was, or the day has had its merges."""
        done, position = await change_many(self._core, lambda loaded: self._decide(loaded, cluster, text, model, most))
        await self._core.reader.wait_for(position, self._core.settings.wait_seconds)
        return done

    def _decide(self, loaded: Loaded, cluster: Cluster, text: str, model: str, most: int) -> Merged | None:
        upkeep = loaded.get(Upkeep, self._subject)
        memory = self._memory(loaded, cluster.anchor)
        owners = [self._memory(loaded, one) for one in cluster.members]
        members = [owner.find(one.id) for owner, one in zip(owners, cluster.members, strict=True)]
        context = Context(actor=_WORKER, now=datetime.now(UTC), cause=cluster.id)
        if upkeep.merges(self._day) >= most or not _may_stand(memory.find(cluster.anchor.id), members, text, context):
            return None
        if text:
            stands = memory.reword(cluster.anchor.id, text, members, context, model=model)
        else:
            stands = memory.stand_for(cluster.anchor.id, members, context)
        for owner, one in zip(owners, cluster.members, strict=True):
            owner.supersede(one.id, by=stands, rule=CONSOLIDATION, context=context, model=model)
        gone = tuple(one.id for one in cluster.members)
        event = MemoriesMerged(
            day=self._day,
            cluster=cluster.id,
            memory=stands.written.memory,
            members=(cluster.anchor.id, *gone) if text else gone,
            cosine=cluster.cosine,
            model=model,
        )
        upkeep.merge(event, context)
        return Merged(event.memory, model, event.members, cluster.cosine)

    def _memory(self, loaded: Loaded, record: MemoryRecord) -> Memory:
        return loaded.get(Memory, self._profile.subject(Memory.CATEGORY, record.address))


def _may_stand(anchor: Version, members: Sequence[Version], text: str, context: Context) -> bool:
    """Whether all are as they were found: live, and nobody has laid a hand on them since.

    A person's words go only for a person's; those that are pinned go for nothing.
    """
    versions = (anchor, *members)
    if not all(one.live_at(context.now) and not one.restored for one in versions):
        return False
    if any(one.pinned for one in members) or (text and (anchor.pinned or anchor.author_type == "person")):
        return False
    return anchor.author_type == "person" or all(one.author_type != "person" for one in members)

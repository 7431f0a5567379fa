"""The pass of 04:00 UTC, decay and then merging; and the same when somebody asks for it."""

from __future__ import annotations

from contextlib import aclosing
from datetime import UTC, date, datetime, time

from domain.envelope import Actor
from domain.errors import InvalidInputError, NotFoundError
from domain.events import PassCompleted
from domain.kernel import Context
from domain.merging import Comparer
from domain.passes import Upkeep, upkeep_id
from domain.settings import ProfileSettings
from domain.upkeep import day_of, faded
from gateways.service.aggregates import change
from gateways.service.clusters import Cluster
from gateways.service.context import Core
from gateways.service.daily import DailyPass
from gateways.service.decaying import decay, unused
from gateways.service.merging import CONSOLIDATION, Merged, Merger
from gateways.service.models import Models
from gateways.service.profiles import OpenProfile
from gateways.service.validate import check_time
from umbriel.upkeep import ConsolidateReply, ConsolidateRequest, DecayShown, MergeMember, MergeShown

__all__ = ["ConsolidationPass"]

_WORKER = Actor("consolidation", "service")
#: memories listed of those that would decay, and characters of a text that are shown
_LISTED, _SHOWN_CHARS = 100, 300


class ConsolidationPass(DailyPass):
    """Decay and consolidation of a profile, an hour after reflection."""

    name = CONSOLIDATION
    at = time(4, 0)

    def __init__(self, core: Core, models: Models, comparer: Comparer) -> None:
        self._core, self._models, self._comparer = core, models, comparer

    async def run(self, profile: str, as_of: datetime) -> None:
        """Do what is left of the pass, then record it."""
        async with self._core.profiles.use(profile) as opened:
            settings = await self._settings(opened)
            await self._decay(opened, settings, as_of)
            await self._merger(opened, settings, as_of).run()
            day = day_of(as_of)
            decayed = await self._core.in_thread(lambda: self._core.profiles.current(opened).views.ledger.decays(day))
            await self._complete(opened, day, decayed)

    async def ask(self, profile: str, request: ConsolidateRequest) -> ConsolidateReply:
        """Decay and merge now, or say what would be done, as of any day; the daily pass comes all the same."""
        as_of = _as_of(request)
        if not await self._core.known_profile(profile):
            raise NotFoundError("no such profile", expected="an existing profile", found=profile)
        async with self._core.profiles.use(profile) as opened:
            settings = await self._settings(opened)
            return await (self._preview if request.dry_run else self._now)(opened, settings, as_of)

    async def _now(self, profile: OpenProfile, settings: ProfileSettings, as_of: datetime) -> ConsolidateReply:
        shown = await self._decaying(profile, settings, as_of)
        decayed = await self._decay(profile, settings, as_of)
        merged = await self._merger(profile, settings, as_of).run(again=True)
        counts = {"decayed": decayed, "merged": sum(len(one.members) for one in merged)}
        if any(counts.values()):
            await self._complete(profile, day_of(as_of), decayed, asked=counts)
        merges = await self._core.in_thread(lambda: [self._shown(profile, one) for one in merged])
        return await self._reply(as_of, decayed, shown, merges, dry_run=False)

    async def _preview(self, profile: OpenProfile, settings: ProfileSettings, as_of: datetime) -> ConsolidateReply:
        shown = await self._decaying(profile, settings, as_of)
        merges: list[MergeShown] = []
        merger = self._merger(profile, settings, as_of)
        async with aclosing(merger.found()) as found:
            async for cluster in found:
                if len(merges) >= settings.consolidation.merges:
                    break
                merges.append(_would(cluster, merger.model))
        return await self._reply(as_of, len(shown), shown, merges, dry_run=True)

    # -- the parts ------------------------------------------------------------------------------

    async def _settings(self, profile: OpenProfile) -> ProfileSettings:
        """Return the settings of a profile, once its views know everything written until now."""
        core = self._core
        await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
        profile = core.profiles.current(profile)
        core.check_running(profile)
        return await core.in_thread(profile.views.ledger.settings)

    async def _decay(self, profile: OpenProfile, settings: ProfileSettings, as_of: datetime) -> int:
        done = await decay(self._core, profile, settings, as_of)
        await self._core.reader.wait_for(done.position, self._core.settings.wait_seconds)
        return done.count

    async def _decaying(self, profile: OpenProfile, settings: ProfileSettings, as_of: datetime) -> list[DecayShown]:
        """Return what decays, and to what."""

        def work() -> list[DecayShown]:
            rule = settings.decay
            return [
                DecayShown(one.id, one.text[:_SHOWN_CHARS], lower)
                for page in unused(self._core, profile, settings, as_of)
                for one in page
                if (lower := faded(one.confidence, rule)) < one.confidence
            ]

        return await self._core.in_thread(work)

    def _merger(self, profile: OpenProfile, settings: ProfileSettings, as_of: datetime) -> Merger:
        return Merger(self._core, self._models, self._comparer, profile, settings, as_of)

    async def _complete(
        self, profile: OpenProfile, day: str, decayed: int, *, asked: dict[str, int] | None = None
    ) -> None:
        subject = profile.subject(Upkeep.CATEGORY, upkeep_id(CONSOLIDATION, day))
        context = Context(actor=_WORKER, now=datetime.now(UTC))

        def complete(upkeep: Upkeep) -> bool:
            counts = asked or {"decayed": decayed, "merged": upkeep.merged(day)}
            event = PassCompleted(name=CONSOLIDATION, day=day, counts=counts, scheduled=asked is None)
            return upkeep.complete(event, context)

        await change(self._core, Upkeep, subject, complete)

    def _shown(self, profile: OpenProfile, merged: Merged) -> MergeShown:
        ledger = self._core.profiles.current(profile).views.ledger
        found = ledger.memories([merged.memory, *merged.members])
        texts = {
            id_: found[id_].text[:_SHOWN_CHARS] if id_ in found else "" for id_ in (merged.memory, *merged.members)
        }
        return MergeShown(
            memory=merged.memory,
            text=texts[merged.memory],
            members=[MergeMember(one, texts[one]) for one in merged.members],
            cosine=merged.cosine,
            model=merged.model,
        )

    async def _reply(
        self, as_of: datetime, decayed: int, shown: list[DecayShown], merges: list[MergeShown], *, dry_run: bool
    ) -> ConsolidateReply:
        position = self._core.positions.show(await self._core.events.log.last_position())
        return ConsolidateReply(
            day=day_of(as_of),
            dry_run=dry_run,
            decayed=decayed,
            position=position,
            decays=shown[:_LISTED],
            merges=merges,
        )


def _would(cluster: Cluster, model: str) -> MergeShown:
    return MergeShown(
        memory=cluster.anchor.id,
        text=cluster.anchor.text[:_SHOWN_CHARS] if cluster.same else "",
        members=[MergeMember(one.id, one.text[:_SHOWN_CHARS]) for one in cluster.members],
        cosine=cluster.cosine,
        model="" if cluster.same else model,
    )


def _as_of(request: ConsolidateRequest) -> datetime:
    now = datetime.now(UTC)
    if not request.day:
        return now
    if not request.dry_run:
        raise InvalidInputError("only a dry run is as of another day", expected="dry_run", found=request.day[:40])
    try:
        day = datetime.combine(date.fromisoformat(request.day), now.timetz())
    except ValueError as error:
        raise InvalidInputError("not a day", expected="a day as 2026-01-31", found=repr(request.day[:40])) from error
    check_time(day, "day")
    return day

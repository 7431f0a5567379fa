"""The pass of 04:00 UTC: decay, then what says the same becomes one memory."""

from __future__ import annotations

from datetime import UTC, datetime, time

from domain.envelope import Actor
from domain.events import PassCompleted
from domain.kernel import Context
from domain.merging import Comparer
from domain.passes import Upkeep, upkeep_id
from domain.settings import ProfileSettings
from domain.upkeep import day_of
from gateways.service.aggregates import change
from gateways.service.context import Core
from gateways.service.daily import DailyPass
from gateways.service.decaying import decay
from gateways.service.merging import CONSOLIDATION, Merger
from gateways.service.models import Models
from gateways.service.profiles import OpenProfile

__all__ = ["ConsolidationPass"]

_WORKER = Actor("consolidation", "service")


class ConsolidationPass(DailyPass):
    """Decay and consolidation of a profile, an hour after reflection."""

    name = CONSOLIDATION
    at = time(4, 0)

    def __init__(self, core: Core, models: Models, comparer: Comparer) -> None:
        self._core, self._models, self._comparer = core, models, comparer

    async def run(self, profile: str, as_of: datetime) -> None:
        """Do what is left of the pass, then record it."""
        core, day = self._core, day_of(as_of)
        async with core.profiles.use(profile) as opened:
            settings = await self._settings(opened)
            done = await decay(core, opened, settings, as_of)
            await core.reader.wait_for(done.position, core.settings.wait_seconds)
            await Merger(core, self._models, self._comparer, opened, settings, as_of).run()
            subject = opened.subject(Upkeep.CATEGORY, upkeep_id(CONSOLIDATION, day))
            decayed = await core.in_thread(lambda: core.profiles.current(opened).views.ledger.decays(day))
            context = Context(actor=_WORKER, now=datetime.now(UTC))

            def complete(upkeep: Upkeep) -> bool:
                counts = {"decayed": decayed, "merged": upkeep.merged(day)}
                return upkeep.complete(PassCompleted(name=CONSOLIDATION, day=day, counts=counts), context)

            await change(core, Upkeep, subject, complete)

    async def _settings(self, profile: OpenProfile) -> ProfileSettings:
        """Return the settings of a profile, once its views know everything written until now."""
        core = self._core
        await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
        profile = core.profiles.current(profile)
        core.check_running(profile)
        return await core.in_thread(profile.views.ledger.settings)

"""Recall as of a point of the past: asked of the views as they were then, under the grants and policies of now."""

from __future__ import annotations

import msgspec

from domain.grants import Reach
from domain.settings import ProfileSettings
from gateways.service.analysing import prepared
from gateways.service.context import Caller, Core
from gateways.service.inspector import noted_as
from gateways.service.preferences import shown_then
from gateways.service.profiles import OpenProfile
from gateways.service.reading import reading_then
from gateways.service.reads import Found, local_recall
from gateways.service.recalling import query_of, reply_of
from gateways.service.served import HandedOut
from gateways.service.validate import check_recall
from projections.channels import Embed
from projections.ledger import AsOf, Ledger
from projections.recall import RecallQuery
from umbriel.types import RecallReply, RecallRequest

__all__ = ["recall_then"]


async def recall_then(
    core: Core, handed_out: HandedOut, caller: Caller, profile: str, request: RecallRequest
) -> tuple[RecallReply, RecallRequest]:
    """Return what the views of then answer, and the request as it was understood: dates count from the clock of then.

    Weights, links and what retention showed are those of then; what may be read, what may leave for a provider and
    what retention leaves out are as they are now. The local views answer, whichever provider the profile asks now. What
    is handed out is on record, and counts as no access. Raises BuildingError while the views of then are being made.
    """
    request, reach = check_recall(request, core.settings.limits), caller.reach

    async def ask(opened: OpenProfile, as_of: AsOf | None) -> tuple[RecallReply, RecallRequest]:
        assert as_of is not None  # noqa: S101 -- the request names a point
        ledger = opened.views.ledger
        dated = msgspec.structs.replace(request, reference_date=request.reference_date or as_of.clock)
        query = query_of(dated, reach)
        position = await core.in_thread(lambda: ledger.last_event(as_of.position))
        asked = await prepared(core, opened, reach, query, fallback=True)
        async with core.past.use(profile, position) as then:
            search = _Search(core, ledger, then, reach, as_of)
            found = await core.in_thread(lambda: search.run(asked.query, asked.embed))
        reply = reply_of(
            found.answer,
            dated,
            positions=core.positions,
            position=as_of.position,
            limits=core.settings.limits,
            off={**then.views.off, **found.off},
            analysis=asked.shown if request.explain or asked.missed else None,
        )
        handed_out.note(
            found.set_to.access,
            profile,
            caller,
            verb=noted_as(request),
            query=request.query,
            results=[one.id for one in (*reply.suppressions, *reply.results)],
            contact=request.contact,
        )
        return reply, dated

    # What was complete then does not wait for what came since.
    return await reading_then(core, profile, request.as_of, request.at_least, ask)


class _Search(msgspec.Struct, frozen=True):
    """The views of then, with what now says about who may read them and where a query may go."""

    core: Core
    ledger: Ledger
    then: OpenProfile
    reach: Reach
    as_of: AsOf

    def run(self, query: RecallQuery, embed: Embed) -> Found:
        """Ask the views of then."""
        query = msgspec.structs.replace(query, unheard=self._unheard(query))
        return local_recall(
            self.core,
            self.then,
            query,
            self._settings(),
            embed=embed,
            now=self.as_of.clock,
            since=shown_then(self.ledger, self.as_of),
        )

    def _settings(self) -> ProfileSettings:
        now = self.ledger.settings()
        return msgspec.structs.replace(self.then.views.ledger.settings(), data_flow=now.data_flow, access=now.access)

    def _unheard(self, query: RecallQuery) -> frozenset[str]:
        """Return the sessions that belonged to whom was asked about, and now belong to somebody out of reach."""
        if self.reach.reads is None or not query.contact:
            return frozenset()
        past = self.then.views.ledger
        sessions = past.session_names(past.linked(query.contact, within=self.reach.reads))
        return frozenset(sessions).difference(self.ledger.session_names(tuple(self.reach.reads)))

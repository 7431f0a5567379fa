"""Summaries made to stand for what a context has no room for, after a context was asked for.

What is missing follows from the next context, so a crash loses nothing but time. A range has one overlay whoever makes
it: the conversation takes the first. Before its words are out of sight a stretch is read for memories once more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import structlog

from domain.answers import Summary
from domain.conversation import Conversation
from domain.envelope import Actor
from domain.errors import UmbrielError
from domain.events import OverlayAdded, SummaryRewritten
from domain.fence import unfenced
from domain.history import cut_to
from domain.ids import digest128
from domain.kernel import Context
from domain.settings import DataFlow
from domain.tokens import estimated_tokens
from domain.transcript import Line
from gateways.service.aggregates import change
from gateways.service.context import Core, Missing
from gateways.service.extracting import ExtractionWorker
from gateways.service.models import Models, answered
from gateways.service.profiles import OpenProfile
from gateways.service.rounds import ProfileWorker
from gateways.service.stretches import stretch_of_messages
from projections.ledger import MessageRecord
from projections.ledger.episodes import OverlayRecord

__all__ = ["CoveringWorker"]

Decide = Callable[[Conversation, Context], bool]
_WORKER = Actor("summariser", "service")
_NOTHING = "(nothing was said in words)"
_log = structlog.get_logger(__name__)


class CoveringWorker(ProfileWorker):
    """Makes overlays and summaries of the sessions it is told about."""

    def __init__(self, core: Core, models: Models, extraction: ExtractionWorker) -> None:
        super().__init__("covering")
        self._core = core
        self._models = models
        self._extraction = extraction
        self._limits = core.settings.history
        self._missing: dict[str, dict[str, Missing]] = defaultdict(dict)

    def cover(self, profile: str, missing: Missing) -> None:
        """Make what a context found missing, soon; the latest wish of a session counts."""
        self._missing[profile][missing.session] = missing
        self.wake(profile)

    async def _work(self, profile: str) -> bool:
        sessions = self._missing.get(profile)
        if not sessions:
            return False
        session, missing = next(iter(sessions.items()))
        # To the end: one that cannot be covered now holds up none of the others.
        sessions[session] = sessions.pop(session)
        async with self._core.profiles.use(profile) as opened:
            self._core.check_running(opened)
            flow = (await self._core.in_thread(opened.views.ledger.settings)).data_flow
            await self._cover(opened, missing, flow)
            if missing.overflowed:
                await self._rewrite(opened, session, flow)
        if sessions.get(session) is missing:
            del sessions[session]
        return bool(sessions)

    async def _cover(self, profile: OpenProfile, missing: Missing, flow: DataFlow) -> None:
        core, ledger = self._core, profile.views.ledger
        messages = await core.in_thread(lambda: ledger.messages_between(missing.session, missing.first, missing.last))
        lost = await core.in_thread(lambda: ledger.lost_overlays(missing.session))
        if not messages:
            return
        summary = await self._summary(profile.name, flow, _lines(messages), "", self._tokens(messages))
        event = OverlayAdded(
            session=missing.session,
            overlay=digest128("overlay", missing.session, messages[0].id, messages[-1].id, *lost),
            messages=tuple(one.id for one in messages),
            summary=summary.text,
            tokens=estimated_tokens(summary.text),
            model=summary.model,
            replaces=tuple(lost),
        )
        await self._write(profile.name, missing.session, lambda one, context: one.add_overlay(event, context))
        await self._flush(profile, messages)

    async def _rewrite(self, profile: OpenProfile, session: str, flow: DataFlow) -> None:
        """Write the summary of everything anew, from the one before and the overlays since."""
        core, ledger = self._core, profile.views.ledger
        # The messages first: one that is forgotten from here on makes the summary one of too many, which is not taken.
        places = await core.in_thread(lambda: ledger.outline(session))
        overlays = await core.in_thread(lambda: ledger.overlays(session))
        before = next(iter(await core.in_thread(lambda: ledger.summaries(session, 1))), None)
        upto, earlier = (before.upto, before.summary) if before else (0, "")
        newer = [one for one in overlays if one.last_position > upto]
        if not newer:
            return
        last = newer[-1].last_position
        (ending,) = await core.in_thread(lambda: ledger.messages_between(session, last, last)) or (None,)
        count = len([one for one in places if one <= last])
        if ending is None:
            return
        summary = await self._summary(profile.name, flow, _said(newer), earlier, self._limits.summary_tokens)
        event = SummaryRewritten(
            session=session,
            summary=summary.text,
            last=ending.id,
            messages=count,
            tokens=estimated_tokens(summary.text),
            model=summary.model,
        )
        await self._write(profile.name, session, lambda one, context: one.rewrite_summary(event, context))

    async def _summary(self, profile: str, flow: DataFlow, lines: Sequence[Line], earlier: str, tokens: int) -> Summary:
        """Return a summary by the model that may be asked, by the local one where that does not answer."""
        asked, local = self._models.summariser(profile, flow), self._models.local_summariser
        try:
            made = asked.summarise(lines, earlier=earlier, tokens=tokens, profile=profile)
            summary = await answered(asked.name, made, seconds=self._limits.seconds)
        except UmbrielError as error:
            _log.warning("summary_made_locally", profile=profile, model=asked.name, reason=error.code)
            summary = await local.summarise(lines, earlier=earlier, tokens=tokens, profile=profile)
        return Summary(text=cut_to(summary.text.strip() or _NOTHING, tokens * 2)[0], model=summary.model)

    def _tokens(self, messages: Sequence[MessageRecord]) -> int:
        said = sum(estimated_tokens(one.content) for one in messages)
        return min(self._limits.overlay_most, max(self._limits.overlay_least, int(said * self._limits.overlay_part)))

    async def _write(self, profile: str, session: str, decide: Decide) -> None:
        aggregate_id = await self._core.events.subject_id(profile, Conversation.CATEGORY, session)
        context = Context(actor=_WORKER, now=datetime.now(UTC))
        _, position = await change(self._core, Conversation, aggregate_id, lambda one: decide(one, context))
        await self._core.reader.wait_for(position, self._core.settings.wait_seconds)

    async def _flush(self, profile: OpenProfile, messages: list[MessageRecord]) -> None:
        """Read a stretch for memories once more before its words are out of sight, a few at most."""
        ledger = profile.views.ledger
        settings = (await self._core.in_thread(ledger.settings)).extraction
        if not (settings.enabled and settings.before_compaction):
            return
        limits = self._core.settings.extraction
        stretch = await self._core.in_thread(lambda: stretch_of_messages(ledger, messages, "pre-compaction", limits))
        try:
            await self._extraction.read(profile, stretch, most=self._limits.flushed)
        except UmbrielError as error:
            # The turns were read when they were said; this look is beside that.
            _log.warning("flush_failed", profile=profile.name, reason=error.code)


def _lines(messages: Sequence[MessageRecord]) -> list[Line]:
    """Return messages as a summariser reads them: without what was recalled into them."""
    return [
        Line(index=index, message=one.id, role=one.role, name=one.name, text=text, at=one.at)
        for index, one in enumerate(messages)
        if (text := unfenced(one.content).strip())
    ]


def _said(overlays: Sequence[OverlayRecord]) -> list[Line]:
    return [Line(index=n, message="", role="summary", text=one.summary, at=None) for n, one in enumerate(overlays)]

"""The pass of 03:00 UTC, an hour before consolidation: days that are over are thought about, each once."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from domain.envelope import Actor
from domain.errors import InvalidInputError, NotFoundError, UnavailableError
from domain.events import PassCompleted, ReflectionRecorded
from domain.kernel import Context
from domain.passes import Upkeep, upkeep_id
from domain.upkeep import day_of
from gateways.service.aggregates import change
from gateways.service.context import Core
from gateways.service.daily import DailyPass
from gateways.service.days import end_of
from gateways.service.models import Models
from gateways.service.profiles import OpenProfile
from gateways.service.thinking_back import REFLECTION, Means, ThoughtAbout, thought_about
from umbriel.reflecting import DayShown, ReflectDayReply, ReflectDayRequest, ThoughtShown

__all__ = ["ReflectionPass"]

_WORKER = Actor(REFLECTION, "service")
_NEW = frozenset({"remembered", "superseded", "late"})


class ReflectionPass(DailyPass):
    """Reflection on the days of a profile that are over and were not thought about yet, the last ones."""

    name = REFLECTION
    at = time(3, 0)

    def __init__(self, core: Core, models: Models) -> None:
        self._core, self._models = core, models

    async def run(self, profile: str, as_of: datetime) -> None:
        """Do what is left of the pass, then record it."""
        async with self._core.profiles.use(profile) as opened:
            with_ = await self._with(opened)
            done: list[ThoughtAbout] = []
            if with_.settings.reflection.enabled and self._core.settings.thinking and self._models.reflects:
                for day in await self._days(opened, as_of):
                    if with_.settings.extraction.enabled:
                        await self._until_read(opened, day)
                    done += await thought_about(with_, day)
            await self._complete(opened, day_of(as_of), [event for one in done for event in one.recorded])

    async def ask(self, profile: str, request: ReflectDayRequest) -> ReflectDayReply:
        """Think about one day that is over now, or show what it came to; a dry run shows any day as it is now."""
        day = _asked(request)
        if not self._models.reflects:
            raise UnavailableError("this service does not reflect", expected="one that has what to do it with")
        if not await self._core.known_profile(profile):
            raise NotFoundError("no such profile", expected="an existing profile", found=profile)
        async with self._core.profiles.use(profile) as opened:
            with_ = await self._with(opened)
            done = await thought_about(with_, day, dry_run=request.dry_run)
        position = self._core.positions.show(await self._core.events.log.last_position())
        return ReflectDayReply(day=day, dry_run=request.dry_run, position=position, days=[_shown(one) for one in done])

    async def _with(self, profile: OpenProfile) -> Means:
        """Return what to think with, once the views know everything written until now."""
        core = self._core
        await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
        profile = core.profiles.current(profile)
        core.check_running(profile)
        return Means(core, self._models, profile, await core.in_thread(profile.views.ledger.settings))

    async def _days(self, profile: OpenProfile, as_of: datetime) -> list[str]:
        """Return the days that the pass is about: all since the last one, the last ones where that is long ago."""
        core = self._core
        ledger = core.profiles.current(profile).views.ledger
        records = await core.in_thread(ledger.passes)
        last = next((one.day for one in records if one.scheduled and one.name == REFLECTION), "")
        today = as_of.astimezone(UTC).date()
        first = today - timedelta(days=core.settings.reflection.make_up_days)
        if last:
            first = max(first, date.fromisoformat(last))
        return [(first + timedelta(days=number)).isoformat() for number in range((today - first).days)]

    async def _until_read(self, profile: OpenProfile, day: str) -> None:
        """Give what reads conversations for memories a moment to end with that day; what fails holds nothing up."""
        core, end = self._core, end_of(day)
        if core.thinking is None:
            return

        def read() -> bool:
            ledger = core.profiles.current(profile).views.ledger
            return all(one.last_recorded_at >= end for one in ledger.unread_sessions())

        await core.reader.wait_until(read, core.settings.wait_seconds)

    async def _complete(self, profile: OpenProfile, day: str, recorded: list[ReflectionRecorded]) -> None:
        memories = sum(one.outcome in _NEW for event in recorded for one in event.learnings)
        counts = {"reflections": len(recorded), "memories": memories}
        event = PassCompleted(name=REFLECTION, day=day, counts=counts)
        context = Context(actor=_WORKER, now=datetime.now(UTC))
        subject = profile.subject(Upkeep.CATEGORY, upkeep_id(REFLECTION, day))
        await change(self._core, Upkeep, subject, lambda upkeep: upkeep.complete(event, context))


def _asked(request: ReflectDayRequest) -> str:
    """Return the day that is asked for, yesterday without one; only a day that is over is recorded."""
    today = datetime.now(UTC).date()
    try:
        day = date.fromisoformat(request.day) if request.day else today - timedelta(days=1)
    except ValueError as error:
        raise InvalidInputError("not a day", expected="a day as 2026-01-31", found=repr(request.day[:40])) from error
    if day.year < 1970 or day > today or (day == today and not request.dry_run):  # noqa: PLR2004 -- where times begin
        raise InvalidInputError("the day is not over", expected=f"a day before {today}", found=day.isoformat())
    return day.isoformat()


def _shown(one: ThoughtAbout) -> DayShown:
    draft = one.draft
    of_topic = {event.topic: event.learnings[0] for event in one.recorded if event.learnings}
    return DayShown(
        contact=draft.contact or "",
        messages=draft.lines,
        memories=draft.notes,
        model=draft.model,
        recorded=one.new,
        thoughts=[
            ThoughtShown(
                topic=thought.topic,
                text=thought.text,
                memory=of_topic[thought.topic].memory if thought.topic in of_topic else "",
                sources=list(thought.sources),
                drawn_from=list(thought.drawn_from),
            )
            for thought in one.thoughts
        ],
    )

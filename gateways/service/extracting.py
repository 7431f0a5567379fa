"""The extraction worker: what was said is read for memories after it was acknowledged, each stretch once.

What is to be read follows from the ledger, so a crash loses nothing. What an extractor found and the memories that
follow from it are appended in one step: either all of it happened or nothing, and whoever comes second finds it done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import msgspec
import structlog

from domain.errors import UmbrielError
from domain.transcript import Found, Window
from gateways.extraction.windows import window_of
from gateways.service.context import Core
from gateways.service.models import Models, answered
from gateways.service.profiles import OpenProfile
from gateways.service.recording import Outcome, failed_work, record, record_failure
from gateways.service.rounds import ProfileWorker
from gateways.service.stretches import Stretch, due_in, stretch_of, stretch_of_messages
from projections.ledger import ExtractionRecord, UnreadSession

__all__ = ["ExtractionWorker"]

_log = structlog.get_logger(__name__)
_RETRIED_AT_ONCE = 1_000
#: sessions looked at in one turn, and seconds in which a stretch is put into lines
_SESSIONS = 1_000
_AT_ONCE = 120.0


class _Read(msgspec.Struct, frozen=True):
    """A stretch as it was read, what was found in it, and by whom."""

    window: Window
    found: Found
    model: str


class ExtractionWorker(ProfileWorker):
    """Reads the conversations of the profiles it is told about."""

    def __init__(self, core: Core, models: Models) -> None:
        super().__init__("extraction", parallel=core.settings.extraction.profiles)
        self._core = core
        self._models = models
        self._limits = core.settings.extraction
        self._hurried: dict[str, set[str]] = {}
        self._tries: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._found: dict[str, _Read] = {}

    def hurry(self, profile: str, session: str) -> None:
        """Read what a session holds now, without waiting for an answer in it."""
        self._hurried.setdefault(profile, set()).add(session)
        self._queue.wake(profile)

    def hurries(self, profile: str) -> bool:
        """Whether a session of a profile is to be read at once."""
        return bool(self._hurried.get(profile))

    async def _work(self, name: str) -> bool:
        due, more = await self._due(name)
        for session in due:
            await self._read_session(name, session)
        return more and bool(due)

    async def _read_session(self, name: str, session: UnreadSession) -> None:
        # Lent anew for each: a rebuild that has ended waits until nobody uses the views it replaces.
        async with self._core.profiles.use(name) as profile:
            ledger = profile.views.ledger
            # Before it is read: who hurries from now on means what is said from now on as well.
            in_haste = self._take_haste(name, session.session)
            stretch = await self._core.in_thread(lambda: stretch_of(ledger, session.session, self._limits))
            if stretch is None:
                return
            if self._must_wait(name, stretch) or await self._try(profile, stretch) is None:
                if in_haste:
                    self._hurried[name].add(session.session)
            elif len(stretch.messages) == self._limits.messages or session.messages > len(stretch.messages):
                # More of it than fits one stretch.
                if in_haste and await self._core.in_thread(lambda: bool(ledger.unread(session.session, 1))):
                    self._hurried[name].add(session.session)
                self._queue.wake(name)

    def _take_haste(self, name: str, session: str) -> bool:
        """Whether a session is to be read without waiting for an answer in it; asked once, it is not any more."""
        hurried = self._hurried.get(name, set())
        in_haste = session in hurried
        hurried.discard(session)
        return in_haste

    async def _due(self, name: str) -> tuple[list[UnreadSession], bool]:
        """Return the sessions that are to be read now, and whether there are more than could be looked at."""
        async with self._core.profiles.use(name) as profile:
            ledger = profile.views.ledger
            settings = await self._core.in_thread(ledger.settings)
            if "ledger" in profile.views.stopped or not settings.extraction.enabled:
                return [], False
            unread = await self._core.in_thread(lambda: ledger.unread_sessions(limit=_SESSIONS))
        hurried, due = self._hurried.get(name, set()), []
        for session in unread:
            wait = 0.0 if session.session in hurried else due_in(session, datetime.now(UTC), self._limits)
            if wait > 0:
                self._queue.wake_later(name, wait)
            else:
                due.append(session)
        return due, len(unread) == _SESSIONS

    def _must_wait(self, name: str, stretch: Stretch) -> bool:
        """Whether a stretch failed just now; if so, the profile is looked at again when its pause is over."""
        left = self._not_before.get(stretch.id, 0.0) - asyncio.get_running_loop().time()
        if left > 0:
            self._queue.wake_later(name, left)
        return left > 0

    async def _try(self, profile: OpenProfile, stretch: Stretch) -> Outcome | None:
        """Read a stretch. What may succeed later is tried again; what cannot, or failed too often, is on record.

        What was read is kept until it is recorded: a log that cannot be written costs no second answer.
        """
        tries = self._tries.get(stretch.id, 0) + 1
        try:
            found = self._found.get(stretch.id) or await self._ask(profile, stretch)
        except UmbrielError as error:
            pause = self._limits.pause_seconds * 2 ** (tries - 1)
            self._tries[stretch.id] = tries
            self._not_before[stretch.id] = asyncio.get_running_loop().time() + pause
            if error.retryable and tries < self._limits.tries:
                self._queue.wake_later(profile.name, pause)
                _log.warning("extraction_delayed", profile=profile.name, extraction=stretch.id, tries=tries)
                return None
            model = await self._name(profile)
            outcome = await record_failure(self._core, profile, stretch, error, tries=tries, model=model)
            _log.warning("extraction_failed", profile=profile.name, extraction=stretch.id, reason=error.code)
        else:
            self._found[stretch.id] = found
            outcome = await self._record(profile, stretch, found, tries)
        for kept in (self._found, self._tries, self._not_before):
            kept.pop(stretch.id, None)
        # The ledger knows what is read once the reader has come by.
        position = outcome.position or await self._core.events.log.last_position()
        await self._core.reader.wait_for(position, self._core.settings.wait_seconds)
        return outcome

    async def _name(self, profile: OpenProfile) -> str:
        settings = await self._core.in_thread(profile.views.ledger.settings)
        return self._models.extractor(profile.name, settings.data_flow).value.name

    async def read(self, profile: OpenProfile, stretch: Stretch, *, tries: int = 1, most: int | None = None) -> Outcome:
        """Read a stretch for memories and record what came of it, at most so many; raises what the extractor raises."""
        read = await self._ask(profile, stretch)
        if most is not None:
            found = msgspec.structs.replace(read.found, items=read.found.items[:most])
            read = msgspec.structs.replace(read, found=found)
        return await self._record(profile, stretch, read, tries)

    async def _ask(self, profile: OpenProfile, stretch: Stretch) -> _Read:
        core, ledger = self._core, profile.views.ledger
        flow = (await core.in_thread(ledger.settings)).data_flow
        reader = self._models.extractor(profile.name, flow)
        window = await answered(reader.value.name, core.in_thread(partial(self._window, stretch)), seconds=_AT_ONCE)
        if all(line.context for line in window.lines):
            return _Read(window, Found(), reader.value.name)
        look = partial(ledger.known_keys, stretch.contact, now=datetime.now(UTC))
        known = await core.in_thread(look) if self._models.may_know(reader, profile.name, flow) else []
        answer = reader.value.extract(window, known, profile=profile.name)
        found = await answered(reader.value.name, answer, seconds=self._limits.read_seconds)
        return _Read(window, found, reader.value.name)

    def _window(self, stretch: Stretch) -> Window:
        return window_of(
            stretch.messages, stretch.before, source=stretch.source, contact=stretch.contact, limits=self._limits
        )

    async def _record(self, profile: OpenProfile, stretch: Stretch, read: _Read, tries: int) -> Outcome:
        return await record(self._core, profile, stretch, read.window, read.found, model=read.model, tries=tries)

    async def retry(self, profile: OpenProfile) -> tuple[int, Sequence[str]]:
        """Read again what could not be read; returns how many stretches were tried and why some failed once more."""
        ledger = profile.views.ledger
        failed = await self._core.in_thread(lambda: ledger.failed_extractions(_RETRIED_AT_ONCE))
        reasons = [await self._read_again(profile, one) for one in failed]
        return sum(reason is not None for reason in reasons), [reason for reason in reasons if reason]

    async def _read_again(self, profile: OpenProfile, failed: ExtractionRecord) -> str | None:
        """Return why a stretch failed once more, empty when it did not, None when there is nothing left of it."""
        stretch = await self._failed_stretch(profile, failed)
        if stretch is None:
            return None
        tries = failed.tries + 1
        try:
            await self.read(profile, stretch, tries=tries)
        except UmbrielError as error:
            await record_failure(self._core, profile, stretch, error, tries=tries, model=await self._name(profile))
            return str(error)
        return ""

    async def _failed_stretch(self, profile: OpenProfile, failed: ExtractionRecord) -> Stretch | None:
        work = await failed_work(self._core, profile, failed.id)
        if work is None:
            return None
        ledger = profile.views.ledger

        def stretch() -> Stretch | None:
            by_id = ledger.messages(work.messages)
            messages = [by_id[id_] for id_ in work.messages if id_ in by_id and not by_id[id_].forgotten]
            return stretch_of_messages(ledger, messages, work.source, self._limits) if messages else None

        found = await self._core.in_thread(stretch)
        # The same work, even where some of its messages were forgotten meanwhile.
        return None if found is None else msgspec.structs.replace(found, id=failed.id)

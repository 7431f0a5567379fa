"""The forwarding worker: what profiles that want it say and remember is sent to the managed memory, in its own time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal

import structlog

from domain.envelope import Envelope
from domain.errors import DamagedError, UmbrielError
from domain.settings import ProfileSettings
from gateways.managed import ManagedClient
from gateways.service.context import Core
from gateways.service.models import KEPT, may_go
from gateways.service.policy import passes
from gateways.service.sending import WORK, Sending

__all__ = ["Forwarding", "following"]

_log = structlog.get_logger(__name__)
Stream = Literal["messages", "memories", "forgets"]
_CONTENT: tuple[Literal["messages", "memories"], ...] = ("messages", "memories")
#: Categories whose events may leave something to forward: a change of the settings lets go what waited.
_WAKING = frozenset({"message", "memory", "profile"})
_EVENTS = 256
_LONGEST = 60.0


class Forwarding:
    """Follows each profile's events in three streams, each with a durable position of its own.

    Messages and memories go where the profile's settings say so and its data-flow policy lets them; what may not go
    waits, and goes when it may. Deletions follow always: they carry no content. A profile that fails rests, longer
    each time; nothing else waits for it. After a crash a stretch is sent again, which changes nothing there.
    """

    def __init__(self, core: Core, client: ManagedClient, *, retry_seconds: float = 1.0) -> None:
        self._core = core
        self._settings = client.settings
        self._sending = Sending(core, client)
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._queued: set[str] = set()
        self._working = ""
        self._resting: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self.retry_seconds = retry_seconds

    def wake(self, profile: str) -> None:
        """Look at what a profile has to send soon, or when it has rested."""
        if profile not in self._queued and profile not in self._resting:
            self._queued.add(profile)
            self._queue.put_nowait(profile)

    @property
    def idle(self) -> bool:
        """Whether no profile is waiting for the worker; one that rests after a failure is not."""
        return not self._queued and not self._working

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            profile = self._working = await self._queue.get()
            # Before the work: what comes while it lasts is looked at again.
            self._queued.discard(profile)
            try:
                more = await self._work(profile)
            except (UmbrielError, OSError) as error:
                self._rest(profile, error)
                more = False
            else:
                self._failures.pop(profile, None)
            self._working = ""
            if more:
                self.wake(profile)

    def _rest(self, profile: str, error: Exception) -> None:
        failures = self._failures[profile] = self._failures.get(profile, 0) + 1
        seconds = min(_LONGEST, self.retry_seconds * 2 ** min(failures - 1, 10))
        # What the service said may repeat what it was sent: it is for the status, not for the log.
        reason = error.message if isinstance(error, UmbrielError) else type(error).__name__
        _log.warning("forwarding_delayed", profile=profile, reason=reason, seconds=seconds)
        for subject in _CONTENT:
            self._core.forwarding[profile, subject] = str(error)
        self._resting[profile] = seconds
        asyncio.get_running_loop().call_later(seconds, self._rested, profile)

    def _rested(self, profile: str) -> None:
        self._resting.pop(profile, None)
        self.wake(profile)

    async def _work(self, profile: str) -> bool:
        """Send one stretch of each stream; returns whether there may be more.

        The profile is not lent while something is sent: whoever waits for it must not wait for the service.
        """
        async with self._core.profiles.use(profile) as opened:
            set_to, upto = await self._core.in_thread(opened.views.ledger.settings), self._core.applied(opened)
        more = await self._step(profile, "forgets", upto, self._forgets(profile, set_to))
        for subject in _CONTENT:
            if set_to.provider.forward and await self._may(profile, set_to, subject):
                send = self._sending.messages if subject == "messages" else self._sending.memories
                more = await self._step(profile, subject, upto, partial(send, profile)) or more
        return more

    async def _may(self, profile: str, set_to: ProfileSettings, subject: Literal["messages", "memories"]) -> bool:
        key, reaches = (profile, subject), self._settings.reaches
        if may_go(getattr(set_to.data_flow, subject), reaches):
            self._core.forwarding.pop(key, None)
            return True
        self._core.forwarding[key] = KEPT
        after = await self._position(profile, subject)
        async with self._core.profiles.use(profile) as opened:
            waiting = await self._core.in_thread(lambda: opened.views.ledger.recorded_after(after, subject))
        if waiting:
            passes(self._core, profile, set_to.data_flow, subject, self._settings.name, reaches)
        return False

    async def again(self, profile: str) -> int:
        """Send what the service would not take once more, as far as it may go; returns how much it took.

        A profile that rests goes on at once. Raises UnavailableError when the service does not answer.
        """
        if profile in self._resting:
            self._rested(profile)
        async with self._core.profiles.use(profile) as opened:
            set_to = await self._core.in_thread(opened.views.ledger.settings)
        failed = await self._core.in_thread(lambda: self._core.directory.failed_work(profile))
        taken = 0
        for subject in _CONTENT:
            if set_to.provider.forward and may_go(getattr(set_to.data_flow, subject), self._settings.reaches):
                for one in failed:
                    if one.work.startswith(f"{WORK} {subject} "):
                        taken += await self._sending.again(profile, one)
        return taken

    def _forgets(self, profile: str, set_to: ProfileSettings) -> Callable[[Sequence[Envelope]], Awaitable[None]]:
        resend = set_to.provider.forward and may_go(set_to.data_flow.messages, self._settings.reaches)

        async def send(envelopes: Sequence[Envelope]) -> None:
            await self._sending.forgets(profile, envelopes, resend=resend)

        return send

    async def _position(self, profile: str, stream: Stream) -> int:
        directory, place = self._core.directory, self._settings.destination
        return await self._core.in_thread(lambda: directory.forwarded_to(profile, place, stream))

    async def _step(
        self, profile: str, stream: Stream, upto: int, send: Callable[[Sequence[Envelope]], Awaitable[None]]
    ) -> bool:
        """Send what comes after the stream's position, then move it; returns whether it moved."""
        after = await self._position(profile, stream)
        if after >= upto:
            return False
        part = await self._core.events.read(after, _EVENTS, profile)
        # The views tell what still stands, so nothing is sent that they have not seen.
        ready = [one for one in part.envelopes if one.position <= upto]
        await send(ready)
        if profile in part.poison:
            raise DamagedError("an event cannot be read", found=part.poison[profile])
        target = min(part.position, upto)
        if target <= after:
            return False
        directory, place = self._core.directory, self._settings.destination
        await self._core.in_thread(lambda: directory.set_forwarded(profile, place, stream, target))
        return True


def following(core: Core, client: ManagedClient) -> Forwarding:
    """Return a worker that is woken by what the reader applies, and looks at every profile first."""
    forwarding = Forwarding(core, client)

    def wake(envelopes: list[Envelope]) -> None:
        for profile in {envelope.profile for envelope in envelopes if envelope.data.category() in _WAKING}:
            forwarding.wake(profile)

    core.reader.listeners.append(wake)
    core.forwarded, core.forward_again = lambda: forwarding.idle, forwarding.again
    for record in core.directory.profiles():
        forwarding.wake(record.name)
    return forwarding

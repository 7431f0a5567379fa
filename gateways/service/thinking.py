"""What happens after a write was acknowledged: reading conversations for memories, and judging new memories."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime

from domain.envelope import Envelope
from domain.errors import UnavailableError
from gateways.service.context import Core, Missing
from gateways.service.covering import CoveringWorker
from gateways.service.extracting import ExtractionWorker
from gateways.service.models import Models
from gateways.service.profiles import OpenProfile
from gateways.service.rounds import ProfileWorker
from gateways.service.verifying import VerifierWorker
from projections.ledger import Ledger

__all__ = ["Thinking"]

#: Categories whose events may leave something to read, or to judge.
_READ = frozenset({"message", "profile"})
_JUDGED = frozenset({"memory", "embedding", "profile"})


class Thinking:
    """The workers that think, and the wait for them."""

    def __init__(self, core: Core, models: Models) -> None:
        self._core = core
        self.extraction = ExtractionWorker(core, models)
        self.verifier = VerifierWorker(core, models)
        self.covering = CoveringWorker(core, models, self.extraction)

    @property
    def workers(self) -> tuple[ProfileWorker, ...]:
        """Those that think."""
        return self.extraction, self.verifier, self.covering

    @property
    def shared(self) -> tuple[ProfileWorker, ...]:
        """Those whose work any instance can do; a summary is made where somebody has no room."""
        return self.extraction, self.verifier

    def wake(self, envelopes: Sequence[Envelope]) -> None:
        """Look at the profiles in which something happened."""
        for profile, category in {(one.profile, one.data.category()) for one in envelopes}:
            if category in _READ:
                self.extraction.wake(profile)
            if category in _JUDGED:
                self.verifier.wake(profile)

    def look_again(self, profile: str) -> None:
        """Look at a profile whose views have changed: what it had to think about when they stopped, it still has."""
        self.extraction.wake(profile)
        self.verifier.wake(profile)

    def hurry(self, profile: str, session: str) -> None:
        """Read what a session holds now, without waiting for an answer in it."""
        self.extraction.hurry(profile, session)

    def work(self) -> dict[str, Coroutine[None, None, None]]:
        """Return the workers by name, to be run until they are cancelled."""
        return {
            "extraction": self.extraction.run(),
            "verifier": self.verifier.run(),
            "covering": self.covering.run(),
        }

    @property
    def idle(self) -> bool:
        """Whether nothing is being thought about, or will be soon."""
        return self.extraction.idle and self.verifier.idle and self.covering.idle

    def cover(self, profile: str, missing: Missing) -> None:
        """Let a summary stand for what a context has no room for."""
        self.covering.cover(profile, missing)

    async def settle(self, profile: OpenProfile, position: int, *, session: str = "") -> None:
        """Wait until what was written up to ``position`` is thought through: read (in ``session``), embedded, judged.

        Raises UnavailableError when that takes longer than a wait may.
        """
        core, ends = self._core, time.monotonic() + self._core.settings.wait_seconds
        settings = await core.in_thread(profile.views.ledger.settings)

        def ledger() -> Ledger:
            # A rebuild may put another in its place meanwhile, and only that one learns more.
            return core.profiles.current(profile).views.ledger

        await core.reader.wait_for(position, _left(ends))
        if session and settings.extraction.enabled:
            self.extraction.hurry(profile.name, session)
            await self._until(lambda: not ledger().unread(session, 1), ends, "read for memories")
            position = max(position, await core.events.log.last_position())
        await core.wait_for(profile, position, "complete")
        # Without vectors nothing is compared; it is made up for when they are back.
        if settings.verifier.enabled and "vectors" not in core.profiles.current(profile).views.off:
            self.verifier.wake(profile.name)
            await self._until(
                lambda: ledger().is_judged(position, now=datetime.now(UTC)), ends, "held against older memories"
            )

    async def retry(self, profile: OpenProfile) -> tuple[int, Sequence[str]]:
        """Read again what could not be read; returns how many stretches, and why some failed once more."""
        self.look_again(profile.name)
        return await self.extraction.retry(profile)

    async def _until(self, done: Callable[[], bool], ends: float, what: str) -> None:
        if not await self._core.reader.wait_until(done, _left(ends)):
            raise UnavailableError(
                f"recorded, and not yet {what}: that goes on", expected="an end in time", found="still at work"
            )


def _left(ends: float) -> float:
    return max(0.0, ends - time.monotonic())

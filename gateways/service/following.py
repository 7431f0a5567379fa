"""The worker that sees to what follows from messages forgotten and sessions ended or deleted."""

from __future__ import annotations

from collections.abc import Sequence

from domain.envelope import Envelope
from gateways.service.context import Core
from gateways.service.forgetting import follow_up
from gateways.service.rounds import ProfileWorker

__all__ = ["FollowingWorker"]

#: Categories whose events may entail something.
_WAKING = frozenset({"message.forgotten", "conversation.ended", "conversation.deleted"})
#: Written late, they may rest on what was forgotten.
_LATE = frozenset({"memory.remembered", "extraction.completed", "reflection.recorded"})
#: Copies are told of these, and what restates them ends with them.
_TOLD = frozenset(
    f"memory.{what}" for what in ("forgotten", "retracted", "rejected", "superseded", "expired", "restored")
)


class FollowingWorker(ProfileWorker):
    """Does what a command that was cut short, or a write that came late, has left to do."""

    def __init__(self, core: Core) -> None:
        super().__init__("forgetting")
        self._core = core

    def look(self, envelopes: Sequence[Envelope]) -> None:
        """Look at the profiles in which something may follow from these events."""
        for profile in {one.profile for one in envelopes if one.topic in _WAKING | _LATE | _TOLD}:
            self.wake(profile)

    async def _work(self, profile: str) -> bool:
        async with self._core.profiles.use(profile) as opened:
            if await self._core.in_thread(opened.views.ledger.has_following):
                await follow_up(self._core, opened)
        return False

"""Commands: load → decide → save, in the bounded pool, again after a lost race."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from eventsourcing.persistence import IntegrityError

from domain.errors import ConflictError
from domain.ids import check_profile
from domain.kernel import Aggregate, projector
from domain.profile import Profile
from gateways.service.context import Caller, Core

__all__ = ["change", "ensure_profile", "load"]

A = TypeVar("A", bound=Aggregate)
T = TypeVar("T")
_ATTEMPTS = 20


async def load(core: Core, cls: type[A], aggregate_id: str) -> A:
    """Return an aggregate as the log has it; a new one when it has no events."""
    return await core.in_thread(lambda: _load(core, cls, aggregate_id))


def _load(core: Core, cls: type[A], aggregate_id: str) -> A:
    repository = core.application.repository
    return repository.get(aggregate_id, projector_func=projector(cls, aggregate_id))


async def change(core: Core, cls: type[A], aggregate_id: str, decide: Callable[[A], T]) -> tuple[T, int]:
    """Run a command on one aggregate and save its events.

    Returns what ``decide`` returned and the position of the last event, 0 when nothing was written. After
    a lost race the aggregate is loaded and the command decided again; ConflictError after many.
    """

    def run() -> tuple[T, int]:
        for attempt in range(_ATTEMPTS):
            aggregate = _load(core, cls, aggregate_id)
            result = decide(aggregate)
            try:
                recordings = core.application.save(aggregate)
            except IntegrityError:
                time.sleep(random.uniform(0, 0.005 * (attempt + 1)))  # noqa: S311 -- jitter, not a secret
                continue
            return result, max((recording.notification.id for recording in recordings), default=0)
        raise ConflictError(
            "other writers were first every time", expected="a free turn", found=f"{_ATTEMPTS} lost races"
        )

    return await core.in_thread(run)


async def ensure_profile(core: Core, caller: Caller, name: str) -> None:
    """Create the profile with its first write."""
    check_profile(name)
    if await core.known_profile(name):
        return
    aggregate_id = await core.events.subject_id(name, Profile.CATEGORY, "profile")
    await change(core, Profile, aggregate_id, lambda profile: profile.create(name, caller.context()))
    core.known.add(name)

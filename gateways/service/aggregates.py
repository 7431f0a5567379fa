"""Commands: load → decide → save, in the bounded pool, again after a lost race."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from eventsourcing.persistence import IntegrityError

from domain.envelope import Envelope
from domain.errors import ConflictError
from domain.events import (
    ExpirySet,
    MemoryExpired,
    MemoryForgotten,
    MemoryRejected,
    MemoryRetracted,
    MemorySuperseded,
    MessageForgotten,
)
from domain.ids import check_profile
from domain.kernel import Aggregate, projector
from domain.profile import Profile
from gateways.service.context import Caller, Core
from gateways.service.redacting import FORGETTING_TOPICS

__all__ = ["Loaded", "change", "change_many", "ensure_profile", "load", "note_ended"]

A = TypeVar("A", bound=Aggregate)
T = TypeVar("T")
_ATTEMPTS = 20
#: What takes something out of recall.
ENDINGS = (
    MemorySuperseded,
    MemoryRetracted,
    MemoryRejected,
    MemoryExpired,
    MemoryForgotten,
    ExpirySet,
    MessageForgotten,
)


def note_ended(core: Core, profile: str, position: int) -> None:
    """Keep where something ended: no read that begins later is answered by views that have not got there."""
    with core.ended_lock:
        core.ended[profile] = max(position, core.ended.get(profile, 0))


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
    return await change_many(core, lambda loaded: decide(loaded.get(cls, aggregate_id)))


class Loaded:
    """The aggregates of one attempt at a change of several, each loaded once."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._by_id: dict[str, Aggregate] = {}

    def get(self, cls: type[A], aggregate_id: str) -> A:
        """Return an aggregate as the log has it, with what this attempt has done to it."""
        found = self._by_id.get(aggregate_id)
        if found is None:
            found = self._by_id[aggregate_id] = _load(self._core, cls, aggregate_id)
        if not isinstance(found, cls):
            raise TypeError(f"{aggregate_id} is a {type(found).__name__}")
        return found

    def changed(self) -> list[Aggregate]:
        """Return those with events to save, in the order they were loaded."""
        return [one for one in self._by_id.values() if one.pending_events]


async def change_many(core: Core, decide: Callable[[Loaded], T]) -> tuple[T, int]:
    """Run a command that touches several aggregates, and save the events of all of them in one atomic append.

    As `change`: after a lost race everything is loaded and decided again. At most 1,000 events fit one append.
    """
    return await core.in_thread(lambda: _saved(core, decide))


def _saved(core: Core, decide: Callable[[Loaded], T]) -> tuple[T, int]:
    for attempt in range(_ATTEMPTS):
        loaded = Loaded(core)
        result = decide(loaded)
        changed = loaded.changed()
        try:
            recordings = core.application.save(*changed) if changed else []
        except IntegrityError:
            time.sleep(random.uniform(0, 0.005 * (attempt + 1)))  # noqa: S311 -- jitter, not a secret
            continue
        for recording in recordings:
            event = recording.domain_event
            if isinstance(event, Envelope) and isinstance(event.data, ENDINGS):
                note_ended(core, event.profile, recording.notification.id)
            if isinstance(event, Envelope) and event.topic in FORGETTING_TOPICS:
                core.redacting.note(event.profile, recording.notification.id)
        return result, max((recording.notification.id for recording in recordings), default=0)
    raise ConflictError("other writers were first every time", expected="a free turn", found=f"{_ATTEMPTS} lost races")


async def ensure_profile(core: Core, caller: Caller, name: str) -> None:
    """Create the profile with its first write."""
    check_profile(name)
    if await core.known_profile(name):
        return
    aggregate_id = await core.events.subject_id(name, Profile.CATEGORY, "profile")
    await change(core, Profile, aggregate_id, lambda profile: profile.create(name, caller.context()))
    core.known.add(name)

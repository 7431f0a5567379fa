"""The worker that finishes erasures: keys that are to go are recorded and destroyed, and no file holds their words.

Every step may be done again, by this instance after a crash or by another one: what is to be done follows from the
ledger and the log, and how far the files here have followed is noted beside them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog

from domain.envelope import Actor, Envelope
from domain.errors import NotFoundError, UnavailableError
from domain.events import ProfileDeleted
from domain.kernel import Context
from domain.kinds import questions_scope
from domain.memory import Memory
from domain.resting import forget_version
from gateways.service.aggregates import change
from gateways.service.context import Core
from gateways.service.daily import utc_now
from gateways.service.finding import aggregate_of
from gateways.service.forgetting import follow_up
from gateways.service.profiles import OpenProfile
from gateways.service.rounds import ProfileWorker
from gateways.service.tombstones import WORKER, announce, destroy_recorded, note
from gateways.service.unforwarding import note_elsewhere, take_back
from projections.followed import followed_to, note_followed
from projections.ledger import Ledger, ToGo

__all__ = ["ErasureWorker"]

_log = structlog.get_logger(__name__)
#: Topics after which there is something to do, and those after which there may be where something was erased.
_WAKING = frozenset({"profile.erased", "profile.key_destroyed", "profile.deleted"})
_LATE = frozenset({"conversation.contact_set", "memory.remembered", "memory.restored", "profile.contacts_linked"})
_EVICTED = 100


class ErasureWorker(ProfileWorker):
    """Finishes the erasures of the profiles it is told about."""

    def __init__(
        self,
        core: Core,
        *,
        flush: Callable[[], Awaitable[None]],
        forget: Sequence[Callable[[str], None]] = (),
    ) -> None:
        super().__init__("erasure")
        self._core = core
        self._flush = flush
        self._forget = forget
        self._known: set[str] = set()
        self._asked: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._moved = asyncio.Condition()

    def look(self, envelopes: Sequence[Envelope]) -> None:
        """Look at the profiles in which something was erased, or written about what was."""
        for one in envelopes:
            if one.topic in _WAKING or (one.topic in _LATE and one.profile in self._known):
                self._known.add(one.profile)
                self.wake(one.profile)

    def take_up(self) -> None:
        """Look at every profile in which keys were ever destroyed, or that may hold what is to be."""
        for profile in {*self._core.directory.with_destroyed(), *(one.name for one in self._core.directory.profiles())}:
            self.wake(profile)

    def wake(self, profile: str) -> None:
        """Look at a profile soon."""
        self._asked[profile] += 1
        super().wake(profile)

    async def settle(self, profile: str, position: int, seconds: float) -> bool:
        """Wait until what was erased up to a position is gone from here; returns whether it is in time."""
        ends = time.monotonic() + seconds
        await self._core.reader.wait_until(lambda: self._core.reader.passed >= position, seconds)
        self.wake(profile)
        wanted = self._asked[profile]
        try:
            async with asyncio.timeout(max(0.0, ends - time.monotonic())), self._moved:
                await self._moved.wait_for(lambda: self._done[profile] >= wanted)
        except TimeoutError:
            return self._done[profile] >= wanted
        return True

    async def _work(self, profile: str) -> bool:
        asked, core = self._asked[profile], self._core
        # First: views that are behind what is destroyed may name what nobody can read any more.
        await self._follow(profile)
        if not await core.in_thread(lambda: core.directory.is_gone(profile)):
            await self._destroy_named(profile)
            await self._follow(profile)
        left = await take_back(core, profile)
        async with self._moved:
            self._done[profile] = asked
            self._moved.notify_all()
        if left:
            # What is here is gone all the same; whoever was to delete the rest is asked again, later and later.
            raise UnavailableError("a managed memory has not deleted what was erased", found=f"{left} items left")
        return False

    # -- what is to be destroyed ----------------------------------------------------------------

    async def _destroy_named(self, profile: str) -> None:
        """Record the destruction of every key that the ledger says is to go, once nothing else needs it."""
        core = self._core
        async with core.profiles.use(profile) as opened:
            if await core.in_thread(lambda: bool(core.profiles.current(opened).views.ledger.erasures())):
                self._known.add(profile)
            while togo := await core.in_thread(core.profiles.current(opened).views.ledger.to_destroy):
                await self._entail(opened)
                position = await self._record(opened, togo)
                await core.reader.wait_for(position, core.settings.wait_seconds)
                if await core.in_thread(lambda: core.directory.is_gone(profile)):
                    return

    async def _entail(self, opened: OpenProfile) -> None:
        """Do what follows from an erasure while everything can be read still."""
        core = self._core
        # Questions asked until now are under a key that goes with this.
        await self._flush()
        ledger = core.profiles.current(opened).views.ledger
        for one in await core.in_thread(lambda: ledger.evicted(_EVICTED)):
            context = Context(actor=Actor(one.actor, one.actor_type), now=utc_now())  # type: ignore[arg-type]
            forget = partial(forget_version, one=one.memory, context=context)
            await change(core, Memory, aggregate_of(opened, one.memory), forget)
        await follow_up(core, opened)
        ledger = core.profiles.current(opened).views.ledger
        for member in await core.in_thread(ledger.bereaved):
            context = Context(actor=WORKER, now=utc_now())
            await change(core, Memory, aggregate_of(opened, member), partial(_restore, member, context))
        await follow_up(core, opened)
        if await core.in_thread(lambda: core.profiles.current(opened).views.ledger.evicted(1)):
            await self._entail(opened)

    async def _record(self, opened: OpenProfile, togo: Sequence[ToGo]) -> int:
        core, name = self._core, opened.name
        ledger = core.profiles.current(opened).views.ledger
        await note_elsewhere(core, opened, togo)
        targets = {one.id: one.target for one in await core.in_thread(ledger.erasures)}
        by_erasure: dict[str, list[ToGo]] = defaultdict(list)
        for one in togo:
            by_erasure[one.erasure].append(one)
        position = 0
        for erasure, some in by_erasure.items():
            if targets.get(erasure) == "profile":
                await core.in_thread(lambda: core.directory.note_all_unforwarding(name))
                return await self._record_profile(name, erasure, ledger)
            keys = [key for one in some for key in await self._generations(name, one)]
            position = await announce(core, name, erasure, list(dict.fromkeys(keys)), await self._questions(name))
        return position

    async def _generations(self, profile: str, one: ToGo) -> list[str]:
        return await self._core.events.keys.generations(profile, one.scope) if one.scope else [one.key]

    async def _questions(self, profile: str) -> list[str]:
        try:
            return [(await self._core.events.keys.key(profile, questions_scope(), create=False)).key_id]
        except NotFoundError:
            return []

    async def _record_profile(self, profile: str, erasure: str, ledger: Ledger) -> int:
        """Record that the profile is gone: by whom, and every key it has."""
        core = self._core
        (record,) = await core.in_thread(lambda: ledger.erasures([erasure]))
        states = await core.events.keys.states(profile)
        await announce(core, profile, erasure, [key for key, state in states.items() if not state.destroyed])
        by = Actor(record.actor, record.actor_type)  # type: ignore[arg-type]
        return await note(core, profile, erasure, [ProfileDeleted(erasure=erasure)], by)

    # -- what follows, on every instance --------------------------------------------------------

    async def _follow(self, profile: str) -> None:
        """Destroy what is recorded as destroyed, and make the files here anew where they are older than that."""
        core = self._core
        position = await core.in_thread(lambda: core.directory.destroyed(profile))
        root = core.profiles.root(profile)
        if not position or await asyncio.to_thread(followed_to, root) >= position:
            return
        await destroy_recorded(core.events, profile)
        for forget in self._forget:
            forget(profile)
        core.feeds.cache.drop(profile)
        if await core.in_thread(lambda: core.directory.is_gone(profile)):
            await self._remove(profile)
            return
        started = time.monotonic()
        await core.rebuilds.afresh(profile)
        await asyncio.to_thread(note_followed, root, position)
        await core.in_thread(core.directory.scrub)
        _log.info("erased", profile=profile, position=position, seconds=round(time.monotonic() - started, 3))

    async def _remove(self, profile: str) -> None:
        core = self._core
        core.known.discard(profile)
        await self._destroy_late(profile)
        await core.turns.drop_all(profile)
        await core.profiles.remove(profile)
        await core.in_thread(lambda: core.directory.remove_profile(profile))
        await core.in_thread(core.directory.scrub)

    async def _destroy_late(self, profile: str) -> None:
        """Destroy keys that somebody made while the profile was being deleted."""
        keys = self._core.events.keys
        for key_id, state in (await keys.states(profile)).items():
            if not state.destroyed:
                await keys.destroy(profile, key_id, closed=True)


def _restore(member: str, context: Context, memory: Memory) -> bool:
    """Bring back what was consolidated into something that goes; nothing where somebody ended it otherwise."""
    return memory.find(member).status == "superseded" and memory.restore(member, context)

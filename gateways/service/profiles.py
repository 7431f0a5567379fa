"""Open profiles: one secret, one indexing rule and one set of views each; the idle ones are closed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import structlog

from domain.envelope import Envelope
from domain.errors import DamagedError, UmbrielError, UnavailableError
from domain.ids import directory_name, keyed_id
from domain.indexing import Indexing
from domain.ports import Embedder
from gateways.service.events import EventReader
from projections.generations import VIEWS, ViewSet, current_generations, next_generation, prune, switch

__all__ = ["OpenProfile", "Profiles"]

_CATCH_UP = 1_000
_RETRY_SECONDS = 0.5
_log = structlog.get_logger(__name__)


class OpenProfile:
    """A profile whose views are open. ``lock`` is held by whoever applies events or switches generations."""

    def __init__(self, name: str, secret: bytes, root: Path, embedder: Embedder) -> None:
        self.name = name
        self.secret = secret
        self.root = root
        self.indexing = Indexing(partial(keyed_id, secret), embedder.model, embedder.dimension)
        self.lock = asyncio.Lock()
        self.users = 0
        self.unused = asyncio.Event()
        self.unused.set()
        self.views: ViewSet

    def open_views(self) -> None:
        """Open the served generation; when it is damaged, an empty one that is filled from the log."""
        try:
            self.views = ViewSet(self.root, current_generations(self.root), self.indexing)
        except DamagedError as error:
            _log.warning("views_damaged", profile=self.name, reason=str(error))
            fresh = dict.fromkeys(VIEWS, next_generation(self.root))
            self.views = ViewSet(self.root, fresh, self.indexing)
            switch(self.root, fresh)


class Profiles:
    """The registry of open profiles of this instance (least recently used ones are closed)."""

    def __init__(self, data: Path, events: EventReader, embedder: Embedder, *, keep: int) -> None:
        self._root = data / "profiles"
        self._events = events
        self._embedder = embedder
        self._keep = keep
        self._open: OrderedDict[str, OpenProfile] = OrderedDict()
        self._turns: dict[str, asyncio.Lock] = {}
        self._rebuilds: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        #: called in a thread with a profile whose views are about to be closed
        self.closing: list[Callable[[OpenProfile], None]] = []

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[OpenProfile]:
        """Lend an open profile; it is not closed while it is lent.

        Raises MismatchError when its views were made with another model, DamagedError when the log does not
        hold what they were made from.
        """
        async with self._turn(name):
            profile = self._open.get(name)
            if profile is None:
                profile = await self.detached(name)
                await asyncio.to_thread(profile.open_views)
                await self._follow(profile)
                self._open[name] = profile
            self._open.move_to_end(name)
            profile.users += 1
            profile.unused.clear()
        try:
            yield profile
        finally:
            profile.users -= 1
            if not profile.users:
                profile.unused.set()
            await self._close_idle()

    def _turn(self, name: str) -> asyncio.Lock:
        return self._turns.setdefault(name, asyncio.Lock())

    def rebuild_turn(self, name: str) -> asyncio.Lock:
        """Return the lock that lets one rebuild of a profile happen at a time.

        A second one would take the same generation's name, and have its files pruned by the first.
        """
        return self._rebuilds.setdefault(name, asyncio.Lock())

    async def _follow(self, profile: OpenProfile) -> None:
        try:
            await self._check_continuity(profile)
            await self.catch_up(profile, profile.views)
        except BaseException:
            await asyncio.to_thread(profile.views.close)
            raise

    async def detached(self, name: str) -> OpenProfile:
        """Return a profile without its views."""
        return OpenProfile(name, await self._events.secret(name), self._root / directory_name(name), self._embedder)

    async def catch_up(self, profile: OpenProfile, views: ViewSet) -> int:
        """Apply what the log holds for this profile after the views' position; returns the events applied."""
        count = 0
        after = views.position
        while True:
            part = await self._events.read(after, _CATCH_UP, profile.name)
            if part.envelopes:
                await asyncio.to_thread(views.apply, part.envelopes)
                count += len(part.envelopes)
            if part.poison:
                views.stop(part.poison[profile.name])
            if part.poison or part.position == after:
                return count
            after = part.position

    async def retry(self, name: str) -> list[str]:
        """Let a profile's stopped views try again what stopped them; returns the names of those that had stopped."""
        async with self.use(name) as profile, profile.lock:
            views = profile.views
            stopped = list(views.stopped)
            views.stopped.clear()
            if stopped:
                await self.catch_up(profile, views)
            return stopped

    async def _check_continuity(self, profile: OpenProfile) -> None:
        """Refuse a log that is shorter than, or another than, the one the views were made from."""
        checkpoint = profile.views.ledger.checkpoint
        if not checkpoint.event_position:
            return
        found = await self._events.event_id_at(checkpoint.event_position, profile.name)
        if found != checkpoint.event_id:
            raise DamagedError(
                f"the log does not hold what the views of {profile.name} were made from; restore the log, "
                f"or run `umbriel rebuild --profile {profile.name}` to go on with what is left",
                expected=f"event {checkpoint.event_id} at {checkpoint.event_position}",
                found=found or "nothing",
            )

    async def apply(self, name: str, envelopes: list[Envelope], poison: str = "") -> None:
        """Apply newly read events to a profile's views.

        What is unavailable now is tried again, since a skipped event would be missing for ever. A profile whose
        views cannot be opened is left alone: opening it later catches up from the log.
        """
        while True:
            if await self._try_apply(name, envelopes, poison):
                return
            await asyncio.sleep(_RETRY_SECONDS)

    async def _try_apply(self, name: str, envelopes: list[Envelope], poison: str) -> bool:
        try:
            async with self.use(name) as profile, profile.lock:
                await asyncio.to_thread(profile.views.apply, envelopes)
                if poison:
                    profile.views.stop(poison)
        except UnavailableError as error:
            _log.warning("projection_delayed", profile=name, reason=str(error))
            return False
        except UmbrielError as error:
            _log.error("profile_not_projected", profile=name, reason=str(error))
        return True

    async def replace(self, name: str, views: ViewSet, generations: Mapping[str, str]) -> int:
        """Serve ``views`` instead of a profile's present ones, once they have caught up; returns events applied.

        Nobody applies events meanwhile. Raises DamagedError, and serves the present ones on, when one of the new
        views has stopped. Requests that hold the old views finish with them; their files go
        when the last one has.
        """
        async with self._turn(name):
            replacement = await self.detached(name)
            replacement.views = views
            old = self._open.get(name)
            async with old.lock if old else replacement.lock:
                count = await self.catch_up(replacement, views)
                _check_whole(name, views)
                await asyncio.to_thread(switch, replacement.root, generations)
                self._open[name] = replacement
            self._in_background(self._retire(old, replacement.root, generations))
            return count

    async def _retire(self, old: OpenProfile | None, root: Path, generations: Mapping[str, str]) -> None:
        if old is not None:
            await old.unused.wait()
            await asyncio.to_thread(old.views.close)
        await asyncio.to_thread(prune, root, generations)

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def current(self, profile: OpenProfile) -> OpenProfile:
        """Return what is fed in the place of a lent profile: itself, or what has replaced it since."""
        return self._open.get(profile.name, profile)

    def opened(self) -> list[OpenProfile]:
        """Return the profiles open now."""
        return list(self._open.values())

    async def _close_idle(self) -> None:
        while len(self._open) > self._keep:
            idle = next((p for p in self._open.values() if _is_idle(p)), None)
            if idle is None:
                return
            # In its turn: opened again while it still closes, its files would have two writers.
            async with self._turn(idle.name):
                if self._open.get(idle.name) is not idle or not _is_idle(idle):
                    continue
                del self._open[idle.name]
                try:
                    await asyncio.to_thread(self._close_one, idle)
                except (UmbrielError, OSError) as error:
                    # Whoever is served now has nothing to do with it; opening it again reads what was committed.
                    _log.warning("profile_not_closed", profile=idle.name, reason=str(error))

    def _close_one(self, profile: OpenProfile) -> None:
        for hook in self.closing:
            try:
                hook(profile)
            except UmbrielError as error:
                _log.warning("closing_unnoted", profile=profile.name, reason=str(error))
        profile.views.close()

    async def close(self) -> None:
        """Close every profile."""
        await asyncio.gather(*self._tasks)
        while self._open:
            _, profile = self._open.popitem()
            async with profile.lock:
                await asyncio.to_thread(self._close_one, profile)


def _is_idle(profile: OpenProfile) -> bool:
    return not profile.users and not profile.lock.locked()


def _check_whole(name: str, views: ViewSet) -> None:
    for view, reason in views.stopped.items():
        raise DamagedError(
            f"the new {view} view of {name} has stopped; the present one stays", expected="a whole view", found=reason
        )

"""Open profiles: one secret, one indexing rule and one set of views each; the idle ones are closed."""

from __future__ import annotations

import asyncio
import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from domain.envelope import Envelope
from domain.errors import DamagedError, MismatchError, UmbrielError, UnavailableError
from domain.events import KeyDestroyed, MemoryForgotten, MessageForgotten, ProfileErased
from domain.ids import directory_name
from domain.ports import Embedder
from gateways.service.events import EventReader
from gateways.service.open_profile import OpenProfile, ProfileRoom
from projections.building import Building
from projections.generations import (
    VIEWS,
    ViewSet,
    drop_kept,
    keep,
    prune,
    switch,
)

__all__ = ["OpenProfile", "ProfileRoom", "Profiles"]

_CATCH_UP = 1_000
_RETRY_SECONDS = 0.5
_TRIES = 6
_FORGOTTEN = (MemoryForgotten, MessageForgotten, ProfileErased, KeyDestroyed)
_log = structlog.get_logger(__name__)


def _nobody(name: str, why: dict[str, str]) -> None:
    _log.warning("views_outdated", profile=name, why=why)


class Profiles:
    """The registry of open profiles of this instance (least recently used ones are closed)."""

    def __init__(self, data: Path, events: EventReader, embedder: Embedder, room: ProfileRoom) -> None:
        self._root = data / "profiles"
        self._events = events
        self._embedder = embedder
        self._room = room
        self._open: OrderedDict[str, OpenProfile] = OrderedDict()
        self._turns: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        #: called in a thread with a profile whose views are about to be closed
        self.closing: list[Callable[[OpenProfile], None]] = []
        #: asked to let go of what nobody feeds of a profile, before its files are removed
        self.unfed: list[Callable[[str], Awaitable[None]]] = []
        #: told of a profile some views of which do not fit this version or model, with why for each
        self.outdated: Callable[[str, dict[str, str]], None] = _nobody

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[OpenProfile]:
        """Lend an open profile; it is not closed while it is lent.

        Raises UnavailableError when its ledger was made by another version and is being made again, DamagedError
        when the log does not hold what the views were made from.
        """
        async with self._turn(name):
            profile = self._open.get(name)
            if profile is None:
                profile = await self.detached(name)
                await self._open_views(profile)
                await self._follow(profile)
                self._open[name] = profile
                if profile.views.outdated:
                    self.outdated(name, profile.views.outdated)
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

    async def _open_views(self, profile: OpenProfile) -> None:
        try:
            await asyncio.to_thread(profile.open_views)
        except MismatchError as error:
            self.outdated(profile.name, dict.fromkeys(VIEWS, f"made for {error.found}, now {error.expected}"))
            raise UnavailableError(
                f"the ledger of {profile.name} is being made again for this version", expected=error.expected
            ) from error

    async def _follow(self, profile: OpenProfile) -> None:
        try:
            await self._check_continuity(profile)
            await self.catch_up(profile, profile.views)
        except BaseException:
            await asyncio.to_thread(profile.views.close)
            raise

    async def detached(self, name: str) -> OpenProfile:
        """Return a profile without its views."""
        return OpenProfile(name, await self._events.secret(name), self.root(name), self._embedder, self._room.growth)

    async def catch_up(self, profile: OpenProfile, views: ViewSet) -> int:
        """Apply what the log holds for this profile after the views' position; returns the events applied."""
        count = 0
        after = views.position
        while True:
            part = await self._events.read(after, _CATCH_UP, profile.name)
            if part.envelopes:
                await self._feed(profile, views, part.envelopes)
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

    async def _feed(self, profile: OpenProfile, views: ViewSet, envelopes: Sequence[Envelope]) -> None:
        # What is forgotten leaves the files that nobody feeds as well, and before anybody is told that it is gone.
        if any(isinstance(envelope.data, _FORGOTTEN) for envelope in envelopes):
            await self.drop_unfed(profile)
        await asyncio.to_thread(views.apply, envelopes)

    async def drop_unfed(self, profile: OpenProfile) -> None:
        """Remove every generation of a profile that is not fed; nothing of them is answered from any more."""
        for let_go in self.unfed:
            await let_go(profile.name)
        await asyncio.to_thread(drop_kept, profile.root)

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
        views cannot be opened, or not be written for long, is closed and left alone: opening it later catches up
        from the log, and the other profiles do not wait for it.
        """
        for _ in range(_TRIES):
            if await self._try_apply(name, envelopes, poison):
                return
            await asyncio.sleep(_RETRY_SECONDS)
        _log.error("profile_left_behind", profile=name)
        await self._drop(name)

    async def _drop(self, name: str) -> None:
        # In its turn: opened again while it still closes, its files would have two writers.
        async with self._turn(name):
            profile = self._open.pop(name, None)
            if profile is None:
                return
            await profile.unused.wait()
            async with profile.lock:
                await self._close_quietly(profile)

    async def _try_apply(self, name: str, envelopes: list[Envelope], poison: str) -> bool:
        try:
            async with self.use(name) as profile, profile.lock:
                if self._open.get(name) is not profile:
                    return False  # others are served since; they may not have these events
                await self._feed(profile, profile.views, envelopes)
                if poison:
                    profile.views.stop(poison)
        except (UnavailableError, OSError) as error:
            _log.warning("projection_delayed", profile=name, reason=str(error))
            return False
        except UmbrielError as error:
            _log.error("profile_not_projected", profile=name, reason=str(error))
        return True

    async def replace(
        self, name: str, new: Building, check: Callable[[ViewSet, ViewSet | None], None], *, keeps: bool = True
    ) -> int:
        """Serve the views of ``new`` instead of a profile's present ones; returns the events applied for that.

        Both are brought to the same position first, and nobody else applies events meanwhile; ``check`` is asked then,
        and whatever it raises leaves the present ones in service. Requests that hold the old views finish with them.
        """
        for let_go in self.unfed:
            await let_go(name)
        if not await self._opens(name):
            return await self._replace_unread(name, new, check)
        async with self.use(name) as old, old.lock:
            count = await self._level(old, new)
            replacement = await self._joined(name, new, old)
            await asyncio.to_thread(check, replacement.views, old.views)
            fits = keeps and not old.views.stopped and not set(new.plan.views) & set(old.views.outdated)
            async with self._turn(name):
                await asyncio.to_thread(_serve, replacement, old.views.generations if fits else None)
                self._open[name] = replacement
        self._in_background(self._retire(old, new.plan.views), name)
        return count

    async def _opens(self, name: str) -> bool:
        try:
            async with self.use(name):
                return True
        except UmbrielError:
            return False

    async def _replace_unread(self, name: str, new: Building, check: Callable[[ViewSet, ViewSet | None], None]) -> int:
        async with self._turn(name):
            count = await self._level(None, new)
            replacement = await self._joined(name, new, None)
            await asyncio.to_thread(check, replacement.views, None)
            await asyncio.to_thread(_serve, replacement, None)
            self._open[name] = replacement
        await asyncio.to_thread(prune, replacement.root)
        return count

    async def _level(self, old: OpenProfile | None, new: Building) -> int:
        """Bring the served and the new views to the end of the log together."""
        feed_old = old is not None and not old.views.stopped
        after = min(new.position, old.views.position) if old is not None and feed_old else new.position
        count = 0
        while True:
            part = await self._events.read(after, _CATCH_UP, new.plan.profile)
            for reason in part.poison.values():
                raise DamagedError("an event of the log cannot be read", expected="a readable event", found=reason)
            if old is not None and feed_old and part.envelopes:
                await self._feed(old, old.views, part.envelopes)
            await asyncio.to_thread(new.apply, part.envelopes)
            count += len(part.envelopes)
            if part.position == after:
                break
            after = part.position
        if old is not None and feed_old and new.position < old.views.position:
            raise DamagedError(
                "the new generation is behind the present one",
                expected=str(old.views.position),
                found=str(new.position),
            )
        return count

    async def _joined(self, name: str, new: Building, old: OpenProfile | None) -> OpenProfile:
        replacement, parts = await self.detached(name), new.parts
        indexing, generations = new.indexing, new.plan.generations
        if old is not None:
            generations = {**old.views.generations, **{view: generations[view] for view in new.plan.views}}
            parts = type(parts)(
                ledger=parts.ledger or old.views.ledger,
                vectors=parts.vectors or old.views.vectors,
                keywords=parts.keywords or old.views.keywords,
            )
            indexing = new.indexing if new.ledger is not None else old.views.indexing
        replacement.views = ViewSet(replacement.root, generations, indexing, parts, self._room.growth)
        if old is not None:
            left = {view: why for view, why in old.views.outdated.items() if view not in new.plan.views}
            stopped = {view: why for view, why in old.views.stopped.items() if view not in new.plan.views}
            replacement.views.outdated, replacement.views.stopped = left, stopped
        return replacement

    async def _retire(self, old: OpenProfile, views: Sequence[str]) -> None:
        await old.unused.wait()
        await asyncio.to_thread(old.views.close, views)
        await asyncio.to_thread(prune, old.root)

    def _in_background(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def retired(self, name: str) -> None:
        """Wait until the views of a profile that were replaced are closed and their files removed."""
        await asyncio.gather(*(task for task in self._tasks if task.get_name() == name))

    async def remove(self, name: str) -> None:
        """Close a profile that was deleted, and remove its files."""
        await self._drop(name)
        for let_go in self.unfed:
            await let_go(name)
        await self.retired(name)
        async with self._turn(name):
            await asyncio.to_thread(shutil.rmtree, self.root(name), ignore_errors=True)

    def root(self, name: str) -> Path:
        """Return the directory of a profile's files."""
        return self._root / directory_name(name)

    def current(self, profile: OpenProfile) -> OpenProfile:
        """Return what is fed in the place of a lent profile: itself, or what has replaced it since."""
        return self._open.get(profile.name, profile)

    def opened(self) -> list[OpenProfile]:
        """Return the profiles open now."""
        return list(self._open.values())

    async def _close_idle(self) -> None:
        while self._too_many():
            idle = next((p for p in self._open.values() if _is_idle(p)), None)
            if idle is None:
                return
            # In its turn: opened again while it still closes, its files would have two writers.
            async with self._turn(idle.name):
                if self._open.get(idle.name) is not idle or not _is_idle(idle):
                    continue
                del self._open[idle.name]
                await self._close_quietly(idle)

    def _too_many(self) -> bool:
        if len(self._open) > self._room.profiles:
            return True
        # One is always kept: closing the only one would open it again for every request.
        return len(self._open) > 1 and sum(one.bytes for one in self._open.values()) > self._room.bytes

    async def _close_quietly(self, profile: OpenProfile) -> None:
        try:
            await asyncio.to_thread(self._close_one, profile)
        except (UmbrielError, OSError) as error:
            # Whoever is served now has nothing to do with it; opening it again reads what was committed.
            _log.warning("profile_not_closed", profile=profile.name, reason=str(error))

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


def _serve(profile: OpenProfile, kept: dict[str, str] | None) -> None:
    """Serve the profile's generations from now on, and keep those that were served, in this order on disk."""
    keep(profile.root, kept)
    switch(profile.root, profile.views.generations)

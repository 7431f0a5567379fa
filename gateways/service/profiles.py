"""Open profiles: one secret, one indexing rule and one set of views each; the idle ones are closed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import structlog

from domain.envelope import Envelope
from domain.errors import DamagedError, UmbrielError
from domain.ids import directory_name, keyed_id
from domain.indexing import Indexing
from domain.ports import Embedder
from gateways.service.events import EventReader
from projections.generations import VIEWS, ViewSet, current_generations, next_generation, switch

__all__ = ["OpenProfile", "Profiles"]

_CATCH_UP = 1_000
_log = structlog.get_logger(__name__)


class OpenProfile:
    """A profile whose views are open. ``lock`` is held by whoever applies events or switches generations."""

    def __init__(self, name: str, secret: bytes, root: Path, embedder: Embedder) -> None:
        self.name = name
        self.secret = secret
        self.root = root
        self.keyed = partial(keyed_id, secret)
        self.indexing = Indexing(self.keyed, embedder.model, embedder.dimension)
        self.lock = asyncio.Lock()
        self.users = 0
        self.views = self._open()

    def _open(self) -> ViewSet:
        """Open the served generation; views that are damaged start again from the log."""
        try:
            return ViewSet(self.root, current_generations(self.root), self.indexing)
        except DamagedError as error:
            _log.warning("views_damaged", profile=self.name, reason=str(error))
            fresh = dict.fromkeys(VIEWS, next_generation(self.root))
            views = ViewSet(self.root, fresh, self.indexing)
            switch(self.root, fresh)
            return views


class Profiles:
    """The registry of open profiles of this instance (least recently used ones are closed)."""

    def __init__(self, data: Path, events: EventReader, embedder: Embedder, *, keep: int) -> None:
        self._root = data / "profiles"
        self._events = events
        self._embedder = embedder
        self._keep = keep
        self._open: OrderedDict[str, OpenProfile] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}

    def root_of(self, name: str) -> Path:
        """Return the directory of a profile's views."""
        return self._root / directory_name(name)

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[OpenProfile]:
        """Lend an open profile; it is not closed while it is lent."""
        profile = await self._get(name)
        profile.users += 1
        try:
            yield profile
        finally:
            profile.users -= 1
            await self._close_idle()

    async def _get(self, name: str) -> OpenProfile:
        async with self._opening.setdefault(name, asyncio.Lock()):
            profile = self._open.get(name)
            if profile is None:
                secret = await self._events.secret(name)
                profile = await asyncio.to_thread(OpenProfile, name, secret, self.root_of(name), self._embedder)
                async with profile.lock:
                    await self.catch_up(profile, profile.views)
                self._open[name] = profile
            self._open.move_to_end(name)
            return profile

    async def catch_up(self, profile: OpenProfile, views: ViewSet) -> int:
        """Apply what the log holds for this profile after the views' position; returns the events applied."""
        await self._check_continuity(profile, views)
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

    async def _check_continuity(self, profile: OpenProfile, views: ViewSet) -> None:
        """Refuse a log that is shorter than, or another than, the one the views were made from."""
        position, event_id = views.ledger.position, views.ledger.event_id
        if not position:
            return
        found = await self._events.event_id_at(position, profile.name)
        if found != event_id:
            raise DamagedError(
                f"the log does not hold what the views of {profile.name} were made from; "
                "restore the log, or delete this profile's views to rebuild them from what is left",
                expected=f"event {event_id} at {position}",
                found=found or "nothing",
            )

    async def apply(self, name: str, envelopes: list[Envelope], poison: str = "") -> None:
        """Apply newly read events to a profile's views; a profile that cannot be opened is left for later."""
        try:
            async with self.use(name) as profile, profile.lock:
                await asyncio.to_thread(profile.views.apply, envelopes)
                if poison:
                    profile.views.stop(poison)
        except UmbrielError as error:
            _log.error("profile_not_projected", profile=name, reason=str(error))

    def opened(self) -> list[OpenProfile]:
        """Return the profiles open now."""
        return list(self._open.values())

    async def _close_idle(self) -> None:
        while len(self._open) > self._keep:
            idle = next((p for p in self._open.values() if not p.users and not p.lock.locked()), None)
            if idle is None:
                return
            del self._open[idle.name]
            await asyncio.to_thread(idle.views.close)

    async def drop(self, name: str) -> None:
        """Close a profile if it is open, so that the next use opens what is on disk."""
        profile = self._open.pop(name, None)
        if profile is not None:
            async with profile.lock:
                await asyncio.to_thread(profile.views.close)

    async def close(self) -> None:
        """Close every profile."""
        while self._open:
            _, profile = self._open.popitem()
            async with profile.lock:
                await asyncio.to_thread(profile.views.close)

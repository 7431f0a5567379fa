"""An open profile: one secret, one indexing rule and one set of views; and how much room the open ones have."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import structlog

from domain.errors import DamagedError
from domain.ids import keyed_id, originator_id
from domain.indexing import Indexing
from domain.ports import Embedder
from domain.settings import VectorGrowth
from projections.generations import VIEWS, ViewSet, current_generations, next_generation, switch

__all__ = ["OpenProfile", "ProfileRoom"]

_GROWTH = VectorGrowth()
_log = structlog.get_logger(__name__)


class ProfileRoom(msgspec.Struct, frozen=True, kw_only=True):
    """How many profiles are kept open, in how much memory together, and how their vectors are held."""

    profiles: int = 64
    bytes: int = 4 * 1024**3
    growth: VectorGrowth = VectorGrowth()


class OpenProfile:
    """A profile whose views are open. ``lock`` is held by whoever applies events or switches generations."""

    def __init__(
        self, name: str, secret: bytes, root: Path, embedder: Embedder, growth: VectorGrowth = _GROWTH
    ) -> None:
        self.growth = growth
        self.name = name
        self.secret = secret
        self.root = root
        self.indexing = Indexing(partial(keyed_id, secret), embedder.model, embedder.dimension)
        self.lock = asyncio.Lock()
        self.users = 0
        self.unused = asyncio.Event()
        self.unused.set()
        self.views: ViewSet

    @property
    def bytes(self) -> int:
        """About how many bytes of memory its views take."""
        return self.views.resident_bytes

    def subject(self, category: str, *public: str) -> str:
        """Return the aggregate id of a public id: the subject that holds its events."""
        return originator_id(self.name, category, keyed_id(self.secret, *public))

    def open_views(self) -> None:
        """Open the served generation; when it is damaged, an empty one that is filled from the log."""
        try:
            self.views = ViewSet(self.root, current_generations(self.root), self.indexing, growth=self.growth)
        except DamagedError as error:
            _log.warning("views_damaged", profile=self.name, reason=str(error))
            fresh = dict.fromkeys(VIEWS, next_generation(self.root))
            self.views = ViewSet(self.root, fresh, self.indexing, growth=self.growth)
            switch(self.root, fresh)

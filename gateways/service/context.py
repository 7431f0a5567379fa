"""What every use case works with, joined once by the composition root."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Literal, Protocol, TypeVar

import msgspec
from eventsourcing.application import Application

from domain.envelope import Actor
from domain.errors import UnavailableError
from domain.grants import Grant, Principal, Reach, reach
from domain.kernel import Context
from domain.ports import Embedder
from domain.settings import Reaches, Settings
from gateways.jetstream.seal_keys import SealKey
from gateways.jetstream.turns import TurnStore
from gateways.managed import ManagedClient
from gateways.service.analyses import Analyses
from gateways.service.backups import Backups
from gateways.service.embedding import EmbeddingWorker
from gateways.service.events import EventReader
from gateways.service.feeds import Feeds
from gateways.service.models import Models
from gateways.service.past_views import PastViews
from gateways.service.positions import Positions
from gateways.service.profiles import OpenProfile, Profiles
from gateways.service.reader import Reader
from gateways.service.rebuilding import Rebuilds
from gateways.service.redacting import Redacting
from gateways.service.refusals import PolicyRefusals
from gateways.service.verifications import Verifications
from projections.directory import Directory, ProfileCounts
from umbriel.reflecting import ReflectDayReply, ReflectDayRequest
from umbriel.types import Visibility
from umbriel.upkeep import ConsolidateReply, ConsolidateRequest

__all__ = ["Caller", "Core", "Daily", "Erases", "Missing", "Thinks", "counts_of"]

T = TypeVar("T")


def counts_of(profile: OpenProfile) -> ProfileCounts:
    """Return what an open profile holds, with the bytes of its views on disk."""
    views = profile.views
    counts = views.ledger.counts()
    return ProfileCounts(
        messages=counts.messages,
        memories=counts.memories,
        pending=counts.pending,
        failed=counts.failed,
        bytes=views.ledger.bytes_on_disk + views.vectors.bytes_on_disk + views.keywords.bytes_on_disk,
    )


class Caller(msgspec.Struct, frozen=True):
    """An authenticated principal; its type comes from its grant, never from a payload.

    ``reach`` is what it may touch in the profile of the request at hand; nothing before that is decided.
    """

    principal: str
    type: Literal["person", "agent"]
    reach: Reach = Reach()
    grants: tuple[Grant, ...] = ()

    def within(self, profile: str) -> Reach:
        """Return what the caller may touch in any profile."""
        return reach(Principal(self.principal, self.type, self.grants), profile)

    def context(self) -> Context:
        """Return the context of a command given now."""
        return Context(actor=Actor(self.principal, self.type), now=datetime.now(UTC))


class Missing(msgspec.Struct, frozen=True):
    """Messages of a session between two positions that are to get an overlay; none where only the summary is old."""

    session: str
    first: int = 0
    last: int = -1
    overflowed: bool = False


class Thinks(Protocol):
    """What reads conversations for memories and judges those, after a write was acknowledged."""

    @property
    def idle(self) -> bool:
        """Whether nothing is being thought about."""

    def hurry(self, profile: str, session: str) -> None:
        """Read what a session holds now, without waiting for an answer in it."""

    async def settle(self, profile: OpenProfile, position: int, *, session: str = "") -> None:
        """Wait until what was written up to a position is thought through; UnavailableError when it takes too long."""

    async def retry(self, profile: OpenProfile) -> tuple[int, Sequence[str]]:
        """Read again what could not be read; returns how many stretches, and why some failed once more."""

    def cover(self, profile: str, missing: Missing) -> None:
        """Let a summary stand for what a context has no room for."""


class Daily(Protocol):
    """What is done over every profile once a day."""

    @property
    def idle(self) -> bool:
        """Whether nothing of it is being done."""

    def due(self) -> Mapping[str, datetime]:
        """Return when each pass came due last, by its name."""


class Erases(Protocol):
    """What finishes erasures."""

    @property
    def idle(self) -> bool:
        """Whether nothing is being erased."""

    async def settle(self, profile: str, position: int, seconds: float) -> bool:
        """Wait until what was erased up to a position is gone from here; returns whether it is in time."""


class Core:
    """The parts that use cases share. All of it lives on one event loop; commands run in ``threads``."""

    def __init__(
        self,
        *,
        settings: Settings,
        events: EventReader,
        application: Application[str],
        profiles: Profiles,
        reader: Reader,
        worker: EmbeddingWorker,
        directory: Directory,
        embedder: Embedder,
        positions: Positions,
        rebuilds: Rebuilds,
        refusals: PolicyRefusals,
        turns: TurnStore,
        embedder_reaches: Reaches = "local",
        managed: ManagedClient | None = None,
    ) -> None:
        self.settings = settings
        self.events = events
        self.application = application
        self.profiles = profiles
        self.reader = reader
        self.worker = worker
        self.directory = directory
        self.embedder = embedder
        self.positions = positions
        #: tells what is forgotten, whose words no reading of the log shows
        self.redacting = Redacting(events, profiles, reader, seconds=settings.wait_seconds)
        self.feeds = Feeds(
            events, positions, self.redacting, passed=reader.passed, cache_bytes=settings.feed_cache_bytes
        )
        self.rebuilds = rebuilds
        self.past = PastViews(events, profiles, settings.past)
        #: what answers in words and analyses queries, as far as it is configured
        self.models = Models((), ())
        self.analyses = Analyses(settings.analysis)
        #: answers being made
        self.answering = 0
        #: None where conversations are only kept
        self.thinking: Thinks | None = None
        #: what is done once a day, None where nothing is
        self.daily: Daily | None = None
        #: what makes backups, None where nothing does
        self.backups: Backups | None = None
        #: decays and merges in a profile when somebody asks for it
        self.consolidate: Callable[[str, ConsolidateRequest], Awaitable[ConsolidateReply]] | None = None
        self.erasures: Erases | None = None
        #: which principals' grants name a contact
        self.granted: Callable[[str], tuple[str, ...]] = lambda _: ()
        #: thinks about a day of a profile when somebody asks for it
        self.reflect_day: Callable[[str, ReflectDayRequest], Awaitable[ReflectDayReply]] | None = None
        #: looks at the whole log when somebody asks for it
        self.verifications: Verifications | None = None
        #: seals what is not sealed yet
        self.seal: Callable[[], Awaitable[None]] | None = None
        #: what seals and the proofs of exports are signed with, None where nothing is sealed
        self.seal_key: SealKey | None = None
        self.policy_refusals = refusals
        self.turns = turns
        self.embedder_reaches: Reaches = embedder_reaches
        self.managed = managed
        #: why a class of a profile's content is not forwarded now
        self.forwarding: dict[tuple[str, str], str] = {}
        #: whether nothing waits to be forwarded
        self.forwarded: Callable[[], bool] = lambda: True
        #: sends what the managed memory would not take once more, None without one
        self.forward_again: Callable[[str], Awaitable[int]] | None = None
        self.threads = ThreadPoolExecutor(settings.command_threads, thread_name_prefix="command")
        self.known: set[str] = set()
        #: position of what was taken out of recall last here, by profile; see `aggregates.note_ended`
        self.ended: dict[str, int] = {}
        self.ended_lock = threading.Lock()
        #: position of the last message acknowledged here, by profile: the next context shows it
        self.said: dict[str, int] = {}
        #: position of the last rejection or correction written here, by profile
        self.settled: dict[str, int] = {}
        self.started = time.monotonic()
        profiles.closing.append(self._note_counts)

    def _note_counts(self, profile: OpenProfile) -> None:
        self.directory.note_counts(profile.name, counts_of(profile))

    def close(self) -> None:
        """Let running commands finish and take no more."""
        self.threads.shutdown()

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Run a blocking function in the bounded pool."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, function)

    async def known_profile(self, name: str) -> bool:
        """Whether the profile exists, without creating it."""
        if name not in self.known and await self.in_thread(lambda: self.directory.has_profile(name)):
            self.known.add(name)
        return name in self.known

    async def wait_for(self, profile: OpenProfile, position: int, visibility: Visibility) -> None:
        """Wait until the profile's views are applied (``keyword``) or complete at ``position``."""
        seconds = self.settings.wait_seconds
        await self.reader.wait_for(position, seconds)
        self.check_running(profile)
        if visibility == "keyword":
            return
        if not await self.reader.wait_until(lambda: self.complete(profile) >= position, seconds):
            raise UnavailableError(
                "embeddings up to that position are not complete yet",
                expected=str(position),
                found=str(self.complete(profile)),
            )

    async def settle(self, profile: OpenProfile, position: int, *, session: str = "") -> None:
        """Wait until what was written up to ``position`` is embedded, read for memories (a session's) and judged."""
        if self.thinking is None:
            await self.wait_for(profile, position, "complete")
        else:
            await self.thinking.settle(profile, position, session=session)

    def applied(self, profile: OpenProfile) -> int:
        """Return the position up to which a profile's views hold everything."""
        return profile.views.position if profile.views.stopped else self.reader.passed

    def complete(self, profile: OpenProfile) -> int:
        """Return the position up to which nothing live waits for its embedding, in the views that are fed now.

        While the vectors are off, no channel would find more by waiting.
        """
        profile = self.profiles.current(profile)
        if "vectors" in profile.views.off:
            return self.applied(profile)
        ledger = profile.views.ledger
        complete, applied = ledger.complete_position(), self.applied(profile)
        return applied if complete >= ledger.position else min(complete, applied)

    def check_running(self, profile: OpenProfile) -> None:
        """Raise UnavailableError when a view of the profile has stopped."""
        for view, reason in profile.views.stopped.items():
            raise UnavailableError(
                f"the {view} view of {profile.name} has stopped; rebuild it", expected="a running view", found=reason
            )

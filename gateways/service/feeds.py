"""What all subscribers share: the stretches already decoded, and the place where they wait for more.

Feeds follow the log on their own, so that indexing and a stopped view delay nobody. A waiting feed holds a future
and nothing else; it is woken by events of its own profile and categories, and by nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import aclosing
from weakref import WeakValueDictionary

import structlog

from domain.envelope import Envelope, profile_of
from domain.errors import DamagedError, UnavailableError
from domain.events import (
    ContactSet,
    ContactsLinked,
    ContactsUnlinked,
    ConversationDeleted,
    ConversationEnded,
    Event,
    ExtractionCompleted,
    ExtractionFailed,
    ImportStarted,
    MemoryRemembered,
    MemoryRestored,
    MessageForgotten,
    MessageRecorded,
    NotesSet,
    OverlayAdded,
    ProfileCreated,
    ProfileImported,
    RecallServed,
    ReflectionDrafted,
    ReflectionRecorded,
    SettingsChanged,
    SummaryRewritten,
    TaskCleared,
    TaskSet,
)
from domain.grants import ALL
from domain.redacting import quoted
from gateways.jetstream.log import Entry, Tail
from gateways.service.events import EventReader
from gateways.service.feed_cache import BETWEEN, About, FeedCache, Item, Stretch, View
from gateways.service.positions import Positions
from gateways.service.redacting import FORGETTING_TOPICS, Redacting, Shown, redacted_item
from umbriel._json import encoded

__all__ = ["QUIET", "Feeds", "about_of"]

#: Categories that are left out unless they are asked for.
QUIET = frozenset({"embedding", "access", "usage", "recall"})
_KEEPS_KEYS = frozenset(
    event.TOPIC
    for event in (ProfileCreated, ContactsLinked, ContactsUnlinked, SettingsChanged, ImportStarted, ProfileImported)
)
_PAGE = 500
_RESUME_SECONDS = 0.5
_log = structlog.get_logger(__name__)


class Feeds:
    """The decoded recent log and the waiting feeds of one instance.

    ``log_reads`` counts reads of the log for feeds, ``wakes`` the feeds woken, ``waiting`` those that wait now.
    """

    def __init__(
        self, events: EventReader, positions: Positions, redacting: Redacting, *, passed: int, cache_bytes: int
    ) -> None:
        self._events = events
        self._redacting = redacting
        self._positions = positions
        self.cache = FeedCache(cache_bytes)
        self._waiting: dict[str, dict[asyncio.Future[None], frozenset[str]]] = defaultdict(dict)
        self._turns: WeakValueDictionary[View, asyncio.Lock] = WeakValueDictionary()
        self._closed = False
        #: seconds after which events of a profile are no longer decoded as they come when nobody asks or waits
        self.unused_seconds = 60.0
        self.log_reads = 0
        self.wakes = 0
        #: the position up to which events are shown and waiting feeds were woken
        self.passed = passed
        self._moved = asyncio.Condition()
        events.keys.forgotten.append(self.cache.drop)

    # -- reading --------------------------------------------------------------------------------

    async def after(self, view: View, position: int) -> tuple[list[Item], int] | None:
        """Return the next events of a view after a position and how far they reach; None when all is read.

        The log is read once for all who ask for the same stretch. Raises DamagedError at an event that cannot be
        read, UnavailableError when the log does not answer.
        """
        if position >= self.passed:
            return None
        turn = self._turns.setdefault(view, asyncio.Lock())
        found = self.cache.find(view, position)
        if found is None:
            async with turn:
                found = self.cache.find(view, position) or await self._read(view, position)
        if found.items:
            # Nothing is awaited between this and the reading: what is forgotten by now is in no event.
            found.redact(await self._redacting.forgotten(view[0]), redacted_item)
        return found.after(position), found.end

    async def _read(self, view: View, after: int) -> Stretch:
        self.cache.open(view, self.passed)
        limit = self.cache.next_start(view, after)
        entries, end = await self._entries(view[0], after, limit)
        wanted = [entry for entry in entries if view[1] or _category(entry) not in QUIET]
        part = await self._events.decode(wanted, end)
        items = [self._item(envelope) for envelope in part.envelopes]
        if part.poison:
            return await self._until_damage(view[0], wanted, after, items)
        stretch = Stretch(after, end, items)
        # A key that was destroyed meanwhile must not live on here.
        if all(map(self._held, part.envelopes)):
            self.cache.insert(view, stretch)
        return stretch

    async def _entries(self, profile: str, after: int, limit: int) -> tuple[list[Entry], int]:
        """Return the profile's entries after a position and the position up to which there are no others."""
        self.log_reads += 1
        read = await self._events.log.read(after, _PAGE, profile)
        if not read:
            # A replica may lag behind what was passed here; the leader does not.
            self.log_reads += 1
            found = await self._events.log.next(after, profile)
            read = [found] if found is not None else []
        entries = [entry for entry in read if entry.position <= limit]
        return entries, entries[-1].position if len(entries) == len(read) and entries else limit

    async def _until_damage(self, profile: str, entries: Sequence[Entry], after: int, items: list[Item]) -> Stretch:
        """Return what can be read before a damaged event; at the damaged event itself, say so."""
        if items:
            return Stretch(after, items[-1].position, items)
        for entry in entries:
            poison = (await self._events.decode([entry], entry.position)).poison
            if poison:
                raise DamagedError(
                    f"the feed of {profile} cannot go on: {poison[profile]}",
                    expected=f"readable events, or --after {self._positions.show(entry.position)} to pass over this",
                    found="an event that cannot be read",
                )
        return Stretch(after, entries[-1].position)

    def _item(self, envelope: Envelope) -> Item:
        event = envelope.data
        shown = Shown(
            position=self._positions.show(envelope.position),
            topic=envelope.topic,
            recorded_at=envelope.recorded_at,
            event_id=envelope.event_id,
            actor=envelope.actor.principal,
            actor_type=envelope.actor.type,
            data=event.without_blob(),
        )
        quotes = quoted(event, envelope.position)
        return Item(envelope.position, event.category(), about_of(event), encoded(shown), quotes)

    def _held(self, envelope: Envelope) -> bool:
        return not envelope.key_id or self._events.keys.cached_id(envelope.profile, envelope.key_id) is not None

    # -- following ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the log until cancelled; only events of profiles that somebody listens to are decrypted."""
        while True:
            try:
                async with aclosing(self._events.log.tail(self.passed)) as parts:
                    async for part in parts:
                        await self._follow(part)
            except UnavailableError as error:
                _log.warning("feeds_resume", after=self.passed, reason=str(error))
            await asyncio.sleep(_RESUME_SECONDS)

    async def _follow(self, part: Tail) -> None:
        by_profile: dict[str, list[Entry]] = defaultdict(list)
        for entry in part.entries:
            by_profile[profile_of(entry.originator_id)].append(entry)
        decoded = self.cache.opened()
        read = {profile: await self._decode(profile, entries, decoded) for profile, entries in by_profile.items()}
        self.cache.close_unused(time.monotonic() - self.unused_seconds, self._waiting)
        # From here on nothing is awaited: whoever asks finds all of this part or nothing of it.
        for view in self.cache.opened() - decoded:
            self.cache.restart(view, part.passed)
        for profile, envelopes in read.items():
            self._extend(profile, envelopes, by_profile[profile])
            self._redacting.note_entries(profile, by_profile[profile])
        self.passed = max(self.passed, part.passed)
        self.cache.advance(self.passed)
        for profile, entries in by_profile.items():
            self._wake(profile, None if read[profile] is None else {_category(entry) for entry in entries})
        async with self._moved:
            self._moved.notify_all()

    async def _decode(self, profile: str, entries: Sequence[Entry], views: set[View]) -> list[Envelope] | None:
        """Return the events that somebody listens to; None when one of them cannot be read."""
        if not {(profile, False), (profile, True)} & views:
            return []
        quiet = (profile, True) in views
        wanted = [entry for entry in entries if quiet or _category(entry) not in QUIET]
        read = await self._events.decode(wanted, 0)
        return None if read.poison else read.envelopes

    def _extend(self, profile: str, envelopes: Sequence[Envelope] | None, entries: Sequence[Entry]) -> None:
        if envelopes is None or not all(map(self._held, envelopes)) or any(map(_takes_out, entries)):
            self.cache.drop(profile)
            return
        items = [self._item(envelope) for envelope in envelopes]
        for view in ((profile, False), (profile, True)):
            if items and self.cache.is_open(view):
                self.cache.extend(view, [item for item in items if view[1] or item.category not in QUIET])

    async def reach(self, position: int, seconds: float) -> None:
        """Wait until everything up to a position can be read here, or until the time is over."""
        try:
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(lambda: self.passed >= position)
        except TimeoutError:
            return

    def _wake(self, profile: str, categories: set[str] | None) -> None:
        for future, wanted in self._waiting.get(profile, {}).items():
            if not future.done() and (categories is None or not wanted.isdisjoint(categories)):
                self.wakes += 1
                future.set_result(None)

    # -- waiting --------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many feeds wait now."""
        return sum(map(len, self._waiting.values()))

    async def wait(self, view: View, categories: frozenset[str], after: int, seconds: float) -> None:
        """Wait for an event of these categories after a position, or until the time is over.

        Raises UnavailableError when the service stops.
        """
        self.cache.open(view, self.passed)
        if self.cache.is_behind(view, after) or any(
            item.category in categories for item in self.cache.live_after(view, after)
        ):
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[view[0]]
        waiting[future] = categories
        try:
            async with asyncio.timeout(seconds):
                self._check_open()
                await future
                self._check_open()
        except TimeoutError:
            return
        finally:
            del waiting[future]
            if not waiting and self._waiting.get(view[0]) is waiting:
                del self._waiting[view[0]]

    def _check_open(self) -> None:
        if self._closed:
            raise UnavailableError("the service stops", expected="a running service", found="one that stops")

    def close(self) -> None:
        """Send every waiting feed home."""
        self._closed = True
        for profile in self._waiting:
            self._wake(profile, None)


def _category(entry: Entry) -> str:
    return entry.topic.split(".", 1)[0]


def _takes_out(entry: Entry) -> bool:
    """Whether an event takes others out of the feed: it forgets, or may mean that keys were destroyed.

    Any of the profile's own may mean that but those known not to.
    """
    ends_keys = _category(entry) == ProfileCreated.category() and entry.topic not in _KEEPS_KEYS
    return ends_keys or entry.topic in FORGETTING_TOPICS


def about_of(event: Event) -> About | None:
    """Return what tells whose an event is, None where it is the whole profile's."""
    match event:
        case ContactSet():
            return About("said", event.contact)
        case MemoryRemembered():
            return About("remembered", event.scope or "")
        case MemoryRestored():
            return About("remembered", event.content.scope or "")
        case MessageRecorded() | MessageForgotten() | ExtractionCompleted() | ExtractionFailed() | SummaryRewritten():
            return About("session", event.session)
        case ConversationEnded() | ConversationDeleted() | NotesSet() | TaskSet() | TaskCleared() | OverlayAdded():
            return About("session", event.session)
        case RecallServed() if event.session:
            return About("session", event.session)
        case RecallServed():
            # A question without a contact may be about what only they hear who hear everybody.
            return None if event.contact == ALL else About("said", event.contact)
        case ReflectionDrafted() | ReflectionRecorded() if event.contact:
            return About("said", event.contact)
        case ContactsLinked() | ContactsUnlinked():
            return About("link", f"{event.first}{BETWEEN}{event.second}")
    memory = getattr(event, "memory", "") or next(iter(getattr(event, "memories", ())), "")
    return About("memory", memory) if memory else None

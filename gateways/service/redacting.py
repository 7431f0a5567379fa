"""What of a profile is forgotten, for whoever reads its log: the feed and everything else that shows events.

The ledger tells (`domain.redacting` decides). It is asked once it has reached every forgetting that was acknowledged
here or seen in the log; where it has stopped before one, the log itself tells the rest.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from datetime import datetime

import msgspec

from domain.events import TOPICS, ConversationDeleted, Event, MemoryForgotten, MessageForgotten, decode_event
from domain.redacting import Forgotten, Tombstone, buried, redacted
from gateways.jetstream.log import Entry
from gateways.service.events import EventReader
from gateways.service.feed_cache import Item
from gateways.service.profiles import OpenProfile, Profiles
from gateways.service.reader import Reader
from umbriel._json import encoded

__all__ = ["FORGETTING_TOPICS", "Redacting", "Shown", "redacted_item"]

#: The topics of the events that forget something.
FORGETTING_TOPICS = frozenset(event.TOPIC for event in (MessageForgotten, MemoryForgotten, ConversationDeleted))
_PAGE = 1_000


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A `FeedEvent` whose data is still the event, or its JSON."""

    position: str
    topic: str
    recorded_at: datetime
    event_id: str
    actor: str
    actor_type: str
    data: Event | msgspec.Raw
    redacted: bool | msgspec.UnsetType = msgspec.UNSET
    redacted_by: str | msgspec.UnsetType = msgspec.UNSET


class _Raw(Shown, frozen=True, kw_only=True):
    data: msgspec.Raw


class Redacting:
    """Tells what is forgotten, as far as anybody was told that it is."""

    def __init__(self, events: EventReader, profiles: Profiles, reader: Reader, *, seconds: float) -> None:
        self._events = events
        self._profiles = profiles
        self._reader = reader
        self._seconds = seconds
        self._first = reader.passed
        self._noted: dict[str, int] = {}
        self._lock = threading.Lock()

    def note(self, profile: str, position: int) -> None:
        """Keep where something was forgotten: what is read from now on knows of it."""
        with self._lock:
            self._noted[profile] = max(position, self._noted.get(profile, 0))

    def note_entries(self, profile: str, entries: Iterable[Entry]) -> None:
        """Keep where entries of the log forget something, whoever wrote them."""
        found = [entry.position for entry in entries if entry.topic in FORGETTING_TOPICS]
        if found:
            self.note(profile, found[-1])

    async def forgotten(self, profile: str) -> Forgotten:
        """Return what is forgotten in a profile that exists; the same object as long as nothing more is.

        Raises UnavailableError when the ledger has not got as far in time, or is being made again.
        """
        least = max(self._noted.get(profile, 0), self._first)
        if least > self._reader.passed and not await self._stopped(profile):
            await self._reader.wait_for(least, self._seconds)
        async with self._profiles.use(profile) as opened:
            ledger = opened.views.ledger
            known = ledger.forgotten_known()
            if known is None:
                known = await asyncio.to_thread(ledger.forgotten)
            return await self._completed(opened, known) if "ledger" in opened.views.stopped else known

    async def _stopped(self, profile: str) -> bool:
        async with self._profiles.use(profile) as opened:
            return "ledger" in opened.views.stopped

    async def _completed(self, opened: OpenProfile, known: Forgotten) -> Forgotten:
        """Add what was forgotten after the place where the ledger has stopped."""
        tombstones, after = dict(known.tombstones), opened.views.ledger.position
        while entries := await self._events.log.read(after, _PAGE, opened.name):
            after = entries[-1].position
            forgetting = [entry for entry in entries if entry.topic in FORGETTING_TOPICS]
            for envelope in (await self._events.decode(forgetting, after)).envelopes:
                tombstone = Tombstone(envelope.position, envelope.event_id, envelope.recorded_at)
                tombstones |= dict.fromkeys(buried(envelope.data), tombstone)
        return Forgotten(tombstones) if len(tombstones) > len(known.tombstones) else known


def redacted_item(item: Item, forgotten: Forgotten) -> Item:
    """Return an event as it goes out, without the words that are forgotten."""
    shown = msgspec.json.decode(item.raw, type=_Raw)
    event = decode_event(shown.topic, TOPICS[shown.topic].SCHEMA, bytes(shown.data))
    found = redacted(event, item.position, forgotten)
    if found is None:
        return item
    left = msgspec.structs.replace(shown, data=msgspec.Raw(encoded(found.event)), redacted=True)
    return msgspec.structs.replace(item, raw=encoded(msgspec.structs.replace(left, redacted_by=found.by)))

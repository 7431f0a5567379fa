"""The log as decrypted envelopes: what projectors, the feed and the history read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import msgspec

from domain.envelope import Envelope, profile_of
from domain.errors import DamagedError
from domain.events import LostRange
from domain.ids import keyed_id, originator_id
from domain.kinds import CLEAR
from domain.sealing import is_lost
from gateways.jetstream.codec import open as open_entry
from gateways.jetstream.codec import seal
from gateways.jetstream.keys import KeyRing
from gateways.jetstream.log import Append, Entry, Log

#: the profile part of what belongs to no profile
_NOBODY = "_"

#: the category of the aggregates that erasures are
ERASURES = "erasure"

__all__ = ["ERASURES", "EventReader", "Passed"]


class Passed(msgspec.Struct, frozen=True):
    """What was read from the log: readable events, how far, and the first unreadable event per profile.

    Events of a profile after its unreadable one are left out: its views must not skip it silently.
    """

    envelopes: list[Envelope]
    position: int
    poison: dict[str, str] = {}


class EventReader:
    """Reads and writes envelopes; events whose key was destroyed are skipped."""

    def __init__(self, log: Log, keys: KeyRing, lost: tuple[LostRange, ...] = ()) -> None:
        self.log = log
        self.keys = keys
        #: positions whose loss is on record: whatever is there is not what was written
        self.lost = lost

    async def secret(self, profile: str) -> bytes:
        """Return the profile's secret, created on first use."""
        return await self.keys.secret(profile)

    async def subject_id(self, profile: str, category: str, public: str) -> str:
        """Return the originator id of a public id."""
        return originator_id(profile, category, keyed_id(await self.secret(profile), public))

    async def decode(self, entries: Sequence[Entry], passed: int) -> Passed:
        """Return the envelopes of entries in order, without those whose key was destroyed."""
        envelopes: list[Envelope] = []
        poison: dict[str, str] = {}
        for entry in entries:
            profile = profile_of(entry.originator_id)
            if profile in poison or profile == _NOBODY or is_lost(entry.position, self.lost):
                continue
            try:
                key = await self.keys.by_id(profile, entry.key_id) if entry.key_id else None
                if key is not None or not entry.key_id:
                    envelopes.append(open_entry(entry, key))
            except DamagedError as error:
                poison[profile] = f"event at {entry.position}: {error}"
        return Passed(envelopes, passed, poison)

    async def opened(self, entry: Entry) -> Envelope | None:
        """Return one event of any profile or of none; None when its key was destroyed, or it cannot be read."""
        try:
            key = await self.keys.by_id(profile_of(entry.originator_id), entry.key_id) if entry.key_id else None
            return None if entry.key_id and key is None else open_entry(entry, key)
        except DamagedError:
            return None

    async def encode(self, envelope: Envelope, *, expected: int | None) -> Append:
        """Return what to append for an envelope, encrypted under the key of its scope unless that is `CLEAR`."""
        if envelope.key_scope == CLEAR:
            return seal(envelope, None, expected=expected)
        key = await self.keys.key(profile_of(envelope.originator_id), envelope.key_scope)
        return seal(envelope, key, expected=expected)

    async def read(self, after: int, limit: int, profile: str) -> Passed:
        """Return up to ``limit`` events of a profile after a position."""
        entries = await self.log.read(after, limit, profile)
        return await self.decode(entries, entries[-1].position if entries else after)

    async def erasures(self, profile: str | None = None) -> list[Envelope]:
        """Return what the log says was erased, of one profile or of all, as far as it can be read still."""
        entries = await self.log.category(ERASURES, profile)
        parts = [await self.decode([entry], entry.position) for entry in entries]
        return [envelope for part in parts for envelope in part.envelopes]

    async def event_id_at(self, position: int, profile: str) -> str:
        """Return the id of the profile's event at a position, or empty."""
        entries = await self.log.read(position - 1, 1, profile)
        return entries[0].event_id if entries and entries[0].position == position else ""

    async def tail(self, after: int, batch: int) -> AsyncGenerator[Passed]:
        """Follow the whole log from a position, in order."""
        async with aclosing(self.log.tail(after, None, batch)) as parts:
            async for part in parts:
                self._check_whole(after, part.entries)
                after = part.passed
                yield await self.decode(part.entries, part.passed)

    def _check_whole(self, after: int, entries: Sequence[Entry]) -> None:
        """Halt at a gap: a server that cannot read a message passes over it in silence, and no view may."""
        for entry in entries:
            gap = next((at for at in range(after + 1, entry.position) if not is_lost(at, self.lost)), 0)
            if gap:
                self.log.halt(
                    f"the message at position {gap} of the log cannot be read; restore it, or stop the service "
                    "and run `umbriel recover` to go on with what is left"
                )
                raise DamagedError(self.log.halted, expected=f"position {gap}", found=str(entry.position))
            after = entry.position

    async def append(self, envelopes: Sequence[Envelope], *, expected: int | None) -> list[int]:
        """Append envelopes in one atomic step, each as the first (0) or any (None) of its subject."""
        return await self.log.append([await self.encode(one, expected=expected) for one in envelopes])

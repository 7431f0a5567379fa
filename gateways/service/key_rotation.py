"""A new master key for every key there is: wrapped again one by one, so that a kill anywhere is gone on from.

The new master key is on disk before the first record is wrapped under it; until the last one is, both can be read.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog

from domain.errors import UmbrielError
from gateways.jetstream.key_records import CLOSED, subject_of
from gateways.jetstream.keys import CHECK, KeyRing
from gateways.jetstream.master_keys import MasterKeys, fingerprint
from gateways.jetstream.wire import Entry
from umbriel.keys import KeysReply, KeysRequest, ProfileKeys, RotateKeysReply

__all__ = ["KeyRotation"]

_log = structlog.get_logger(__name__)
_AT_ONCE = 16
_AGAIN_SECONDS = 30.0


class KeyRotation:
    """Lists keys and wraps them under a new master key; one rotation at a time."""

    def __init__(self, ring: KeyRing, masters: MasterKeys) -> None:
        self._ring = ring
        self._masters = masters
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """Go on with a rotation that an earlier run of the service did not end, then rest until cancelled."""
        while self._ring.renewing:
            try:
                await self._finish()
            except UmbrielError as error:
                _log.warning("rotation_delayed", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
        await asyncio.Event().wait()

    async def rotate(self) -> RotateKeysReply:
        """Wrap every key under a new master key, or go on with that; returns when the old one is of no use."""
        self._ring.renew(self._masters.following())
        return await self._finish()

    async def _finish(self) -> RotateKeysReply:
        async with self._turn:
            records = 0
            if self._ring.renewing:
                records = await self._rewrap()
                # The last of all: as long as it is under the old key, a start knows that both may be needed.
                await self._ring.rewrap(CHECK)
                await asyncio.to_thread(self._masters.replaced)
                self._ring.renewed()
                _log.info("master_key_rotated", records=records)
            return RotateKeysReply(master=fingerprint(self._masters.present()[0]), records=records)

    async def _rewrap(self) -> int:
        """Wrap what is not yet; again until a pass finds nothing, for others make keys meanwhile."""
        total = 0
        while True:
            done = 0
            async with aclosing(self._wrapped()) as parts:
                async for part in parts:
                    done += sum(await asyncio.gather(*(self._ring.rewrap(subject) for subject in part)))
            total += done
            if not done:
                return total

    async def _wrapped(self) -> AsyncGenerator[set[str]]:
        part: set[str] = set()
        async with aclosing(self._ring.records.every()) as records:
            async for entry in records:
                if entry.body and not self._ring.is_under(entry.body):
                    part.add(subject_of(entry))
                if len(part) >= _AT_ONCE:
                    yield part
                    part = set()
        if part:
            yield part

    async def show(self, request: KeysRequest) -> KeysReply:
        """Return how many keys there are, and under which master key."""
        last: dict[str, dict[str, Entry]] = defaultdict(dict)
        async with aclosing(self._ring.records.every(request.profile)) as records:
            async for entry in records:
                profile, _, key_id = entry.originator_id.partition(".")
                last[profile][key_id] = entry
        key, old = await asyncio.to_thread(self._masters.present)
        return KeysReply(
            master=fingerprint(key),
            before=fingerprint(old) if old is not None and self._ring.renewing else "",
            source="environment" if self._masters.given else "file",
            profiles=[self._shown(profile, list(last[profile].values())) for profile in sorted(last)],
        )

    def _shown(self, profile: str, entries: list[Entry]) -> ProfileKeys:
        live = [entry for entry in entries if entry.body]
        return ProfileKeys(
            profile=profile,
            keys=len(live),
            destroyed=len(entries) - len(live),
            closed=sum(entry.topic == CLOSED for entry in entries),
            older=sum(not self._ring.is_under(entry.body) for entry in live),
        )

"""The worker that seals the log: a Merkle root over what was written since the last seal, signed, appended as an event.

Nobody waits for it and it takes nothing from writers: it reads what is acknowledged and appends one small message to a
subject of its own. Of two services whoever is first makes the seal; the other finds it and goes on behind it.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import structlog

from domain.envelope import Actor, Envelope
from domain.errors import ConflictError, DamagedError, UmbrielError
from domain.events import LostRange, SealMade
from domain.merkle import MerkleRoot
from domain.sealing import chain_of, leaf_at, seal_hash, statement_of
from domain.settings import SealingLimits
from gateways.jetstream.codec import open as open_entry
from gateways.jetstream.codec import seal as append_of
from gateways.jetstream.log import Entry, Log
from gateways.jetstream.seal_keys import SealKey
from gateways.jetstream.streams import subject_for
from gateways.service.positions import Positions
from gateways.service.witness import WitnessFile

__all__ = ["Sealer", "seal_in"]

_log = structlog.get_logger(__name__)
_ACTOR = Actor("sealer", "service")
_LOOK_SECONDS = 1.0
_FAREWELL_SECONDS = 5.0


def seal_in(entry: Entry) -> SealMade:
    """Return the seal of a seal event; raises DamagedError for anything else."""
    event = open_entry(entry, None).data
    if not isinstance(event, SealMade):
        raise DamagedError("not a seal", expected=SealMade.TOPIC, found=f"{event.TOPIC} at {entry.position}")
    return event


class Sealer:
    """Seals up to ``limits.messages`` at a time: when so many wait, after ``limits.seconds``, and when it ends.

    ``lost`` are positions whose loss is on record. What is missing without that is never sealed over: it is told to
    ``damaged``.
    """

    def __init__(
        self,
        log: Log,
        key: SealKey,
        positions: Positions,
        witness: WitnessFile,
        limits: SealingLimits,
        lost: tuple[LostRange, ...] = (),
        damaged: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._log = log
        self._key = key
        self._positions = positions
        self._witness = witness
        self._limits = limits
        self._lost = lost
        self._damaged = damaged
        self._chain = chain_of(positions.incarnation)
        self._one_at_a_time = asyncio.Lock()
        #: everything up to here is sealed, or is a seal
        self.sealed = 0
        self._waiting_since: float | None = None

    async def run(self, passed: Callable[[], int]) -> None:
        """Seal until cancelled; ``passed`` says how far the log is known to reach."""
        while True:
            if self._due(passed()):
                await self._try()
            await asyncio.sleep(min(_LOOK_SECONDS, self._limits.seconds))

    def _due(self, passed: int) -> bool:
        waiting = passed - self.sealed
        if waiting <= 0:
            self._waiting_since = None
            return False
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        return waiting >= self._limits.messages or time.monotonic() - self._waiting_since >= self._limits.seconds

    async def _try(self) -> None:
        self._waiting_since = None
        try:
            await self.seal()
        except DamagedError as error:
            self._damaged(str(error))
        except UmbrielError as error:
            _log.warning("seal_delayed", reason=str(error))

    async def seal(self, *, stretches: int | None = None) -> None:
        """Seal everything that is not sealed yet, or so many stretches of it."""
        async with self._one_at_a_time:
            while stretches is None or stretches > 0:
                if not await self._seal_next():
                    return
                stretches = None if stretches is None else stretches - 1

    async def finish(self) -> None:
        """Seal what was written last, as long as the log answers at once: whoever starts next makes up for it."""
        if not self._log.connection.client.is_connected or self._log.halted:
            return
        try:
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self.seal(stretches=1)
        except (UmbrielError, TimeoutError) as error:
            _log.warning("seal_delayed", reason=str(error))

    async def _seal_next(self) -> bool:
        """Append the next seal; False when everything is sealed."""
        newest = await self._log.newest(SealMade.category())
        before = None if newest is None else seal_in(newest)
        end = await self._log.last_position()
        first = 1 if before is None else before.last + 1
        last = min(end, first + self._limits.messages - 1)
        tree, seals_only = await self._tree(first, last)
        if seals_only and last == end:
            self.sealed = end
            return False
        seal = self._signed(first, last, tree, before)
        # What was read first is what is expected: read again, it might be a seal that another service has made since.
        own = newest if newest is not None and newest.originator_id == self._chain else None
        try:
            await self._append(seal, own)
        except ConflictError:
            return True  # another service was first
        self.sealed = last
        return True

    async def _tree(self, first: int, last: int) -> tuple[MerkleRoot, bool]:
        """Return the tree over a stretch, and whether it holds nothing but seals."""
        tree, seals = MerkleRoot(), subject_for(self._chain)
        others = 0
        async for place in self._log.stretch(first, last):
            leaf = leaf_at(place.position, place.message, self._lost)
            if leaf is None:
                raise DamagedError(
                    "a message of the log is missing; stop the service, then `umbriel verify` and `umbriel recover`",
                    expected=f"a message at position {place.position}",
                    found="none that can be read",
                )
            tree.add(leaf)
            others += place.message is None or place.message.subject != seals
        return tree, not others

    def _signed(self, first: int, last: int, tree: MerkleRoot, before: SealMade | None) -> SealMade:
        unsigned = SealMade(
            stream=self._positions.stream,
            number=1 if before is None else before.number + 1,
            first=first,
            last=last,
            root=tree.root().hex(),
            previous="" if before is None else seal_hash(before),
            public_key=self._key.public,
            signature="",
        )
        return msgspec.structs.replace(unsigned, signature=self._key.sign(statement_of(unsigned)))

    async def _append(self, seal: SealMade, own: Entry | None) -> None:
        envelope = Envelope(
            originator_id=self._chain,
            originator_version=1 if own is None else own.version + 1,
            event_id=uuid.uuid4().hex,
            recorded_at=datetime.now(UTC),
            actor=_ACTOR,
            data=seal,
        )
        (position,) = await self._log.append([append_of(envelope, None, expected=0 if own is None else own.position)])
        self._witness.keep(self._positions.incarnation, seal, position)
        _log.debug("sealed", number=seal.number, first=seal.first, last=seal.last)

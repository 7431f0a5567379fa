"""Which profiles this instance works for, where several share one log.

Views are everywhere; what costs is done once. Each partition is leased to one instance, whose workers embed, read and
judge for its profiles; the others leave that alone. It is a matter of cost, not of truth: work has deterministic ids
and whoever records it first wins, so that two owners for a moment, or an instance that cannot reach the leases and
works for everybody, double nothing. Whoever is asked to hurry works for that profile itself.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

import structlog

from domain.errors import UmbrielError
from domain.ids import PARTITIONS, partition_of
from gateways.jetstream.leases import Leases, LeaseTable
from gateways.service.rounds import ProfileWorker

__all__ = ["Shares", "fair_share"]

_log = structlog.get_logger(__name__)
_ALL = range(PARTITIONS)
#: seconds after which an instance that says nothing is none any more, and between two looks
_ALIVE = 6
_LOOK = 1.0
_FAREWELL = 3.0


def fair_share(members: Sequence[str], member: str) -> int:
    """Return how many partitions are a member's: all are given out, and no two shares differ by more than one."""
    whole, left = divmod(PARTITIONS, len(members))
    return whole + (members.index(member) < left)


class Shares:
    """The partitions of one instance: all of them without ``leases``, none where it is no worker (``works``)."""

    def __init__(
        self, leases: Leases | None = None, names: Callable[[], Iterable[str]] = tuple, *, works: bool = True
    ) -> None:
        self._leases = leases if works else None
        self._names = names
        #: what the instance is called among its members; it has no name where it is the only one
        self.name = "" if leases is None else secrets.token_hex(6)
        #: what is held, with the fencing value of each
        self.held: dict[int, int] = dict.fromkeys(_ALL if works and leases is None else (), 0)
        self._workers: list[ProfileWorker] = []
        self._said = self._heard = 0.0
        self._opened = False

    def mine(self, profile: str) -> bool:
        """Whether this instance works for a profile."""
        return partition_of(profile) in self.held

    def share(self, workers: Iterable[ProfileWorker]) -> None:
        """Let these workers leave alone what is not this instance's, unless they are asked to hurry."""
        for worker in workers:
            worker.held = self._unless_mine(worker, worker.held)
            self._workers.append(worker)

    def _unless_mine(
        self, worker: ProfileWorker, before: Callable[[str], Awaitable[bool]]
    ) -> Callable[[str], Awaitable[bool]]:
        async def held(profile: str) -> bool:
            return not (self.mine(profile) or worker.hurries(profile)) or await before(profile)

        return held

    def work(self) -> dict[str, Coroutine[None, None, None]]:
        """Return what is to be run until it is cancelled, by name."""
        return {} if self._leases is None else {"shares": self._run(self._leases)}

    async def _run(self, leases: Leases) -> None:
        self._heard = time.monotonic()
        while True:
            try:
                await self.look(leases)
                self._heard = time.monotonic()
            except UmbrielError as error:
                _log.warning("leases_unknown", reason=str(error))
                if time.monotonic() - self._heard > _ALIVE:
                    # Somebody may work for ours by now, or nobody for anything: twice is better than never.
                    self._hold(dict.fromkeys(_ALL, 0))
            await asyncio.sleep(_LOOK)

    async def look(self, leases: Leases) -> None:
        """Say that this instance is there; give back what is too much, take what is free and missing."""
        if not self._opened:
            await leases.open()
            self._opened = True
        if time.monotonic() - self._said >= _ALIVE / 3:
            await leases.join(self.name, _ALIVE)
            self._said = time.monotonic()
        table = await leases.table()
        if self.name not in table.members:
            # A replica that has not heard of us, or we were not heard of for too long.
            self._said = 0.0
            return
        own = {at: lease.revision for at, lease in table.leases.items() if lease.owner == self.name}
        wanted = fair_share(table.members, self.name)
        kept = dict(sorted(own.items())[:wanted])
        # No longer worked for before anybody else may.
        self._hold(kept)
        for partition in own.keys() - kept.keys():
            await leases.write(partition, "", own[partition])
        taken: dict[int, int] = {}
        for partition in self._free(table)[: wanted - len(kept)]:
            known = table.leases.get(partition)
            revision = await leases.write(partition, self.name, known.revision if known else 0)
            if revision is not None:
                taken[partition] = revision
        self._hold(kept | taken)

    def _free(self, table: LeaseTable) -> list[int]:
        """Return what nobody owns who is there; each member begins elsewhere, so that they seldom want the same."""
        free = [at for at in _ALL if at not in table.leases or table.leases[at].owner not in table.members]
        first = len(free) * table.members.index(self.name) // len(table.members)
        return free[first:] + free[:first]

    def _hold(self, held: dict[int, int]) -> None:
        gained, self.held = held.keys() - self.held.keys(), held
        if not gained:
            return
        _log.info("partitions_held", partitions=len(held), gained=len(gained))
        for name in self._names():
            if partition_of(name) in gained:
                for worker in self._workers:
                    worker.wake(name)

    async def close(self) -> None:
        """Hand back what is held, so that others need not wait until this instance is missed."""
        held, self.held = self.held, {}
        if self._leases is None or not self._opened:
            return
        try:
            async with asyncio.timeout(_FAREWELL):
                await self._leases.leave(self.name)
                await asyncio.gather(*(self._leases.write(at, "", seen) for at, seen in held.items() if seen))
        except (UmbrielError, TimeoutError) as error:
            _log.warning("leases_left_behind", reason=str(error) or type(error).__name__)

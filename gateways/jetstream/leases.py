"""Who works for which partition, in a KV bucket: members that say so again and again, and one lease a partition.

A member's key expires unless it is written again; a partition's key has its owner, and is only ever written by
compare-and-set on the revision that was read. A lease holds as long as its owner is a member. Its revision is the
fencing value: whoever finds another one there has lost the lease, however sure it was of it. Nobody is elected.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import nats.errors

from gateways.jetstream.connection import Connection, LostError
from gateways.jetstream.direct import StreamReader
from gateways.jetstream.errors import CONFLICTS, ServerError, translated
from gateways.jetstream.streams import LEASES_PREFIX, LEASES_STREAM, ensure_leases

__all__ = ["Lease", "LeaseTable", "Leases"]

_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_TTL = "Nats-TTL"
_MEMBER = f"{LEASES_PREFIX}.member"
_PARTITION = f"{LEASES_PREFIX}.partition"
_PAGE = 1_000


class Lease(msgspec.Struct, frozen=True):
    """A partition's owner, empty where it was handed back, and the fencing value."""

    owner: str
    revision: int


class LeaseTable(msgspec.Struct, frozen=True):
    """Who is a member, in order, and the leases by partition, as one replica has them."""

    members: tuple[str, ...]
    leases: Mapping[int, Lease]


class _Ack(msgspec.Struct, frozen=True):
    seq: int


class Leases:
    """The bucket. Every method raises UnavailableError when it does not answer."""

    def __init__(self, connection: Connection, *, replicas: int = 1) -> None:
        self._connection = connection
        self._replicas = replicas
        self._reader = StreamReader(connection, LEASES_STREAM, LEASES_PREFIX)

    async def open(self) -> None:
        """Make the bucket where it is missing."""
        await ensure_leases(self._connection.js, num_replicas=self._replicas)

    async def join(self, member: str, seconds: int) -> None:
        """Be a member for so long from now on."""
        await self._write(f"{_MEMBER}.{member}", b"1", {_TTL: str(seconds)})

    async def leave(self, member: str) -> None:
        """Be no member any more."""
        await self._write(f"{_MEMBER}.{member}", b"", {_TTL: "1"})

    async def table(self) -> LeaseTable:
        """Return members and leases; a replica may lag behind, and what is written on its word is refused then."""
        members: list[str] = []
        leases: dict[int, Lease] = {}
        for stored in await self._reader.stored(1, _PAGE):
            kind, _, name = stored.subject.removeprefix(f"{LEASES_PREFIX}.").partition(".")
            if kind == "partition":
                leases[int(name)] = Lease(stored.body.decode("ascii"), stored.position)
            elif stored.body:
                members.append(name)
        return LeaseTable(tuple(sorted(members)), leases)

    async def write(self, partition: int, owner: str, seen: int) -> int | None:
        """Give a partition an owner, or none; returns the fencing value, None when its key is not at ``seen`` any more.

        A write whose acknowledgement was lost may have happened: the table tells.
        """
        return await self._write(f"{_PARTITION}.{partition:02d}", owner.encode("ascii"), {_EXPECTED: str(seen)})

    async def _write(self, subject: str, body: bytes, headers: Mapping[str, str]) -> int | None:
        with translated("writing a lease"):
            try:
                return (await self._connection.call(subject, body, _Ack, headers)).seq
            except LostError as error:
                raise nats.errors.TimeoutError from error
            except ServerError as error:
                if error.err_code in CONFLICTS:
                    return None
                raise

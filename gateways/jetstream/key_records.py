"""The messages that key records are: read from the leader, written with an expectation, overwritten on disk."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator

import msgspec
import nats.errors

from domain.errors import InvalidInputError
from domain.ids import check_profile, partition_of
from domain.sealing import SYSTEM
from gateways.jetstream.connection import Connection, LostError
from gateways.jetstream.direct import StreamReader
from gateways.jetstream.errors import CONFLICTS, ServerError, translated
from gateways.jetstream.streams import KEYS_PREFIX
from gateways.jetstream.wire import Entry, RawMessage

__all__ = ["CLOSED", "RETRY_SECONDS", "KeyRecords", "is_closed", "is_destroyed", "key_subject", "subject_of"]

#: what the tombstone of a key says, after which its scope gets no other
CLOSED = "key.closed"
#: seconds for which a record is written again after a lost acknowledgement
RETRY_SECONDS = 15.0
_SAYS = "Umbriel-Topic"
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_NOTHING_THERE = frozenset({10037, 10043, 10057})
_PAUSE = 0.1
_PAGE = 1_000


class _Ack(msgspec.Struct, frozen=True):
    seq: int = 0


class KeyRecords:
    """The keys stream. Every method raises UnavailableError when it does not answer."""

    def __init__(self, connection: Connection, stream: str) -> None:
        self._connection = connection
        self._stream = stream
        self._reader = StreamReader(connection, stream, KEYS_PREFIX)

    async def last(self, subject: str) -> RawMessage | None:
        """Return the last record of a subject as the leader has it, or None."""
        return await self._reader.raw(msgspec.json.encode({"last_by_subj": subject}))

    async def every(self, profile: str = "") -> AsyncGenerator[Entry]:
        """Yield every record of a profile's keys, or of all, in the order in which they were written."""
        subject = f"{KEYS_PREFIX}.*.*.*"
        if profile:
            subject = f"{KEYS_PREFIX}.{partition_of(check_profile(profile)):02d}.{profile}.*"
        start = 1
        while True:
            page = await self._reader.after(subject, start, _PAGE)
            for entry in page.entries:
                yield entry
            if not page.more or not page.entries:
                return
            start = page.entries[-1].position + 1

    async def publish(self, subject: str, body: bytes, expected: int, deadline: float, says: str = "") -> None:
        """Try to write a record; the caller reads what the subject holds afterwards, whoever wrote it."""
        with translated("writing a key"):
            try:
                await self._connection.connected(deadline)
                headers = {_EXPECTED: str(expected), **({_SAYS: says} if says else {})}
                await self._connection.call(subject, body, _Ack, headers)
            except ServerError as error:
                if error.err_code not in CONFLICTS:
                    raise
            except (nats.errors.NoRespondersError, nats.errors.TimeoutError, LostError) as error:
                if time.monotonic() > deadline:
                    raise TimeoutError("no acknowledgement of a key") from error
                await asyncio.sleep(_PAUSE * random.uniform(0.5, 1.0))  # noqa: S311 -- spreads retries

    async def erase_before(self, subject: str, sequence: int, *, tombstones: bool = True) -> int:
        """Overwrite the records of a subject before a sequence on disk, ``tombstones`` too; returns how many."""
        start, erased = 1, 0
        while True:
            get = msgspec.json.encode({"seq": start, "next_by_subj": subject})
            found = await self._reader.raw(get)
            if found is None or found.seq >= sequence:
                return erased
            if tombstones or not is_destroyed(found):
                await self._erase(found.seq)
                erased += 1
            start = found.seq + 1

    async def _erase(self, sequence: int) -> None:
        subject = f"$JS.API.STREAM.MSG.DELETE.{self._stream}"
        # Without no_erase the server overwrites the message's bytes.
        request = msgspec.json.encode({"seq": sequence, "no_erase": False})
        deadline = time.monotonic() + RETRY_SECONDS
        with translated("destroying a key"):
            while True:
                try:
                    await self._connection.connected(deadline)
                    await self._connection.call(subject, request, _Ack)
                except ServerError as error:
                    if error.err_code in _NOTHING_THERE:
                        return
                    raise
                except LostError:
                    continue
                except nats.errors.NoRespondersError:
                    if time.monotonic() > deadline:
                        raise
                    await asyncio.sleep(_PAUSE)
                else:
                    return


def is_destroyed(record: RawMessage) -> bool:
    """Whether a record is a tombstone."""
    return not record.data


def is_closed(record: RawMessage) -> bool:
    """Whether a record is a tombstone after which its scope gets no other key."""
    return is_destroyed(record) and record.headers().get(_SAYS) == CLOSED


def key_subject(profile: str, key_id: str) -> str:
    """Return the subject of a key's record."""
    if profile != SYSTEM:
        check_profile(profile)
    return f"{KEYS_PREFIX}.{partition_of(profile):02d}.{profile}.{key_id}"


def subject_of(entry: Entry) -> str:
    """Return the subject of a record that was read; raises InvalidInputError where it is no key's."""
    profile, dot, key_id = entry.originator_id.partition(".")
    if not dot:
        raise InvalidInputError("not a key's record", expected="<profile>.<key>", found=entry.originator_id)
    return key_subject(profile, key_id)

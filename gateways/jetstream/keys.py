"""The keys that bodies are encrypted under: made on first use, wrapped by the master key, and destroyed for good.

A key's record and its tombstone share one subject of the keys stream. Whoever creates a key states that
the subject is empty, so a late writer can never bring a destroyed key back.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
import nats.errors
from cryptography.hazmat.primitives import keywrap

from domain.errors import DamagedError, MismatchError, NotFoundError
from domain.ids import check_profile, keyed_id, partition_of
from domain.sealing import SYSTEM
from gateways.jetstream.connection import Connection, LostError
from gateways.jetstream.direct import StreamReader
from gateways.jetstream.errors import CONFLICTS, ServerError, translated
from gateways.jetstream.streams import KEYS_PREFIX, KEYS_STREAM
from gateways.jetstream.wire import RawMessage

__all__ = ["CHECK", "CHECKED", "SECRET", "Key", "KeyRing", "fingerprint"]

#: what stands for the key id in the subject of a profile's secret
SECRET = "secret"  # noqa: S105 -- a name, not a value
KEY_BYTES = 32
#: the record that says which master key the others are wrapped under, and what it unwraps to
CHECK = f"{KEYS_PREFIX}.check"
CHECKED = hashlib.sha256(b"umbriel master key").digest()
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_NOTHING_THERE = frozenset({10037, 10043, 10057})
_RETRY_SECONDS = 15.0
_PAUSE = 0.1
_CACHED = 65_536


T = TypeVar("T")


class Key(msgspec.Struct, frozen=True):
    """A key: the id that events name, and 32 bytes."""

    key_id: str
    material: bytes

    def __repr__(self) -> str:
        return f"Key({self.key_id!r})"


class _Ack(msgspec.Struct, frozen=True):
    seq: int = 0


class KeyRing:
    """The keys of every profile. Every method raises UnavailableError when the log does not answer."""

    def __init__(self, connection: Connection, master_key: bytes, *, stream: str = KEYS_STREAM) -> None:
        self._connection = connection
        self._master_key = master_key
        self._stream = stream
        self._reader = StreamReader(connection, stream, KEYS_PREFIX)
        self._secrets: dict[str, bytes] = {}
        self._current: dict[tuple[str, str], Key] = {}
        self._by_id: dict[tuple[str, str], Key | None] = {}
        #: called with the profile whenever a key of it is dropped: what was read with it must not be kept
        self.forgotten: list[Callable[[str], None]] = []
        #: told of each key once it is destroyed: profile, id, and the fingerprint of what it was, if it was there
        self.destroyed: list[Callable[[str, str, str], Awaitable[None]]] = []

    async def check(self) -> None:
        """Raise MismatchError when the keys stream was written under another master key."""
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            record = await self._last(CHECK)
            if record is not None:
                break
            await self._publish(CHECK, keywrap.aes_key_wrap(self._master_key, CHECKED), 0, deadline)
        try:
            found = keywrap.aes_key_unwrap(self._master_key, record.body())
        except (keywrap.InvalidUnwrap, ValueError) as error:
            raise _wrong_master() from error
        if found != CHECKED:
            raise _wrong_master()

    # -- using keys -----------------------------------------------------------------------------

    async def secret(self, profile: str) -> bytes:
        """Return a profile's secret (32 bytes), made on first use."""
        cached = self._secrets.get(profile)
        if cached is not None:
            return cached
        subject = _subject(profile, SECRET)
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            record = await self._last(subject)
            if record is not None and not _destroyed(record):
                self._secrets[profile] = found = self._unwrap(record)
                return found
            # A profile that was erased and begins again gets a new secret on top of the tombstone.
            await self._publish(subject, self._fresh(), record.seq if record else 0, deadline)

    def cached(self, profile: str, scope: str) -> Key | None:
        """Return the key of a scope when it is known already; any thread may ask."""
        return self._current.get((profile, scope))

    def cached_id(self, profile: str, key_id: str) -> Key | None:
        """Return a key by its id when it is known already; any thread may ask."""
        return self._by_id.get((profile, key_id))

    async def key(self, profile: str, scope: str, *, create: bool = True) -> Key:
        """Return the present key of a scope, acknowledged by the log; NotFoundError without ``create``."""
        cached = self._current.get((profile, scope))
        if cached is not None:
            return cached
        secret = await self.secret(profile)
        deadline = time.monotonic() + _RETRY_SECONDS
        generation = 1
        while True:
            key_id = keyed_id(secret, "key", scope, str(generation))
            subject = _subject(profile, key_id)
            record = await self._last(subject)
            if record is None:
                if not create:
                    raise NotFoundError("this scope has no key", expected="a key", found="none")
                await self._publish(subject, self._fresh(), 0, deadline)
            elif _destroyed(record):
                generation += 1
            else:
                return self._keep(profile, scope, Key(key_id, self._unwrap(record)))

    async def by_id(self, profile: str, key_id: str) -> Key | None:
        """Return a key by its id, or None when it was destroyed; DamagedError when there is no trace of it."""
        if (profile, key_id) in self._by_id:
            return self._by_id[profile, key_id]
        record = await self._last(_subject(profile, key_id))
        if record is None:
            raise DamagedError("a key is missing", expected=f"the key {key_id} or its destruction", found="neither")
        key = None if _destroyed(record) else Key(key_id, self._unwrap(record))
        _bounded(self._by_id)[profile, key_id] = key
        return key

    # -- destroying keys ------------------------------------------------------------------------

    async def destroy(self, profile: str, key_id: str) -> None:
        """Destroy a key (or with `SECRET` the secret): its bytes are overwritten on disk, its tombstone stays.

        Doing it again finishes what was interrupted, and destroys a key that a restored backup brought back.
        """
        subject, was = _subject(profile, key_id), ""
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            record = await self._last(subject)
            if record is not None and _destroyed(record):
                break
            was = fingerprint(record.body()) if record else ""
            await self._publish(subject, b"", record.seq if record else 0, deadline)
        self.forget(profile, key_id)
        await self._erase_before(subject, record.seq)
        self.forget(profile, key_id)
        for told in self.destroyed:
            await told(profile, key_id, was)

    async def fingerprint_of(self, profile: str, key_id: str) -> str | None:
        """Return the fingerprint of a key's record, None where there is none or it is destroyed."""
        record = await self._last(_subject(profile, key_id))
        return None if record is None or _destroyed(record) else fingerprint(record.body())

    def forget(self, profile: str, key_id: str) -> None:
        """Drop a key from memory; what another instance destroyed must not be used on."""
        if key_id == SECRET:
            self._secrets.pop(profile, None)
        self._by_id.pop((profile, key_id), None)
        for scope, key in list(self._current.items()):
            if scope[0] == profile and key_id in (key.key_id, SECRET):
                self._current.pop(scope, None)
        for listener in self.forgotten:
            listener(profile)

    async def _erase_before(self, subject: str, tombstone: int) -> None:
        start = 1
        while True:
            get = msgspec.json.encode({"seq": start, "next_by_subj": subject})
            found = await self._reader.raw(get)
            if found is None or found.seq >= tombstone:
                return
            await self._erase(found.seq)
            start = found.seq + 1

    async def _erase(self, sequence: int) -> None:
        subject = f"$JS.API.STREAM.MSG.DELETE.{self._stream}"
        # Without no_erase the server overwrites the message's bytes.
        request = msgspec.json.encode({"seq": sequence, "no_erase": False})
        deadline = time.monotonic() + _RETRY_SECONDS
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

    # -- records --------------------------------------------------------------------------------

    async def _last(self, subject: str) -> RawMessage | None:
        return await self._reader.raw(msgspec.json.encode({"last_by_subj": subject}))

    async def _publish(self, subject: str, body: bytes, expected: int, deadline: float) -> None:
        """Try to write a record; the caller reads what the subject holds afterwards, whoever wrote it."""
        with translated("writing a key"):
            try:
                await self._connection.connected(deadline)
                await self._connection.call(subject, body, _Ack, {_EXPECTED: str(expected)})
            except ServerError as error:
                if error.err_code not in CONFLICTS:
                    raise
            except (nats.errors.NoRespondersError, nats.errors.TimeoutError, LostError) as error:
                if time.monotonic() > deadline:
                    raise TimeoutError("no acknowledgement of a key") from error
                await asyncio.sleep(_PAUSE * random.uniform(0.5, 1.0))  # noqa: S311 -- spreads retries

    def _fresh(self) -> bytes:
        return keywrap.aes_key_wrap(self._master_key, os.urandom(KEY_BYTES))

    def _unwrap(self, record: RawMessage) -> bytes:
        try:
            return keywrap.aes_key_unwrap(self._master_key, record.body())
        except (keywrap.InvalidUnwrap, ValueError) as error:
            raise DamagedError(
                "a key cannot be unwrapped", expected="a record under this master key", found=record.subject
            ) from error

    def _keep(self, profile: str, scope: str, key: Key) -> Key:
        _bounded(self._current)[profile, scope] = key
        _bounded(self._by_id)[profile, key.key_id] = key
        return key


def fingerprint(wrapped: bytes) -> str:
    """Return what tells one wrapped key from another, and nothing about either."""
    return hashlib.sha256(wrapped).hexdigest()[:32]


def _bounded(cache: dict[tuple[str, str], T]) -> dict[tuple[str, str], T]:
    if len(cache) >= _CACHED:
        cache.pop(next(iter(cache)), None)
    return cache


def _destroyed(record: RawMessage) -> bool:
    return not record.data


def _subject(profile: str, key_id: str) -> str:
    if profile != SYSTEM:
        check_profile(profile)
    return f"{KEYS_PREFIX}.{partition_of(profile):02d}.{profile}.{key_id}"


def _wrong_master() -> MismatchError:
    return MismatchError(
        "the master key is not the one the keys were wrapped under", expected="its file", found="another key"
    )

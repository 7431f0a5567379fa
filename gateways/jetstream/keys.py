"""The keys that bodies are encrypted under: made on first use, wrapped by the master key, and destroyed for good.

A key's record and its tombstone share one subject of the keys stream. Whoever creates a key states that
the subject is empty, so a late writer can never bring a destroyed key back. Where a tombstone is closed, no next
generation follows it either: what was erased stays so until a person opens it again.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

import msgspec
from cryptography.hazmat.primitives import keywrap

from domain.errors import DamagedError, ErasedError, MismatchError, NotFoundError
from domain.ids import keyed_id
from gateways.jetstream.connection import Connection
from gateways.jetstream.key_records import CLOSED, RETRY_SECONDS, KeyRecords, is_closed, is_destroyed, key_subject
from gateways.jetstream.streams import KEYS_PREFIX, KEYS_STREAM
from gateways.jetstream.wire import RawMessage

__all__ = ["CHECK", "CHECKED", "SECRET", "Key", "KeyRing", "KeyState", "fingerprint"]

#: what stands for the key id in the subject of a profile's secret
SECRET = "secret"  # noqa: S105 -- a name, not a value
KEY_BYTES = 32
#: the record that says which master key the others are wrapped under, and what it unwraps to
CHECK = f"{KEYS_PREFIX}.check"
CHECKED = hashlib.sha256(b"umbriel master key").digest()
_CACHED = 65_536


T = TypeVar("T")


class Key(msgspec.Struct, frozen=True):
    """A key: the id that events name, and 32 bytes."""

    key_id: str
    material: bytes

    def __repr__(self) -> str:
        return f"Key({self.key_id!r})"


class KeyState(msgspec.Struct, frozen=True):
    """What the subject of a key holds: whether it is destroyed, for good, and how many records are left of it.

    ``reborn``: it is another one than what was destroyed there, as the secret of a profile that begins again.
    """

    destroyed: bool
    closed: bool
    records: int
    wrapped: bytes
    reborn: bool = False

    def __repr__(self) -> str:
        return f"KeyState(destroyed={self.destroyed}, closed={self.closed}, records={self.records})"


class KeyRing:
    """The keys of every profile. Every method raises UnavailableError when the log does not answer."""

    def __init__(
        self, connection: Connection, master_key: bytes, *, old: bytes | None = None, stream: str = KEYS_STREAM
    ) -> None:
        """Use a master key; with ``old`` records that are wrapped under that one are read as well."""
        self.records = KeyRecords(connection, stream)
        self._master_key = master_key
        self._old = old
        self._secrets: dict[str, bytes] = {}
        self._current: dict[tuple[str, str], Key] = {}
        self._by_id: dict[tuple[str, str], Key | None] = {}
        #: called with the profile whenever a key of it is dropped: what was read with it must not be kept
        self.forgotten: list[Callable[[str], None]] = []
        #: told of each key once it is destroyed: profile, id, the fingerprint of what it was, if it was there, and what
        #: its tombstone says
        self.destroyed: list[Callable[[str, str, str, str], Awaitable[None]]] = []

    async def check(self) -> None:
        """Raise MismatchError when the keys stream was written under another master key."""
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            record = await self.records.last(CHECK)
            if record is not None:
                break
            await self.records.publish(CHECK, keywrap.aes_key_wrap(self._master_key, CHECKED), 0, deadline)
        try:
            found = self._unwrap(record)
        except DamagedError as error:
            raise _wrong_master() from error
        if found != CHECKED:
            raise _wrong_master()

    # -- the master key -------------------------------------------------------------------------

    def renew(self, master_key: bytes) -> None:
        """Wrap under another master key from now on; what is wrapped under the present one can be read still."""
        if master_key != self._master_key:
            self._master_key, self._old = master_key, self._master_key

    @property
    def renewing(self) -> bool:
        """Whether records may be wrapped under an older master key."""
        return self._old is not None

    def is_under(self, wrapped: bytes) -> bool:
        """Whether a record is wrapped under the master key that new ones are."""
        try:
            keywrap.aes_key_unwrap(self._master_key, wrapped)
        except (keywrap.InvalidUnwrap, ValueError):
            return False
        return True

    async def rewrap(self, subject: str) -> bool:
        """Wrap what a subject holds under the present master key; the record before is overwritten on disk.

        Returns whether anything was to be done; done again after a crash, it finishes what was begun.
        """
        deadline, wrote = time.monotonic() + RETRY_SECONDS, False
        while True:
            record = await self.records.last(subject)
            if record is None or is_destroyed(record):
                return wrote
            if self.is_under(record.body()):
                # The tombstone under a secret tells that it is another one than what was destroyed.
                return bool(await self.records.erase_before(subject, record.seq, tombstones=False)) or wrote
            fresh = keywrap.aes_key_wrap(self._master_key, self._unwrap(record))
            await self.records.publish(subject, fresh, record.seq, deadline)
            wrote = True

    def renewed(self) -> None:
        """Note that nothing is wrapped under an older master key any more."""
        self._old = None

    # -- using keys -----------------------------------------------------------------------------

    async def secret(self, profile: str) -> bytes:
        """Return a profile's secret (32 bytes), made on first use."""
        cached = self._secrets.get(profile)
        if cached is not None:
            return cached
        subject = key_subject(profile, SECRET)
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            record = await self.records.last(subject)
            if record is not None and not is_destroyed(record):
                self._secrets[profile] = found = self._unwrap(record)
                return found
            if record is not None and is_closed(record):
                raise _erased("this profile was deleted")
            # A profile that was erased and begins again gets a new secret on top of the tombstone.
            await self.records.publish(subject, self._fresh(), record.seq if record else 0, deadline)

    def cached(self, profile: str, scope: str) -> Key | None:
        """Return the key of a scope when it is known already; any thread may ask."""
        return self._current.get((profile, scope))

    def cached_id(self, profile: str, key_id: str) -> Key | None:
        """Return a key by its id when it is known already; any thread may ask."""
        return self._by_id.get((profile, key_id))

    async def key(self, profile: str, scope: str, *, create: bool = True) -> Key:
        """Return the present key of a scope, acknowledged by the log; NotFoundError without ``create``.

        Raises ErasedError when the scope was erased and is not open again.
        """
        cached = self._current.get((profile, scope))
        if cached is not None:
            return cached
        secret = await self.secret(profile)
        deadline = time.monotonic() + RETRY_SECONDS
        generation = 1
        while True:
            key_id = keyed_id(secret, "key", scope, str(generation))
            subject = key_subject(profile, key_id)
            record = await self.records.last(subject)
            if record is None:
                if not create:
                    raise NotFoundError("this scope has no key", expected="a key", found="none")
                await self.records.publish(subject, self._fresh(), 0, deadline)
            elif is_destroyed(record):
                if is_closed(record):
                    raise _erased("what this is about was erased")
                generation += 1
            else:
                return self._keep(profile, scope, Key(key_id, self._unwrap(record)))

    async def states(self, profile: str) -> dict[str, KeyState]:
        """Return every key of a profile by its id (its secret as `SECRET`): what its subject holds now."""
        found: dict[str, KeyState] = {}
        async with aclosing(self.records.every(profile)) as records:
            async for entry in records:
                key_id = entry.originator_id.partition(".")[2]
                known = found.get(key_id)
                reborn = bool(entry.body) and known is not None and (known.destroyed or known.reborn)
                count = known.records + 1 if known else 1
                found[key_id] = KeyState(not entry.body, entry.topic == CLOSED, count, entry.body, reborn)
        return found

    def unwrapped(self, key_id: str, state: KeyState) -> Key:
        """Return the key that a state holds wrapped; DamagedError when it is under another master key."""
        return Key(key_id, self._unwrapped(state.wrapped, key_id))

    async def generations(self, profile: str, scope: str) -> list[str]:
        """Return the ids of every key that a scope has or had, the first one also where there was none."""
        secret, found = await self.secret(profile), list[str]()
        while True:
            key_id = keyed_id(secret, "key", scope, str(len(found) + 1))
            if found and await self.records.last(key_subject(profile, key_id)) is None:
                return found
            found.append(key_id)

    async def by_id(self, profile: str, key_id: str) -> Key | None:
        """Return a key by its id, or None when it was destroyed; DamagedError when there is no trace of it."""
        if (profile, key_id) in self._by_id:
            return self._by_id[profile, key_id]
        record = await self.records.last(key_subject(profile, key_id))
        if record is None:
            raise DamagedError("a key is missing", expected=f"the key {key_id} or its destruction", found="neither")
        key = None if is_destroyed(record) else Key(key_id, self._unwrap(record))
        _bounded(self._by_id)[profile, key_id] = key
        return key

    # -- destroying keys ------------------------------------------------------------------------

    async def destroy(self, profile: str, key_id: str, *, closed: bool = False) -> None:
        """Destroy a key (or with `SECRET` the secret): its bytes are overwritten on disk, its tombstone stays.

        Its scope goes on under a key of the next generation, unless the tombstone is ``closed``. Doing it again
        finishes what was interrupted, and destroys a key that a restored backup brought back.
        """
        subject, was = key_subject(profile, key_id), ""
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            record = await self.records.last(subject)
            if record is not None and is_destroyed(record) and (is_closed(record) or not closed):
                break
            was = self._fingerprint(record) if record else ""
            await self.records.publish(subject, b"", record.seq if record else 0, deadline, CLOSED if closed else "")
        self.forget(profile, key_id)
        await self.records.erase_before(subject, record.seq)
        self.forget(profile, key_id)
        for told in self.destroyed:
            await told(profile, key_id, was, CLOSED if closed else "")

    async def fingerprint_of(self, profile: str, key_id: str) -> str | None:
        """Return the fingerprint of a key's record, None where there is none or it is destroyed."""
        record = await self.records.last(key_subject(profile, key_id))
        return None if record is None or is_destroyed(record) else self._fingerprint(record)

    def _fingerprint(self, record: RawMessage) -> str:
        # Of the key itself, for what it is wrapped in changes with the master key.
        return "" if is_destroyed(record) else fingerprint(self._unwrap(record))

    async def open(self, profile: str, key_id: str) -> None:
        """Let the scope of a destroyed key go on under a key of the next generation."""
        subject = key_subject(profile, key_id)
        deadline = time.monotonic() + RETRY_SECONDS
        while (record := await self.records.last(subject)) is not None and is_closed(record):
            await self.records.publish(subject, b"", record.seq, deadline)

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

    # -- records --------------------------------------------------------------------------------

    def _fresh(self) -> bytes:
        return keywrap.aes_key_wrap(self._master_key, os.urandom(KEY_BYTES))

    def _unwrap(self, record: RawMessage) -> bytes:
        return self._unwrapped(record.body(), record.subject)

    def _unwrapped(self, wrapped: bytes, where: str) -> bytes:
        for master in (self._master_key, self._old):
            try:
                if master is not None:
                    return keywrap.aes_key_unwrap(master, wrapped)
            except (keywrap.InvalidUnwrap, ValueError):
                continue
        raise DamagedError("a key cannot be unwrapped", expected="a record under this master key", found=where)

    def _keep(self, profile: str, scope: str, key: Key) -> Key:
        _bounded(self._current)[profile, scope] = key
        _bounded(self._by_id)[profile, key.key_id] = key
        return key


def fingerprint(material: bytes) -> str:
    """Return what tells one key from another, and nothing about either."""
    return hashlib.sha256(b"umbriel key fingerprint " + material).hexdigest()[:32]


def _bounded(cache: dict[tuple[str, str], T]) -> dict[tuple[str, str], T]:
    if len(cache) >= _CACHED:
        cache.pop(next(iter(cache)), None)
    return cache


def _erased(message: str) -> ErasedError:
    return ErasedError(message, expected="what was not erased; a person may lift that", found="its tombstone")


def _wrong_master() -> MismatchError:
    return MismatchError(
        "the master key is not the one the keys were wrapped under", expected="its file", found="another key"
    )

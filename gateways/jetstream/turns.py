"""The turns bucket: what a turn under way has found, encrypted under its conversation's key, until it ends or expires.

One key a turn, under one prefix a conversation: ``<pp>.<profile>.<session>.<turn>``, both ids keyed hashes. A write
that must be the first states the revision it has seen, and carries its own time to live, which the bucket's own
``update`` and ``put`` would drop.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress

import msgspec
import nats.errors
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from domain.errors import ConflictError, DamagedError, UnavailableError
from domain.ids import keyed_id, partition_of
from domain.kinds import conversation_scope
from gateways.jetstream.connection import Connection, LostError
from gateways.jetstream.direct import HEADS_PER_REQUEST, StreamReader
from gateways.jetstream.errors import CONFLICTS, FULL, ServerError, translated
from gateways.jetstream.keys import Key, KeyRing
from gateways.jetstream.streams import TURNS_PREFIX, TURNS_STREAM
from gateways.jetstream.wire import Entry

__all__ = ["KeptTurn", "TurnStore"]

_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_TTL = "Nats-TTL"
_KEY_ID = "Umbriel-Key-Id"
#: what ends a key of a KV bucket, with all that was under it; the mark itself goes soon after
_PURGE = {"KV-Operation": "PURGE", "Nats-Rollup": "sub", _TTL: "60"}
_NONCE = 12
_RETRY_SECONDS = 10.0
_PAUSE = 0.1
_PAGE = 1_000


class KeptTurn(msgspec.Struct, frozen=True):
    """A turn as it was found: its subject, the revision that a change of it must name, and the bytes kept."""

    subject: str
    revision: int
    body: bytes


class _Ack(msgspec.Struct, frozen=True):
    seq: int = 0


class TurnStore:
    """The turns of every profile. Every method raises UnavailableError when the bucket does not answer."""

    def __init__(self, connection: Connection, keys: KeyRing) -> None:
        self._connection = connection
        self._keys = keys
        self._reader = StreamReader(connection, TURNS_STREAM, TURNS_PREFIX)

    async def put(self, profile: str, session: str, turn: str, body: bytes, *, seconds: int) -> None:
        """Keep a turn for so long, whatever was kept of it before."""
        subject = await self._subject(profile, session, turn)
        await self._write(subject, await self._sealed(profile, session, subject, body), {_TTL: str(seconds)})

    async def replace(self, profile: str, session: str, kept: KeptTurn, body: bytes, *, seconds: int) -> None:
        """Keep something else for a turn; ConflictError when it is not as it was found any more.

        A repeated try after a lost acknowledgement conflicts with itself: whoever asks looks again at what is there.
        """
        headers = {_TTL: str(seconds), _EXPECTED: str(kept.revision)}
        await self._write(kept.subject, await self._sealed(profile, session, kept.subject, body), headers)

    async def find(self, profile: str, session: str) -> list[KeptTurn]:
        """Return the turns of a conversation, the one written last at the end.

        Those whose key was destroyed are not there. Read from any replica, which may lag behind: a change of what was
        found is refused then.
        """
        entries = await self._entries(f"{await self._prefix(profile, session)}.*")
        found = [(entry, await self._keys.by_id(profile, entry.key_id)) for entry in entries if entry.body]
        return [_opened(profile, entry, key) for entry, key in found if key is not None]

    async def drop(self, profile: str, session: str, turns: Sequence[str] | None = None) -> int:
        """Forget turns of a conversation, or all of them; returns how many there were."""
        if turns is None:
            entries = await self._entries(f"{await self._prefix(profile, session)}.*")
        else:
            entries = []
            for start in range(0, len(turns), HEADS_PER_REQUEST):
                named = turns[start : start + HEADS_PER_REQUEST]
                subjects = [await self._subject(profile, session, turn) for turn in named]
                entries += await self._reader.last_of_each(subjects)
        gone = [_subject_of(profile, entry) for entry in entries if entry.body]
        for subject in gone:
            await self._write(subject, (b"", ""), _PURGE)
        return len(gone)

    async def drop_all(self, profile: str) -> int:
        """Forget every turn of a profile; returns how many there were."""
        entries = await self._entries(f"{TURNS_PREFIX}.{partition_of(profile):02d}.{profile}.>")
        for entry in entries:
            if entry.body:
                await self._write(_subject_of(profile, entry), (b"", ""), _PURGE)
        return sum(bool(entry.body) for entry in entries)

    async def left_under(self, profile: str, keys: AbstractSet[str]) -> list[Entry]:
        """Return the turns that are kept under one of these keys."""
        entries = await self._entries(f"{TURNS_PREFIX}.{partition_of(profile):02d}.{profile}.>")
        return [entry for entry in entries if entry.key_id in keys]

    async def forget(self, kept: Sequence[KeptTurn]) -> None:
        """Forget turns as they were found; one that was touched since stays."""
        for one in kept:
            with suppress(ConflictError):
                await self._write(one.subject, (b"", ""), {**_PURGE, _EXPECTED: str(one.revision)})

    # -- one message ----------------------------------------------------------------------------

    async def _prefix(self, profile: str, session: str) -> str:
        secret = await self._keys.secret(profile)
        return f"{TURNS_PREFIX}.{partition_of(profile):02d}.{profile}.{keyed_id(secret, 'turns', session)}"

    async def _subject(self, profile: str, session: str, turn: str) -> str:
        secret = await self._keys.secret(profile)
        return f"{await self._prefix(profile, session)}.{keyed_id(secret, 'turn', session, turn)}"

    async def _entries(self, subject: str) -> list[Entry]:
        entries: list[Entry] = []
        while True:
            start = entries[-1].position + 1 if entries else 1
            page = await self._reader.after(subject, start, _PAGE)
            entries += page.entries
            if not page.more or not page.entries:
                return entries

    async def _sealed(self, profile: str, session: str, subject: str, body: bytes) -> tuple[bytes, str]:
        key = await self._keys.key(profile, conversation_scope(session))
        nonce = os.urandom(_NONCE)
        return nonce + AESGCM(key.material).encrypt(nonce, body, _bound(subject, key.key_id)), key.key_id

    async def _write(self, subject: str, sealed: tuple[bytes, str], headers: Mapping[str, str]) -> None:
        body, key_id = sealed
        all_headers = {**headers, **({_KEY_ID: key_id} if key_id else {})}
        deadline = time.monotonic() + _RETRY_SECONDS
        with translated("keeping a turn"):
            while True:
                try:
                    await self._connection.connected(deadline)
                    await self._connection.call(subject, body, _Ack, all_headers)
                except ServerError as error:
                    if error.err_code in CONFLICTS:
                        raise ConflictError(
                            "somebody else changed this turn", expected=headers[_EXPECTED], found=str(error)
                        ) from error
                    if error.err_code in FULL:
                        raise UnavailableError(
                            "there is no room for turns under way", expected="free space", found=str(error)
                        ) from error
                    raise
                except (nats.errors.NoRespondersError, nats.errors.TimeoutError, LostError) as error:
                    if time.monotonic() > deadline:
                        raise TimeoutError("no acknowledgement of a turn") from error
                    await asyncio.sleep(_PAUSE * random.uniform(0.5, 1.0))  # noqa: S311 -- spreads retries
                else:
                    return


def _subject_of(profile: str, entry: Entry) -> str:
    return f"{TURNS_PREFIX}.{partition_of(profile):02d}.{entry.originator_id}"


def _bound(subject: str, key_id: str) -> bytes:
    return f"{subject} {key_id}".encode()


def _opened(profile: str, entry: Entry, key: Key) -> KeptTurn:
    subject = _subject_of(profile, entry)
    try:
        body = AESGCM(key.material).decrypt(entry.body[:_NONCE], entry.body[_NONCE:], _bound(subject, key.key_id))
    except (InvalidTag, ValueError) as error:
        raise DamagedError(
            "a turn was changed after it was kept", expected="what was sealed", found=f"something else in {subject}"
        ) from error
    return KeptTurn(subject, entry.position, body)

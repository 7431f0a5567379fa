"""Restoring a backup into an empty data directory: checked first, made beside it, and there when it is whole.

The log gets a new incarnation: positions of the lost one mean nothing in it. Keys that were destroyed after the
backup are destroyed again, as far as anybody knows of them. The views are made from the log by the next service.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from domain.errors import InvalidInputError, NotFoundError
from gateways.bootstrap import lock_of
from gateways.jetstream.connection import Connection, connect
from gateways.jetstream.destroyed import (
    FILE,
    DestroyedKey,
    destroy_again,
    destroyed_in,
    parse_destroyed,
)
from gateways.jetstream.keys import KeyRing
from gateways.jetstream.seal_keys import TRUSTED
from gateways.jetstream.secret_files import MASTER_KEY_BYTES, Secrets
from gateways.jetstream.server import NatsServer
from gateways.jetstream.snapshots import StreamEnd, put_back
from gateways.jetstream.streams import INCARNATION
from gateways.jetstream.users import SERVICE, User
from gateways.service.archive import Archive, Part
from gateways.service.backups import CONFIGURATION, MASTER_KEY, PRINCIPALS

__all__ = ["Restored", "check", "restore"]

_RESTORER = "restorer"
#: What nobody else may: make a stream of a snapshot. It exists while a backup is restored.
_USER = User(_RESTORER, publish=("$JS.API.>", "$JS.SNAPSHOT.>", "umbriel.keys.>"), subscribe=(f"_INBOX_{_RESTORER}.>",))

#: told what is done, the bytes done of it, and about how many there are
Progress = Callable[[str, int, int], None]


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What was restored, or in a check could be: events up to a position, and keys that were destroyed again."""

    file: str
    data: str
    incarnation: str
    position: str
    events: int
    bytes: int
    streams: dict[str, int]
    destroyed_again: int = 0
    checked_only: bool = False


async def restore(
    file: Path, data: Path, *, master_key: Path | None = None, honour: Sequence[Path] = (), progress: Progress
) -> Restored:
    """Restore a backup into a data directory that is empty or not there.

    ``master_key`` is the file of the master key where the backup does not hold it. ``honour`` are lists of destroyed
    keys: the file beside backups, a later backup, or a data directory; the file beside this backup counts anyway.

    Raises InvalidInputError for a directory that is not empty, DamagedError for a backup that is cut off or altered,
    MismatchError for another master key; nothing is written then.
    """
    await asyncio.to_thread(_check_empty, data)
    with _opened(file) as archive:
        key = await asyncio.to_thread(_checked, archive, master_key, progress)
        honoured = [one for path in (file.parent / FILE, *honour) for one in await _destroyed_of(path, honour)]
        beside = data.parent / f".{data.name}.restoring-{secrets.token_hex(4)}"
        try:
            done = await _into(beside, archive, key, honoured, progress)
            await asyncio.to_thread(_put_in_place, beside, data)
        finally:
            await asyncio.to_thread(shutil.rmtree, beside, ignore_errors=True)
    return msgspec.structs.replace(done, data=str(data))


async def check(file: Path, scratch: Path, *, master_key: Path | None = None, progress: Progress) -> Restored:
    """Restore a backup into a directory under ``scratch`` that does not stay: what can be restored is good."""
    with _opened(file) as archive:
        key = await asyncio.to_thread(_checked, archive, master_key, progress)
        beside = scratch / f".umbriel-check-{secrets.token_hex(4)}"
        try:
            done = await _into(beside, archive, key, (), progress)
        finally:
            await asyncio.to_thread(shutil.rmtree, beside, ignore_errors=True)
    return msgspec.structs.replace(done, checked_only=True)


@contextmanager
def _opened(file: Path) -> Iterator[Archive]:
    archive = Archive(file)
    try:
        yield archive
    finally:
        archive.close()


def _checked(archive: Archive, named: Path | None, progress: Progress) -> bytes:
    """Return the master key, after everything was read and compared."""
    total, done = archive.manifest.bytes, 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress("checking", done, total)

    archive.verify(advance)
    found = named.read_bytes() if named is not None else archive.read(MASTER_KEY)
    if found is None:
        raise NotFoundError(
            "the backup does not hold the master key", expected="--master-key with its file", found="neither"
        )
    if len(found) != MASTER_KEY_BYTES:
        raise InvalidInputError(
            "that is no master key", expected=f"{MASTER_KEY_BYTES} bytes", found=f"{len(found)} bytes"
        )
    archive.check_key(found)
    return found


async def _into(
    data: Path, archive: Archive, key: bytes, honoured: Sequence[DestroyedKey], progress: Progress
) -> Restored:
    """Restore into a directory that is not there yet."""
    files, incarnation = Secrets(data / "secrets"), secrets.token_hex(4)
    await asyncio.to_thread(_write_files, data, files, archive, key)
    server = NatsServer(data, extra_users=[_USER])
    await server.start()
    try:
        connection = await connect(server.url, _RESTORER, server.password(_RESTORER), name="umbriel-restore")
        try:
            found = await _streams(connection, archive, incarnation, progress)
            keys = KeyRing(connection, key)
            await keys.check()
            listed = parse_destroyed(archive.read(FILE) or b"", str(archive.path))
            again = await destroy_again(connection, keys, [*listed, *honoured])
        finally:
            await connection.close()
    finally:
        await server.stop()
    await asyncio.to_thread((data / "secrets" / f"{_RESTORER}.password").unlink, missing_ok=True)
    stream = archive.manifest.stream
    log = found[stream]
    return Restored(
        file=str(archive.path),
        data=str(data),
        incarnation=incarnation,
        position=f"{stream}.{incarnation}:{log.last_seq}",
        events=log.messages,
        bytes=archive.manifest.bytes,
        streams={name: end.messages for name, end in found.items()},
        destroyed_again=again,
    )


def _write_files(data: Path, files: Secrets, archive: Archive, key: bytes) -> None:
    data.mkdir(mode=0o700, parents=True)
    files.write(MASTER_KEY, key)
    for name in (PRINCIPALS, TRUSTED):
        if (content := archive.read(name)) is not None:
            files.write(name, content)
    for name in CONFIGURATION:
        if (content := archive.read(name)) is not None:
            (data / name).write_bytes(content)


async def _streams(
    connection: Connection, archive: Archive, incarnation: str, progress: Progress
) -> dict[str, StreamEnd]:
    found: dict[str, StreamEnd] = {}
    total, done = sum(one.bytes for one in archive.manifest.streams), 0

    async def chunks(part: Part) -> AsyncIterator[bytes]:
        nonlocal done
        for chunk in archive.chunks(part.name):
            yield chunk
            done += len(chunk)
            progress("restoring", done, total)

    for part in archive.manifest.streams:
        if part.snapshot is not None:
            name = str(part.snapshot.config["name"])
            metadata = {INCARNATION: incarnation} if name == archive.manifest.stream else {}
            found[name] = await put_back(connection, part.snapshot, chunks(part), metadata)
    return found


async def _destroyed_of(path: Path, named: Sequence[Path]) -> list[DestroyedKey]:
    """Return the destroyed keys that a file, a backup or a data directory tells of."""
    found = await asyncio.to_thread(_listed, path, needed=path in named)
    return await _destroyed_in_data(path) if found is None else found


def _listed(path: Path, *, needed: bool) -> list[DestroyedKey] | None:
    """Return what a list or a backup tells, None for a data directory, which its server has to be asked."""
    if path.is_dir():
        if (path / "nats").is_dir():
            return None
        path /= FILE
    if not path.exists():
        if needed:
            raise NotFoundError("this tells of no destroyed keys", expected="a list or a backup", found=str(path))
        return []
    if path.suffix == ".jsonl":
        return parse_destroyed(path.read_bytes(), str(path))
    with _opened(path) as archive:
        archive.verify()
        return parse_destroyed(archive.read(FILE) or b"", str(path))


async def _destroyed_in_data(data: Path) -> list[DestroyedKey]:
    """Return the destroyed keys of a data directory that no service uses now."""
    held = lock_of(data)
    try:
        server = NatsServer(data)
        await server.start()
        try:
            connection = await connect(server.url, SERVICE, server.password(SERVICE), name="umbriel-restore")
            try:
                return await destroyed_in(connection)
            finally:
                await connection.close()
        finally:
            await server.stop()
    finally:
        held.release()


def _check_empty(data: Path) -> None:
    if data.exists() and (not data.is_dir() or any(data.iterdir())):
        raise InvalidInputError(
            "the data directory is not empty", expected="an empty or new directory", found=str(data)
        )


def _put_in_place(beside: Path, data: Path) -> None:
    """Let the directory appear under its name as a whole, on disk."""
    if data.exists():
        data.rmdir()
    beside.rename(data)
    descriptor = os.open(data.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

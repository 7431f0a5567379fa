"""A backup's file: a zip with each part as it is, and a manifest that says what they must be.

::

    streams/<name>.snapshot    a stream as the NATS server gave it
    principals.json            who may speak: names, grants and hashes, no passwords
    providers.toml, server.toml
    destroyed-keys.jsonl       keys that nobody may bring back
    master.key                 only where it was asked for
    manifest.json              version, log, positions, and the SHA-256 and size of every other part
    manifest.mac               HMAC-SHA-256 of the manifest under the master key

It appears under its name when it is whole and on disk, and never in place of another file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO

import msgspec

from domain.errors import DamagedError, InvalidInputError, MismatchError, UnavailableError
from gateways.jetstream.snapshots import CHUNK, Snapshot

__all__ = ["Archive", "ArchiveWriter", "Manifest", "Part", "mac_of"]

FORMAT = 1
_MANIFEST, _MAC = "manifest.json", "manifest.mac"
_PURPOSE = b"umbriel backup manifest\0"
_BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, KeyError, NotImplementedError)


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """One part: its name, what its bytes hash to, how many they are, and the stream that it is, if it is one."""

    name: str
    sha256: str
    bytes: int
    snapshot: Snapshot | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup is of: the log with its incarnation and last position, and the parts."""

    version: str
    created_at: datetime
    stream: str
    incarnation: str
    last_position: int
    events: int
    parts: tuple[Part, ...]
    format: int = FORMAT

    def part(self, name: str) -> Part | None:
        """Return a part, None where there is none of that name."""
        return next((one for one in self.parts if one.name == name), None)

    @property
    def streams(self) -> list[Part]:
        """The parts that are streams."""
        return [one for one in self.parts if one.snapshot is not None]

    @property
    def bytes(self) -> int:
        """Size of all parts."""
        return sum(one.bytes for one in self.parts)


def mac_of(master_key: bytes, manifest: bytes) -> str:
    """Return what shows that whoever wrote a manifest had the master key."""
    return hmac.new(master_key, _PURPOSE + manifest, hashlib.sha256).hexdigest()


class ArchiveWriter:
    """Writes one archive under a temporary name; a part at a time. Blocking: to be called from a thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._partial = path.with_name(f".{path.name}.partial")
        self._parts: list[Part] = []
        self._open: IO[bytes] | None = None
        self._hash = hashlib.sha256()
        self._size = 0
        try:
            descriptor = os.open(self._partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        self._file = os.fdopen(descriptor, "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)

    def begin(self, name: str) -> None:
        """Begin a part."""
        self._hash, self._size = hashlib.sha256(), 0
        self._open = self._zip.open(zipfile.ZipInfo(name), "w", force_zip64=True)

    def write(self, chunk: bytes) -> None:
        """Add to the part that was begun. Raises UnavailableError when the disk does not take it."""
        if self._open is None:
            raise RuntimeError("no part was begun")
        try:
            self._open.write(chunk)
        except OSError as error:
            raise self._unwritable(error) from error
        self._hash.update(chunk)
        self._size += len(chunk)

    def end(self, name: str, snapshot: Snapshot | None = None) -> Part:
        """End the part that was begun."""
        if self._open is not None:
            self._open.close()
        part = Part(name, self._hash.hexdigest(), self._size, snapshot)
        self._parts.append(part)
        return part

    def add(self, name: str, content: bytes) -> None:
        """Write a small part as a whole."""
        self.begin(name)
        self.write(content)
        self.end(name)

    def finish(self, manifest: Manifest, master_key: bytes) -> Manifest:
        """Write the manifest of what was added, and let the archive appear under its name, on disk."""
        whole = msgspec.structs.replace(manifest, parts=tuple(self._parts))
        content = msgspec.json.encode(whole)
        try:
            self._zip.writestr(zipfile.ZipInfo(_MANIFEST), content)
            self._zip.writestr(zipfile.ZipInfo(_MAC), mac_of(master_key, content))
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            os.link(self._partial, self.path)
        except FileExistsError as error:
            taken = str(self.path)
            raise InvalidInputError("a file of that name is there", expected="a new name", found=taken) from error
        except OSError as error:
            raise self._unwritable(error) from error
        _sync(self.path.parent)
        return whole

    def _unwritable(self, error: OSError) -> UnavailableError:
        found = error.strerror or str(error)
        return UnavailableError(f"cannot write {self.path}", expected="a directory with room", found=found)

    def close(self) -> None:
        """Let go of the temporary file, whatever became of it."""
        with suppress(OSError, ValueError):
            if self._open is not None:
                self._open.close()
            self._zip.close()
        self._file.close()
        self._partial.unlink(missing_ok=True)


class Archive:
    """An archive that is read. Every method raises DamagedError where it is cut off, altered, or none. Blocking."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise self._damaged(str(error)) from error
        except OSError as error:
            raise InvalidInputError(f"cannot read {path}", expected="a backup", found=str(error)) from error
        try:
            self._read_manifest()
        except BaseException:
            self._zip.close()
            raise

    def _read_manifest(self) -> None:
        try:
            self._manifest = self._zip.read(_MANIFEST)
            self._mac = self._zip.read(_MAC).decode("ascii", "replace")
            self.manifest = msgspec.json.decode(self._manifest, type=Manifest)
        except (*_BROKEN, msgspec.MsgspecError, OSError) as error:
            raise self._damaged(str(error)) from error
        if self.manifest.format > FORMAT:
            raise MismatchError(
                "the backup was written by a newer Umbriel",
                expected=f"format {FORMAT}",
                found=f"format {self.manifest.format}",
            )

    def verify(self, progress: Callable[[int], None] | None = None) -> Manifest:
        """Read everything and compare it with the manifest; ``progress`` is told the bytes of each step."""
        names = {one.name for one in self.manifest.parts}
        if (found := {*self._zip.namelist()} - {_MANIFEST, _MAC}) != names:
            raise self._damaged(f"parts {', '.join(sorted(found ^ names))}")
        for part in self.manifest.parts:
            digest, size = hashlib.sha256(), 0
            for chunk in self.chunks(part.name):
                digest.update(chunk)
                size += len(chunk)
                if progress is not None:
                    progress(len(chunk))
            if (digest.hexdigest(), size) != (part.sha256, part.bytes):
                raise self._damaged(f"other bytes in {part.name}")
        return self.manifest

    def check_key(self, master_key: bytes) -> None:
        """Raise MismatchError unless the manifest was written by somebody who had this master key."""
        if not hmac.compare_digest(mac_of(master_key, self._manifest), self._mac):
            raise MismatchError(
                "the master key is not that of this backup, or its manifest was altered",
                expected="the master key it was made under",
                found="another one",
            )

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a part."""
        try:
            with self._zip.open(name) as part:
                while chunk := part.read(CHUNK):
                    yield chunk
        except (*_BROKEN, OSError) as error:
            raise self._damaged(str(error)) from error

    def read(self, name: str) -> bytes | None:
        """Return a small part, None where there is none."""
        return None if self.manifest.part(name) is None else b"".join(self.chunks(name))

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def _damaged(self, found: str) -> DamagedError:
        return DamagedError(f"{self.path} is no whole backup", expected="an archive as it was written", found=found)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

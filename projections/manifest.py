"""The manifest: the one small file that says which files make up an index, and how far it is.

It is replaced atomically, so it is the commit: what it does not name does not exist yet, or no more.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from domain.errors import DamagedError, MismatchError
from projections.outcome import Outcome

__all__ = ["MANIFEST", "FileEntry", "Manifest", "Progress", "describe", "replace_file"]

MANIFEST = "manifest.json"
_FORMAT = 1


class FileEntry(msgspec.Struct, frozen=True):
    """One immutable file: its name in the directory, bytes, and SHA-256 in hex."""

    name: str
    size: int
    sha256: str

    def verify(self, directory: Path) -> None:
        """Raise DamagedError, naming the file, when it is not what was written."""
        path = directory / self.name
        try:
            size = path.stat().st_size
            found = _digest(path) if size == self.size else ""
        except OSError as error:
            raise DamagedError(f"{path} cannot be read", expected=f"{self.size} bytes", found=str(error)) from error
        if size != self.size:
            raise DamagedError(f"{path} does not have its size", expected=f"{self.size} bytes", found=f"{size} bytes")
        if found != self.sha256:
            raise DamagedError(f"{path} was changed", expected=self.sha256, found=found)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """State of an index after a commit.

    ``position`` and ``event_id`` name the last event it has seen; ``model`` and ``dimension`` what its
    content was made with, ``version`` by which version of the projection; ``count`` its items.
    """

    format: int = _FORMAT
    version: int = 1
    position: int = 0
    event_id: str = ""
    model: str = ""
    dimension: int = 0
    files: tuple[FileEntry, ...] = ()
    count: int = 0

    @classmethod
    def load(cls, directory: Path) -> Manifest | None:
        """Return the manifest of ``directory``, None when there is none; raises DamagedError or MismatchError."""
        path = directory / MANIFEST
        if not path.exists():
            return None
        try:
            sealed = msgspec.json.decode(path.read_bytes(), type=_Sealed)
        except (msgspec.DecodeError, OSError) as error:
            raise DamagedError(f"{path} cannot be read", expected="a manifest", found=str(error)) from error
        body = bytes(sealed.manifest)
        if hashlib.sha256(body).hexdigest() != sealed.sha256:
            raise DamagedError(f"{path} was changed", expected=sealed.sha256, found="another checksum")
        try:
            manifest = msgspec.json.decode(body, type=cls)
        except msgspec.DecodeError as error:
            raise DamagedError(f"{path} cannot be read", expected="a manifest", found=str(error)) from error
        if manifest.format != _FORMAT:
            raise MismatchError(f"{path} has another format", expected=str(_FORMAT), found=str(manifest.format))
        return manifest

    def store(self, directory: Path) -> None:
        """Replace the manifest of ``directory`` atomically and durably."""
        body = msgspec.json.encode(self)
        sealed = _Sealed(hashlib.sha256(body).hexdigest(), msgspec.Raw(body))
        replace_file(directory / MANIFEST, msgspec.json.encode(sealed))

    def check(self, directory: Path, model: str, dimension: int, version: int = 1) -> None:
        """Raise MismatchError for another model, dimension or version, DamagedError for a file not as written."""
        if self.version != version:
            raise MismatchError(
                f"{directory} was made by another version of its projection",
                expected=f"version {version}",
                found=f"version {self.version}",
            )
        if (self.model, self.dimension) != (model, dimension):
            raise MismatchError(
                f"{directory} was made with another model",
                expected=f"{model} of dimension {dimension}",
                found=f"{self.model} of dimension {self.dimension}",
            )
        for entry in self.files:
            entry.verify(directory)

    @property
    def bytes(self) -> int:
        """Bytes of all files named."""
        return sum(entry.size for entry in self.files)


class _Sealed(msgspec.Struct, frozen=True):
    sha256: str
    manifest: msgspec.Raw


class Progress:
    """How far a view is. It may be ahead of the manifest by events that changed nothing in the index."""

    def __init__(self, position: int = 0, event_id: str = "") -> None:
        self.position = position
        self.event_id = event_id

    def outcome(self, upto: int, event_id: str) -> Outcome:
        """Return what an advance to ``upto`` would be: compare, without set."""
        if upto > self.position:
            return Outcome.APPLIED
        if upto == self.position and event_id and self.event_id and event_id != self.event_id:
            return Outcome.MISMATCH
        return Outcome.SEEN

    def advance(self, upto: int, event_id: str) -> None:
        """Set the position."""
        self.position, self.event_id = upto, event_id


def describe(path: Path) -> FileEntry:
    """Return the entry of a file that is complete, after making it durable."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return FileEntry(path.name, path.stat().st_size, digest)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def replace_file(path: Path, body: bytes) -> None:
    """Replace a small file atomically and durably; its directory is made when it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.new")
    with temporary.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

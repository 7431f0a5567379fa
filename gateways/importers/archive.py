"""What is to be read: a file, the files of a folder, or those of a zip archive, which is never unpacked to disk."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from domain.errors import InvalidInputError

__all__ = ["MAX_ARCHIVE_BYTES", "MAX_ENTRIES", "Blob", "blobs"]

#: Most bytes that the files of an archive may have once they are unpacked, all together.
MAX_ARCHIVE_BYTES = 2 * 1024**3
#: Most files in an archive.
MAX_ENTRIES = 200_000
#: How much of a file is looked at to tell what it is.
_HEAD_BYTES = 1 << 16
_READ = frozenset({"json", "jsonl", "ndjson", "txt"})


class Blob(msgspec.Struct, frozen=True):
    """One file: how it is called in messages, its name inside what was given, and how it is opened."""

    label: str
    name: str
    open: Callable[[], IO[bytes]]

    def text(self) -> str:
        """Return the whole text. Raises InvalidInputError where it is not UTF-8, with the line."""
        with self.open() as stream:
            raw = stream.read()
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw[: error.start].count(b"\n") + 1
            raise InvalidInputError(
                f"{self.label}, line {line}: not UTF-8", expected="UTF-8 text", found=f"byte 0x{raw[error.start]:02x}"
            ) from error

    def lines(self) -> Iterator[str]:
        """Yield the lines without their ends, one at a time. Raises UnicodeDecodeError where it is not UTF-8."""
        with self.open() as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n") as text:
            for line in text:
                yield line.removesuffix("\n").removesuffix("\r")

    def head(self) -> list[str]:
        """Return the lines at its beginning that say anything; the last may be cut, and what is no UTF-8 is marked."""
        with self.open() as stream:
            text = stream.read(_HEAD_BYTES).decode("utf-8-sig", errors="replace")
        return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]

    @property
    def suffix(self) -> str:
        """The end of its name, in lower case, without the dot."""
        return self.name.rpartition(".")[2].lower()

    @property
    def stem(self) -> str:
        """Its name without folders and end."""
        return self.name.rpartition("/")[2].rpartition(".")[0] or self.name


def blobs(path: Path) -> list[Blob]:
    """Return the files at a path in the order of their names; of a folder or an archive, those that hold text.

    Raises InvalidInputError where an archive is too large once it is unpacked, OSError and zipfile.BadZipFile.
    """
    if path.is_dir():
        return [_file(file, file.relative_to(path).as_posix(), f"{path}/") for file in _walk(path)]
    with path.open("rb") as stream:
        packed = stream.read(4) == b"PK\x03\x04"
    return _members(path) if packed else [_file(path, path.name)]


def _walk(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.suffix.lower().removeprefix(".") in _READ and file.is_file())


def _file(path: Path, name: str, folder: str = "") -> Blob:
    return Blob(f"{folder}{name}" if folder else str(path), name, lambda: path.open("rb"))


def _members(path: Path) -> list[Blob]:
    # Open for as long as anything of it may be read; it closes with the last of its members.
    archive = zipfile.ZipFile(path)
    found = archive.infolist()
    if len(found) > MAX_ENTRIES:
        raise InvalidInputError(
            f"{path}: too many files", expected=f"at most {MAX_ENTRIES:,} files", found=f"{len(found):,}"
        )
    read = [one for one in found if one.filename.rpartition(".")[2].lower() in _READ and not _beside(one.filename)]
    size = sum(one.file_size for one in read)
    if size > MAX_ARCHIVE_BYTES:
        raise InvalidInputError(
            f"{path}: too large once it is unpacked",
            expected=f"at most {MAX_ARCHIVE_BYTES:,} bytes of text",
            found=f"{size:,} bytes",
        )
    if any(one.flag_bits & 1 for one in read):
        raise InvalidInputError(f"{path}: an encrypted archive", expected="one without a password", found="encrypted")
    return [_member(path, archive, one) for one in sorted(read, key=lambda one: one.filename)]


def _beside(name: str) -> bool:
    """Whether a name is one of those that a Mac puts beside the files of an archive."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith("._")


def _member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Blob:
    # Reading ends at the size that the archive states for the member, whatever it would unpack to.
    return Blob(f"{path}/{member.filename}", member.filename, lambda: archive.open(member))

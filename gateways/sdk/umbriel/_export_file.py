"""The file of an export: read line by line, checked as a whole before anything is done with it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from umbriel._errors import InvalidInputError
from umbriel.exports import FORMAT, TRAILER, ExportedEvent, Header, HeaderData, Trailer, TrailerData
from umbriel.imports import ImportLine

__all__ = ["ExportFile"]

T = TypeVar("T", bound=msgspec.Struct)
_LINE_BYTES = 16 * 1024**2


class _Type(msgspec.Struct, frozen=True):
    type: str


class ExportFile:
    """A whole export: ``header``, ``trailer``, and its events as often as they are asked for. It holds one line."""

    def __init__(self, path: Path, progress: Callable[[int, int], None] = lambda _done, _total: None) -> None:
        """Read the file once; raises InvalidInputError naming the line that does not fit, or what is missing.

        ``progress`` is told how many bytes are read, and of how many.
        """
        self._path = path
        self._size = _size(path)
        lines = self._lines(progress)
        number, first = next(lines, (1, b""))
        self.header = _header(first)
        self.trailer = self._check(number, first, lines)

    def _check(self, number: int, line: bytes, lines: Iterator[tuple[int, bytes]]) -> TrailerData:
        digest, types = hashlib.sha256(line), Counter[str]()
        for number, line in lines:  # noqa: PLR1704 -- the last one counts after the loop
            kind = _decoded(number, line, _Type).type
            if kind == TRAILER:
                trailer = _decoded(number, line, Trailer).data
                _compare(number, trailer, types, digest.hexdigest())
                if (after := next(lines, None)) is not None:
                    raise InvalidInputError(
                        f"line {after[0]} comes after the trailer", expected="the end of the file", found="more"
                    )
                return trailer
            _decoded(number, line, ExportedEvent)
            types[kind] += 1
            digest.update(line)
        raise InvalidInputError(
            "the file was cut off; `umbriel export --resume` goes on with it",
            expected="a trailer as its last line",
            found=f"none after line {number}",
        )

    def pages(self, *, most: int, max_bytes: int) -> Iterator[list[ImportLine]]:
        """Yield the events, some at a time."""
        page: list[ImportLine] = []
        room = max_bytes
        for number, line in self._lines(lambda _done, _total: None):
            if number == 1 or number == self.trailer.events + 2:
                continue
            if page and (len(page) == most or len(line) > room):
                yield page
                page, room = [], max_bytes
            page.append(ImportLine(number, msgspec.Raw(line.rstrip())))
            room -= len(line)
        if page:
            yield page

    def _lines(self, progress: Callable[[int, int], None]) -> Iterator[tuple[int, bytes]]:
        done = 0
        try:
            with self._path.open("rb") as stream:
                for number, line in enumerate(iter(lambda: stream.readline(_LINE_BYTES), b""), start=1):
                    if len(line) == _LINE_BYTES:
                        raise InvalidInputError(
                            f"line {number} is too long", expected=f"less than {_LINE_BYTES} bytes", found="more"
                        )
                    yield number, line
                    done += len(line)
                    progress(done, self._size)
        except OSError as error:
            raise _unreadable(self._path, error) from error


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"cannot read {path}", expected="the file of an export", found=str(error))


def _header(line: bytes) -> HeaderData:
    header = _decoded(1, line, Header).data
    if not 1 <= header.format <= FORMAT:
        raise InvalidInputError(
            "line 1: the file was written by a newer Umbriel",
            expected=f"format 1 to {FORMAT}",
            found=f"format {header.format}",
        )
    return header


def _decoded(number: int, line: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=kind, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        wanted = "an export's header" if number == 1 else "an event as `umbriel export --schema` says"
        raise InvalidInputError(f"line {number} is no line of an export", expected=wanted, found=str(error)) from error


def _compare(number: int, trailer: TrailerData, types: Counter[str], digest: str) -> None:
    if trailer.events != types.total() or trailer.types != dict(types):
        raise InvalidInputError(
            f"line {number}: lines are missing or doubled",
            expected=f"{trailer.events} events as the trailer counts them",
            found=f"{types.total()}",
        )
    if trailer.sha256 != digest:
        raise InvalidInputError(
            f"line {number}: the file was changed after it was written", expected=trailer.sha256, found=digest
        )

"""The file of an export: read line by line, checked as a whole before anything is done with it."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from umbriel._errors import InvalidInputError
from umbriel._split import sequence_of
from umbriel.exports import FORMAT, SEAL, TRAILER, ExportedEvent, Header, HeaderData, SealLine, Trailer, TrailerData
from umbriel.imports import ImportLine, ImportSeal

__all__ = ["ExportFile", "position_of"]

T = TypeVar("T", bound=msgspec.Struct)
_LINE_BYTES = 16 * 1024**2
_MARK = SEAL.encode()


_LEAF = 32


class _Type(msgspec.Struct, frozen=True):
    type: str


class _Proven(msgspec.Struct, frozen=True):
    """What of a line a seal is over."""

    type: str
    umbrielposition: str = ""
    proof: str = ""


class ExportFile:
    """A whole export: ``header``, ``trailer``, and its events as often as they are asked for. It holds one line."""

    def __init__(self, path: Path, progress: Callable[[int, int], None] = lambda _done, _total: None) -> None:
        """Read the file once; raises InvalidInputError naming the line that does not fit, or what is missing.

        ``progress`` is told how many bytes are read, and of how many. Where the file has proofs, a hash or count that
        does not fit is kept as ``problem``: they tell which line it is.
        """
        self._path = path
        self._size = _size(path)
        lines = self._lines(progress)
        number, first = next(lines, (1, b""))
        self.header = _header(first)
        self.problem: InvalidInputError | None = None
        self.trailer = self._check(number, first, lines)

    def _check(self, number: int, line: bytes, lines: Iterator[tuple[int, bytes]]) -> TrailerData:
        digest, types = hashlib.sha256(line), Counter[str]()
        for number, line in lines:  # noqa: PLR1704 -- the last one counts after the loop
            kind = _decoded(number, line, _Type).type
            if kind == TRAILER:
                trailer = _decoded(number, line, Trailer).data
                self.trailer_line = number
                self.problem = _compared(number, trailer, types, digest.hexdigest())
                if self.problem is not None and not self.header.public_key:
                    raise self.problem
                if (after := next(lines, None)) is not None:
                    raise InvalidInputError(
                        f"line {after[0]} comes after the trailer", expected="the end of the file", found="more"
                    )
                return trailer
            digest.update(line)
            if kind == SEAL and self.header.public_key:
                _decoded(number, line, SealLine)
                continue
            _decoded(number, line, ExportedEvent)
            types[kind] += 1
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
            if number in (1, self.trailer_line) or (_MARK in line and _decoded(number, line, _Type).type == SEAL):
                continue
            if page and (len(page) == most or len(line) > room):
                yield page
                page, room = [], max_bytes
            page.append(ImportLine(number, msgspec.Raw(line.rstrip())))
            room -= len(line)
        if page:
            yield page

    def stretches(self) -> Iterator[ImportSeal]:
        """Yield the seals with the positions and leaves of the lines that each is over; it holds those of one.

        Raises InvalidInputError for lines that no seal stands behind.
        """
        positions, leaves, began = list[int](), bytearray(), 0
        for number, line in self._lines(lambda _done, _total: None):
            if number in (1, self.trailer_line):
                continue
            one = _decoded(number, line, _Proven)
            if one.type == SEAL:
                yield ImportSeal(number, _decoded(number, line, SealLine).data, positions, bytes(leaves))
                positions, leaves = [], bytearray()
                continue
            began = began if positions else number
            positions.append(sequence_of(one.umbrielposition))
            leaves += _leaf(number, one.proof)
        if positions:
            raise InvalidInputError(
                f"line {began}: nothing shows that it was sealed", expected="a seal behind it", found="none"
            )

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


def _leaf(number: int, proof: str) -> bytes:
    try:
        return base64.b64decode(proof, validate=True)[:_LEAF]
    except ValueError as error:
        raise InvalidInputError(f"line {number}: its proof is none", expected="base64", found=str(error)) from error


def position_of(line: ImportLine) -> int:
    """Return the sequence at which the event of a line stands in its log."""
    return sequence_of(_decoded(line.line, bytes(line.event), _Proven).umbrielposition)


def _compared(number: int, trailer: TrailerData, types: Counter[str], digest: str) -> InvalidInputError | None:
    """Return what does not fit a trailer."""
    if trailer.events != types.total() or trailer.types != dict(types):
        return InvalidInputError(
            f"line {number}: lines are missing or doubled",
            expected=f"{trailer.events} events as the trailer counts them",
            found=f"{types.total()}",
        )
    if trailer.sha256 != digest:
        return InvalidInputError(
            f"line {number}: the file was changed after it was written", expected=trailer.sha256, found=digest
        )
    return None

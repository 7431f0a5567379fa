"""The values of a JSON file one after the other: the elements of a list, the lines of JSON Lines, or one document."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import TextIO

from domain.errors import InvalidInputError
from gateways.importers.archive import Blob
from gateways.importers.chat import Item

__all__ = ["is_by_line", "read_items"]

_LINES = frozenset({"jsonl", "ndjson"})
_CHUNK = 1 << 18
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def is_by_line(blob: Blob) -> bool:
    """Return whether a file is JSON Lines: by its name, or for its first line is an object and more follows."""
    if blob.suffix in _LINES:
        return True
    if not "".join(blob.head()[:1]).lstrip().startswith("{"):
        return False
    lines = (line for line in blob.lines() if line.strip())
    first = next(lines, "")
    try:
        return next(lines, None) is not None and isinstance(json.loads(first), dict)
    except JSONDecodeError:
        return False


def read_items(blob: Blob, *, by_line: bool) -> Iterator[Item]:
    """Yield each value with its path. Of a list no more is held than one element and what was read with it.

    Raises InvalidInputError where the file is not JSON, with the line.
    """
    if by_line:
        yield from _by_line(blob)
        return
    with blob.open() as stream, io.TextIOWrapper(stream, encoding="utf-8-sig") as text:
        yield from _by_element(blob, text)


def _by_line(blob: Blob) -> Iterator[Item]:
    for number, line in enumerate(blob.lines(), start=1):
        if not line.strip():
            continue
        try:
            yield (number,), json.loads(line)
        except JSONDecodeError as error:
            raise _bad_json(blob, error, number) from error


def _by_element(blob: Blob, text: TextIO) -> Iterator[Item]:
    head = _first(text)
    if head.lstrip()[:1] != "[":
        yield (), _whole(blob)
        return
    window = _Window(text, head)
    try:
        yield from _elements(window)
    except JSONDecodeError:
        _whole(blob)  # knows the line
        raise


def _elements(window: _Window) -> Iterator[Item]:
    """Yield the elements of a list. Raises JSONDecodeError where it is not JSON."""
    window.pass_over("[")
    if window.peek() == "]":
        window.pass_over("]")
    else:
        index, more = 0, ","
        while more == ",":
            yield (index,), window.value()
            index, more = index + 1, window.pass_over(",", "]")
    window.end()


class _Window:
    """The part of a text that is looked at; it grows until a value is whole in it."""

    def __init__(self, text: TextIO, head: str) -> None:
        self._text = text
        self._seen = head
        self._at = 0

    def peek(self) -> str:
        """Return the next character that is no blank, empty at the end."""
        self._at = _skip(self._seen, self._at)
        while self._at == len(self._seen) and self._grow():
            self._at = _skip(self._seen, self._at)
        return self._seen[self._at : self._at + 1]

    def pass_over(self, *expected: str) -> str:
        """Return the next character, which must be one of these, and go on behind it."""
        found = self.peek()
        if found not in expected:
            raise JSONDecodeError(f"Expecting {' or '.join(expected)}", self._seen, self._at)
        self._at += 1
        return found

    def value(self) -> object:
        """Return the next value and go on behind it."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._seen, self._at)
            except JSONDecodeError:
                if not self._grow():
                    raise
                continue
            if end < len(self._seen) or not self._grow():  # a number may go on beyond what was read
                self._at = end
                return value

    def end(self) -> None:
        """Raise JSONDecodeError unless nothing but blanks follows."""
        if self.peek():
            raise JSONDecodeError("Extra data", self._seen, self._at)

    def _grow(self) -> bool:
        # Twice as much each time, so that a long value is not begun over and over.
        more = self._text.read(max(_CHUNK, len(self._seen) - self._at))
        self._seen, self._at = self._seen[self._at :] + more, 0
        return bool(more)


def _first(text: TextIO) -> str:
    head = text.read(_CHUNK)
    while head and not head.strip() and (more := text.read(_CHUNK)):
        head = more
    return head


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _whole(blob: Blob) -> object:
    text = blob.text()
    try:
        return json.loads(text)
    except JSONDecodeError as error:
        raise _bad_json(blob, error, error.lineno) from error


def _bad_json(blob: Blob, error: JSONDecodeError, line: int) -> InvalidInputError:
    near = error.doc[max(0, error.pos - 20) : error.pos + 20]
    return InvalidInputError(
        f"{blob.label}, line {line}: not JSON", expected=f"JSON ({error.msg})", found=ascii(near) if near else "the end"
    )

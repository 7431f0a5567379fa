"""Finding out what a file holds, and saying exactly where it cannot be read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import InvalidInputError
from gateways.importers import shapes, slack_export
from gateways.importers.archive import Blob, blobs
from gateways.importers.conversation import BadValueError, Conversation, place_of
from gateways.importers.entries import Hints
from gateways.importers.imported import Imported, taken_stock
from gateways.importers.items import is_by_line, read_items
from gateways.importers.locate import line_of
from gateways.importers.whatsapp import is_whatsapp

__all__ = ["read_conversations", "read_export"]

#: Lines within which the first message of a chat as text must begin.
_HEAD = 5


def read_conversations(path: Path, hints: Hints = shapes.NO_HINTS) -> list[Conversation]:
    """Return the conversations of a file, a folder or a zip archive in their order; see `read_export`."""
    return list(read_export(path, hints))


def read_export(path: Path, hints: Hints = shapes.NO_HINTS) -> Imported:
    """Return what a file, a folder or a zip archive holds, by what is in it and not by its name.

    All of it is read and checked once, so that what is wrong is known before anything is used; the conversations are
    read again when they are asked for. Raises InvalidInputError naming file, line or place, what was expected and
    what was found.
    """
    with _reading(path):
        found = blobs(path)
        if slack_export.is_slack(found):
            return _stock(path, shapes.SLACK, lambda: _slack(path, found, hints), hints)
        if [blob.label for blob in found] == [str(path)]:
            return _file(path, found[0], hints)
        return _folder(path, found, hints)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Tell what goes wrong with a file as such as an error of the input."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InvalidInputError(f"{path}: a broken archive", expected="a zip archive", found=str(error)) from error
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}", expected="a readable file", found=str(error)) from error
    except RecursionError as error:
        raise InvalidInputError(f"{path}: JSON nested too deeply", expected="an export", found=str(error)) from error


def _file(path: Path, blob: Blob, hints: Hints) -> Imported:
    read = _readable(blob)
    if read is None:
        raise InvalidInputError(f"{path}: no messages", expected=f"one of {shapes.KNOWN}", found="an empty list")
    return _stock(path, read.name, lambda: read.conversations(hints), hints)


def _folder(path: Path, found: list[Blob], hints: Hints) -> Imported:
    """Return what the exports among the files of a folder or an archive hold; what else is there is left alone."""
    reads = [read for blob in found if (read := _export_in(blob)) is not None]
    names = list(dict.fromkeys(read.name for read in reads))
    if len(names) != 1:
        raise InvalidInputError(
            f"{path}: {'several kinds of export' if names else 'no export that is known'}",
            expected=f"one of {shapes.KNOWN}",
            found=", ".join(names) or f"{len(found)} other files",
        )
    return _stock(path, names[0], lambda: (one for read in reads for one in read.conversations(hints)), hints)


def _stock(path: Path, shape: str, read: Callable[[], Iterator[Conversation]], hints: Hints) -> Imported:
    if hints.me and shape not in shapes.AMONG_PEOPLE:
        raise InvalidInputError(
            f"{path}: who is the user is known", expected="--me for a chat among people", found=f"{shape} and --me"
        )
    imported = taken_stock(shape, read)
    if not imported.messages:
        raise InvalidInputError(f"{path}: no messages", expected=f"one of {shapes.KNOWN}", found="none with text")
    return imported


class _Readable:
    """One file whose shape is known."""

    def __init__(self, blob: Blob, name: str, read: Callable[[Hints], Iterator[Conversation]], *, lines: bool) -> None:
        self.name = name
        self._blob = blob
        self._read = read
        self._by_line = lines

    def conversations(self, hints: Hints) -> Iterator[Conversation]:
        """Yield its conversations; what is wrong is told with the line."""
        try:
            yield from self._read(hints)
        except BadValueError as error:
            raise _located(self._blob, error, by_line=self._by_line) from error
        except UnicodeDecodeError:
            self._blob.text()  # knows the line
            raise


def _readable(blob: Blob) -> _Readable | None:
    """Return how a file is read, None for an empty list. Raises InvalidInputError for one of no known shape."""
    try:
        if _is_text(blob):
            return _Readable(blob, shapes.WHATSAPP, lambda hints: shapes.read_text(blob, hints), lines=True)
        by_line = is_by_line(blob)
        first = next(read_items(blob, by_line=by_line), None)
    except UnicodeDecodeError:
        blob.text()  # knows the line
        raise
    except InvalidInputError:
        if blob.suffix in shapes.JSON_NAMES or _begins_like_json(blob):
            raise
        raise _unknown(blob, f"{_line(blob)!a}") from None
    if first is None:
        return None
    shape = shapes.shape_of_item(first[1])
    return _Readable(
        blob, shape.name, lambda hints: shape.read(read_items(blob, by_line=by_line), hints), lines=by_line
    )


def _export_in(blob: Blob) -> _Readable | None:
    """Return how a file of a folder is read, None when it is no export: folders hold other files too.

    JSON that cannot be read may be a part of the export, and is an error.
    """
    try:
        read = _readable(blob)
    except InvalidInputError:
        if blob.suffix in shapes.JSON_NAMES:
            raise
        return None
    return read if read is not None and read.name in shapes.EXPORTS else None


def _slack(path: Path, found: list[Blob], hints: Hints) -> Iterator[Conversation]:
    try:
        yield from slack_export.read_folder(found, hints)
    except BadValueError as error:
        place = f": {error.path[0]}{place_of(error.path[1:])}" if error.path else ""
        raise InvalidInputError(
            f"{path}{place}: {error.message}", expected=error.expected, found=error.found
        ) from error


def _is_text(blob: Blob) -> bool:
    return any(map(is_whatsapp, blob.head()[:_HEAD]))


def _begins_like_json(blob: Blob) -> bool:
    return _line(blob)[:1] in ("[", "{")


def _line(blob: Blob) -> str:
    return "".join(blob.head()[:1]).strip()[:40]


def _unknown(blob: Blob, found: str) -> InvalidInputError:
    return InvalidInputError(f"{blob.label}: no known shape", expected=f"one of {shapes.KNOWN}", found=found)


def _located(blob: Blob, error: BadValueError, *, by_line: bool) -> InvalidInputError:
    if not error.path:  # about the file as a whole
        return InvalidInputError(f"{blob.label}: {error.message}", expected=error.expected, found=error.found)
    line, path = (error.path[0], error.path[1:]) if by_line else (line_of(blob.text(), error.path), error.path)
    place = f" in {place_of(path, blob.stem)}" if path else ""
    return InvalidInputError(
        f"{blob.label}, line {line}: {error.message}{place}", expected=error.expected, found=error.found
    )

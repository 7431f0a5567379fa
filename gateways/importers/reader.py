"""Finding out what a file holds, and saying exactly where it cannot be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from json import JSONDecodeError
from pathlib import Path

from domain.errors import InvalidInputError
from gateways.importers import beam, chat, locomo, longmemeval
from gateways.importers.conversation import BadValueError, Conversation
from gateways.importers.locate import line_of

__all__ = ["read_conversations"]

_LINES = (".jsonl", ".ndjson")


def read_conversations(path: Path) -> list[Conversation]:
    """Return the conversations of a file in its order: LoCoMo, LongMemEval, BEAM, chat-message JSON or JSON Lines.

    The whole file is read and checked first. Raises InvalidInputError naming file, line, what was
    expected and what was found.
    """
    text = _read(path)
    if path.suffix.lower() in _LINES:
        return _finish(path, _by_line(path, text), lambda error: int(error.path[0]) if error.path else 1)
    try:
        document: object = json.loads(text)
    except JSONDecodeError as error:
        if _starts_with_a_line(text):
            return _finish(path, _by_line(path, text), lambda bad: int(bad.path[0]) if bad.path else 1)
        raise _bad_json(path, error, error.lineno) from error
    return _finish(path, _by_document(document), lambda error: line_of(text, error.path))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{path}, line {line}: not UTF-8", expected="UTF-8 text", found=f"byte 0x{error.object[error.start]:02x}"
        ) from error
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}", expected="a readable file", found=str(error)) from error


def _finish(
    path: Path, conversations: Iterator[Conversation], line: Callable[[BadValueError], int]
) -> list[Conversation]:
    try:
        found = list(conversations)
    except BadValueError as error:
        raise InvalidInputError(
            f"{path}, line {line(error)}: {error.message}", expected=error.expected, found=error.found
        ) from error
    if not found:
        raise InvalidInputError(
            f"{path}: no messages",
            expected="LoCoMo, LongMemEval, BEAM, chat-message JSON or JSON Lines",
            found="none with text",
        )
    return found


def _by_document(document: object) -> Iterator[Conversation]:
    items: list[chat.Item]
    if isinstance(document, list):
        items = [((index,), item) for index, item in enumerate(document)]
    else:
        items = [((), document)]
    first = items[0][1] if items else None
    if locomo.is_locomo(first):
        yield from _by_item(items, locomo.is_locomo, locomo.read_sample, "a LoCoMo sample")
    elif longmemeval.is_longmemeval(first):
        yield from _by_item(items, longmemeval.is_longmemeval, longmemeval.read_haystack, "a LongMemEval item")
    elif beam.is_beam(first):
        yield from beam.read_batches([item for _, item in items])
    else:
        yield from chat.read_document(items)


def _by_item(
    items: Sequence[chat.Item],
    fits: Callable[[object], bool],
    read: Callable[[Mapping[str, object]], Iterator[Conversation]],
    what: str,
) -> Iterator[Conversation]:
    """Yield the conversations of items that must all be of one kind."""
    for where, item in items:
        if not fits(item) or not isinstance(item, dict):
            raise BadValueError(f"not {what}", expected=what, found=type(item).__name__, path=where)
        try:
            yield from read(item)
        except BadValueError as error:
            raise error.under(*where) from error


def _by_line(path: Path, text: str) -> Iterator[Conversation]:
    """Yield the conversations of JSON Lines; the first element of an item's path is its line."""
    yield from chat.read_document(_lines(path, text))


def _lines(path: Path, text: str) -> Iterator[chat.Item]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield (number,), json.loads(line)
        except JSONDecodeError as error:
            raise _bad_json(path, error, number) from error


def _starts_with_a_line(text: str) -> bool:
    """Return whether the first line is an object by itself and more follows: JSON Lines under another name."""
    first, _, rest = text.strip().partition("\n")
    try:
        return bool(rest.strip()) and isinstance(json.loads(first), dict)
    except JSONDecodeError:
        return False


def _bad_json(path: Path, error: JSONDecodeError, line: int) -> InvalidInputError:
    near = error.doc[max(0, error.pos - 20) : error.pos + 20]
    return InvalidInputError(
        f"{path}, line {line}: not JSON", expected=f"JSON ({error.msg})", found=ascii(near) if near else "the end"
    )

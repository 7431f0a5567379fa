"""What an export of another memory holds: read whole before anything is written, with every line that does not fit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from domain.errors import InvalidInputError
from gateways.importers.archive import Blob, blobs
from gateways.importers.conversation import BadValueError, Conversation, as_name, place_of, session_name, split_long
from gateways.importers.items import is_by_line, read_items
from gateways.importers.locate import line_of
from gateways.importers.memories.hosted import is_hosted, read_hosted
from gateways.importers.memories.mem0 import is_mem0, read_mem0
from gateways.importers.memories.statement import Statement, first_of
from gateways.importers.memories.zep import is_node, is_zep_fact, is_zep_message, read_zep_fact, read_zep_message
from umbriel import Message

__all__ = ["SOURCES", "Broken", "MemoryExport", "read_memories", "source_of"]

_Fields = Mapping[str, object]
_Place = tuple[int | str, ...]
#: names under which pages and containers hold their items
_LISTS = ("results", "result", "memories", "facts", "relevant_facts", "edges", "nodes", "messages")
#: fields of a container that hold for each of its items
_SHARED = ("user_id", "session_id", "thread_id")

SOURCES: Mapping[str, tuple[Callable[[object], bool], Callable[[_Fields, str], Statement]]] = {
    "mem0": (is_mem0, read_mem0),
    "hosted": (is_hosted, read_hosted),
    "zep": (is_zep_fact, read_zep_fact),
}


class Broken(msgspec.Struct, frozen=True):
    """A value that cannot be taken over: the line it stands on, and why."""

    line: int
    reason: str
    expected: str = ""
    found: str = ""


class MemoryExport(msgspec.Struct, frozen=True, kw_only=True):
    """All of a file: what is to be stated, what was said, and what is not taken over.

    ``skipped`` is left out for a reason, ``unknown`` are fields that nobody here knows (they are kept in the origin of
    their memory), ``dropped`` is what an origin does not keep; each with how often.
    """

    source: str
    statements: list[Statement]
    conversations: list[Conversation]
    skipped: dict[str, int]
    unknown: dict[str, int]
    dropped: dict[str, int]
    broken: list[Broken]


def source_of(value: object) -> str:
    """Return which memory a JSON value is of, empty where it is of none that is known."""
    for _, item, _ in _items((), value, {}):
        found = next((name for name, (fits, _) in SOURCES.items() if fits(item)), "")
        return found or ("zep" if is_zep_message(item) and not is_message_of_ours(item) else "")
    return ""


def is_message_of_ours(item: object) -> bool:
    """Whether a message is one that `ingest` reads as it is."""
    return isinstance(item, Mapping) and "role" in item and "role_type" not in item


def read_memories(path: Path, source: str, contact: str = "") -> MemoryExport:
    """Return what a file holds; ``contact`` is whose a memory is that names nobody.

    Raises InvalidInputError where it cannot be read at all; what is wrong with single values is in ``broken``.
    """
    if source not in SOURCES:
        raise InvalidInputError("no such memory", expected=", ".join(SOURCES), found=ascii(source)[:40])
    try:
        found = [blob for blob in blobs(path) if blob.suffix in ("json", "jsonl", "ndjson", path.suffix.lower()[1:])]
        reading = _Reading(source, contact)
        for blob in found:
            reading.read(blob)
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}", expected="a readable file", found=str(error)) from error
    export = reading.export()
    if not (export.statements or export.conversations or export.broken or export.skipped):
        raise InvalidInputError(f"{path}: no memories", expected=f"an export of {source}", found="none")
    return export


class _Reading:
    """Goes through the values of a file and keeps what they are."""

    def __init__(self, source: str, contact: str) -> None:
        self._source = source
        self._fits, self._read = SOURCES[source]
        self._contact = contact
        self._statements: list[Statement] = []
        self._said: dict[tuple[str, str], list[Message]] = {}
        self._skipped: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._broken: list[Broken] = []

    def read(self, blob: Blob) -> None:
        by_line = is_by_line(blob)
        for where, value in self._lines(blob) if by_line else read_items(blob, by_line=False):
            for place, item, shared in _items(where, value, {}):
                try:
                    self._take(item, shared)
                except BadValueError as error:
                    self._broken.append(_broken(blob, error.under(*place), by_line=by_line))

    def _lines(self, blob: Blob) -> Iterator[tuple[_Place, object]]:
        """Yield the value of each line; one that is no JSON is broken, and the next is read."""
        for number, line in enumerate(blob.lines(), start=1):
            if not line.strip():
                continue
            try:
                yield (number,), json.loads(line)
            except ValueError as error:
                reason = f"{blob.label}, line {number}: not JSON"
                self._broken.append(Broken(number, reason, "JSON", str(error)))

    def export(self) -> MemoryExport:
        return MemoryExport(
            source=self._source,
            statements=self._statements,
            conversations=[
                Conversation(messages=list(split_long(said)), session=session, contact=who, channel=self._source)
                for (session, who), said in self._said.items()
            ],
            skipped=dict(self._skipped),
            unknown=dict(self._unknown.most_common()),
            dropped=dict(self._dropped),
            broken=self._broken,
        )

    def _take(self, item: object, shared: _Fields) -> None:
        if self._fits(item) and isinstance(item, Mapping):
            self._keep(self._read({**shared, **item}, self._contact))
        elif self._source == "zep" and is_zep_message(item) and isinstance(item, Mapping):
            self._say({**shared, **item})
        elif self._source == "zep" and is_node(item):
            self._skipped["summary of a node"] += 1
        else:
            other = source_of(item)
            raise BadValueError(
                f"no memory of {self._source}",
                expected=f"an export of {self._source}",
                found=f"one of {other}" if other else _shape(item),
            )

    def _keep(self, statement: Statement) -> None:
        self._statements.append(statement)
        self._unknown.update(statement.origin.get("more", {}).keys())
        self._dropped.update(statement.dropped)

    def _say(self, item: _Fields) -> None:
        session = session_name(as_name(first_of(item, "session_id", "thread_id"), field="session_id"))
        who = as_name(item.get("user_id"), field="user_id") or self._contact
        if not str(item["content"] or "").strip():
            self._skipped["message without text"] += 1
            return
        self._said.setdefault((session, who), []).append(read_zep_message(item))


def _items(place: _Place, value: object, shared: _Fields) -> Iterator[tuple[_Place, object, _Fields]]:
    """Yield the items that a value holds, with their places; what is no page and no list is an item itself."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from _items((*place, index), one, shared)
        return
    lists = [name for name in _LISTS if isinstance(value, Mapping) and isinstance(value.get(name), list | Mapping)]
    if not lists or not isinstance(value, Mapping):
        yield place, value, shared
        return
    inherited = {**shared, **{name: value[name] for name in _SHARED if value.get(name) not in (None, "")}}
    for name in lists:
        yield from _items((*place, name), value[name], inherited)


def _broken(blob: Blob, error: BadValueError, *, by_line: bool) -> Broken:
    """Return what is wrong with a value, and the line of it in its file."""
    if by_line:
        line, path = int(error.path[0]), error.path[1:]
    else:
        line, path = line_of(blob.text(), error.path), error.path
    place = f" in {place_of(path, blob.stem)}" if path else ""
    return Broken(line, f"{blob.label}, line {line}: {error.message}{place}", error.expected, error.found)


def _shape(item: object) -> str:
    if isinstance(item, Mapping):
        return f"an object with {', '.join(ascii(name) for name in list(item)[:6]) or 'nothing in it'}"
    return f"{type(item).__name__} {ascii(item)[:40]}"

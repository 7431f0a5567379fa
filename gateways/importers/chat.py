"""Chat messages as JSON: a list of messages, a conversation, a list of either, in the usual spellings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from gateways.importers.blocks import Blocks, Output, is_step, read_blocks, read_output
from gateways.importers.conversation import (
    NO_TEXT,
    BadValueError,
    Conversation,
    as_name,
    as_time,
    checked,
    shape_of,
)
from gateways.importers.entries import Entry, gathered
from umbriel import Message

__all__ = ["is_conversation", "is_message", "read_document", "read_messages"]

_SESSION_FIELDS = ("session", "session_id", "conversation_id")
_TIME_FIELDS = ("at", "timestamp", "created_at", "time")
_ID_FIELDS = ("id", "message_id", "uuid")
_NAME_FIELDS = ("name", "speaker")
_PROFILE_FIELDS = ("profile",)
_CONTACT_FIELDS = ("contact",)

Item = tuple[tuple[int | str, ...], object]
"""A value of a file with the path that leads to it."""


def is_message(value: object) -> bool:
    """Return whether a JSON value looks like one message."""
    return isinstance(value, Mapping) and "role" in value


def is_conversation(value: object) -> bool:
    """Return whether a JSON value looks like one conversation: an object or a list of messages."""
    if isinstance(value, Mapping):
        return isinstance(value.get("messages"), list)
    return (
        isinstance(value, list)
        and any(map(is_message, value))
        and all(is_message(one) or is_step(one) for one in value)
    )


def read_document(items: Iterable[Item]) -> Iterator[Conversation]:
    """Yield the conversations among the items of a list or the lines of a file; loose messages are joined.

    Loose messages are one conversation, or one for each session and contact that they name.
    """
    loose: list[Item] = []
    for path, item in items:
        if is_conversation(item):
            yield from _conversation(path, item)
        elif is_message(item) or is_step(item):
            loose.append((path, item))
        else:
            raise BadValueError(
                "neither a message nor a conversation",
                expected='{"role": …, "content": …} or {"messages": […]}',
                found=shape_of(item),
                path=path,
            )
    yield from read_messages(loose)


def read_messages(
    items: Iterable[Item], *, profile_hint: str = "", session: str = "", contact: str = ""
) -> Iterator[Conversation]:
    """Yield the conversations that loose messages form; what a message names itself goes before the defaults."""
    groups: dict[tuple[str, str, str], list[Entry]] = {}
    for path, item in items:
        try:
            fields = _mapping(item)
            key = (
                _first_name(fields, _PROFILE_FIELDS) or profile_hint,
                _first_name(fields, _SESSION_FIELDS) or session,
                _first_name(fields, _CONTACT_FIELDS) or contact,
            )
            groups.setdefault(key, []).extend(_step(fields) if is_step(fields) else _entries(fields))
        except BadValueError as error:
            raise error.under(*path) from error
    for (hint, named, who), entries in groups.items():
        found = gathered(entries, session=named, channel="")
        yield msgspec.structs.replace(found, profile_hint=hint, contact=who)


def _conversation(path: tuple[int | str, ...], value: object) -> Iterator[Conversation]:
    if isinstance(value, Mapping):
        try:
            names = [_first_name(value, fields) for fields in (_PROFILE_FIELDS, _SESSION_FIELDS, _CONTACT_FIELDS)]
        except BadValueError as error:
            raise error.under(*path) from error
        items = [((*path, "messages", index), item) for index, item in enumerate(value["messages"])]
        yield from read_messages(items, profile_hint=names[0], session=names[1], contact=names[2])
    elif isinstance(value, Sequence):
        yield from read_messages(((*path, index), item) for index, item in enumerate(value))


def _entries(fields: Mapping[str, object]) -> Iterator[Entry]:
    """Yield what tools answered, each as a message of its own, and then the message when it says anything."""
    role = fields.get("role")
    if not isinstance(role, str):
        raise BadValueError("a message without a role", expected="role: user or assistant", found=shape_of(role))
    blocks = read_blocks(fields.get("content"))
    at = as_time(_first(fields, _TIME_FIELDS))
    for output in blocks.outputs:
        yield _output(output, at)
    if not blocks.text.strip():
        if not blocks.outputs or blocks.left_out:
            yield Entry(skipped=_silence(fields, blocks), left_out=blocks.left_out)
        return
    message = Message(
        role=role,
        content=blocks.text,
        id=_first_name(fields, _ID_FIELDS),
        at=at,
        name=_first_name(fields, _NAME_FIELDS),
        turn_id=_first_name(fields, ("turn_id",)),
    )
    yield Entry(message=checked(message), left_out=blocks.left_out)


def _step(fields: Mapping[str, object]) -> Iterator[Entry]:
    """Yield what a tool answered, or why a step between messages is none: a call, a thought."""
    kind = str(fields["type"])
    if kind.endswith("_output"):
        yield _output(read_output(fields), as_time(_first(fields, _TIME_FIELDS)))
    else:
        yield Entry(skipped=kind)


def _output(output: Output, at: datetime | None) -> Entry:
    if not output.text.strip():
        return Entry(skipped=NO_TEXT)
    return Entry(message=checked(Message(role="tool", content=output.text, id=output.id, at=at)))


def _silence(fields: Mapping[str, object], blocks: Blocks) -> str:
    """Return why a message says nothing."""
    calls = fields.get("tool_calls") or fields.get("function_call") or "tool_use" in blocks.left_out
    return "tool call" if calls else NO_TEXT


def _mapping(item: object) -> Mapping[str, object]:
    if not isinstance(item, Mapping):
        raise BadValueError("not a message", expected='{"role": …, "content": …}', found=shape_of(item))
    return item


def _first(fields: Mapping[str, object], names: Sequence[str]) -> object:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _first_name(fields: Mapping[str, object], names: Sequence[str]) -> str:
    return as_name(_first(fields, names), field=names[0])

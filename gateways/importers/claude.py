"""Claude's export: conversations with lists of messages, whose content is text or blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateways.importers.blocks import read_blocks
from gateways.importers.conversation import (
    NO_TEXT,
    BadValueError,
    Conversation,
    as_name,
    as_time,
    checked,
    session_name,
    shape_of,
)
from gateways.importers.entries import Entry, Hints, gathered
from umbriel import Message

__all__ = ["is_claude", "read_chat"]


def is_claude(value: object) -> bool:
    """Return whether a JSON value is one conversation of the export."""
    return isinstance(value, Mapping) and isinstance(value.get("chat_messages"), list)


def read_chat(chat: Mapping[str, object], _hints: Hints) -> Iterator[Conversation]:
    """Yield one conversation under its own id; messages have theirs, so that a longer export adds what is new."""
    session = as_name(chat.get("uuid"), field="uuid")
    yield gathered(_entries(chat), session=session_name(session), channel="claude")


def _entries(chat: Mapping[str, object]) -> Iterator[Entry]:
    messages = chat["chat_messages"]
    assert isinstance(messages, list)  # noqa: S101 - is_claude has seen to it
    for index, message in enumerate(messages):
        try:
            yield _entry(message)
        except BadValueError as error:
            raise error.under("chat_messages", index) from error


def _entry(message: object) -> Entry:
    if not isinstance(message, Mapping):
        raise BadValueError("not a message", expected="an object with sender and text", found=shape_of(message))
    sender = message.get("sender")
    if not isinstance(sender, str):
        raise BadValueError("a message without a sender", expected="human or assistant", found=shape_of(sender))
    text, left_out = _content(message)
    if not text.strip():
        return Entry(skipped=NO_TEXT, left_out=left_out)
    said = Message(
        role=sender,
        content=text,
        id=as_name(message.get("uuid"), field="uuid"),
        at=as_time(message.get("created_at")),
    )
    return Entry(message=checked(said), left_out=left_out)


def _content(message: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    """Return the text blocks joined; without any, the message's plain text, as older exports have it."""
    found = read_blocks(message.get("content"))
    files = [name for name in ("attachments", "files") for _ in _listed(message.get(name))]
    left_out = (*found.left_out, *("tool_result" for _ in found.outputs), *files)
    text = message.get("text")
    if found.text.strip() or left_out[: len(found.left_out)] or text is None:
        return found.text, left_out
    if not isinstance(text, str):
        raise BadValueError("content is not text", expected="text", found=shape_of(text))
    return text, left_out


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []

"""Chat messages as JSON: a list of messages, a conversation, a list of either, in the usual spellings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gateways.importers.conversation import BadValueError, Conversation, as_name, as_time, checked, split_long
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
    return isinstance(value, list) and bool(value) and all(is_message(item) for item in value)


def read_document(items: Iterable[Item]) -> Iterator[Conversation]:
    """Yield the conversations among the items of a list or the lines of a file; loose messages are joined.

    Loose messages are one conversation, or one for each session and contact that they name.
    """
    loose: list[Item] = []
    for path, item in items:
        if is_conversation(item):
            yield from _conversation(path, item)
        elif is_message(item):
            loose.append((path, item))
        else:
            raise BadValueError(
                "neither a message nor a conversation",
                expected='{"role": …, "content": …} or {"messages": […]}',
                found=_shape(item),
                path=path,
            )
    yield from read_messages(loose)


def read_messages(
    items: Iterable[Item], *, profile_hint: str = "", session: str = "", contact: str = ""
) -> Iterator[Conversation]:
    """Yield the conversations that loose messages form; what a message names itself goes before the defaults."""
    groups: dict[tuple[str, str, str], list[Message | None]] = {}
    for path, item in items:
        try:
            fields = _mapping(item)
            key = (
                _first_name(fields, _PROFILE_FIELDS) or profile_hint,
                _first_name(fields, _SESSION_FIELDS) or session,
                _first_name(fields, _CONTACT_FIELDS) or contact,
            )
            groups.setdefault(key, []).append(_message(fields))
        except BadValueError as error:
            raise error.under(*path) from error
    for (hint, named, who), found in groups.items():
        messages = [message for message in found if message is not None]
        if messages:
            yield Conversation(
                profile_hint=hint,
                session=named,
                contact=who,
                messages=list(split_long(messages)),
                skipped=len(found) - len(messages),
            )


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


def _message(fields: Mapping[str, object]) -> Message | None:
    """Return the message, or None when it says nothing (a bare tool call, an empty text)."""
    role = fields.get("role")
    if not isinstance(role, str):
        raise BadValueError("a message without a role", expected="role: user or assistant", found=_shape(role))
    content = _text(fields.get("content"))
    if not content.strip():
        return None
    return checked(
        Message(
            role=role,
            content=content,
            id=_first_name(fields, _ID_FIELDS),
            at=as_time(_first(fields, _TIME_FIELDS)),
            name=_first_name(fields, _NAME_FIELDS),
            turn_id=_first_name(fields, ("turn_id",)),
        )
    )


def _text(content: object) -> str:
    """Return a content as text: None is empty, the text parts of a list are joined by line breaks."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (_part(part) for part in content)))
    raise BadValueError("content is not text", expected="text, null or a list of parts", found=_shape(content))


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise BadValueError("a content part is not text", expected="text or an object", found=_shape(part))
    text = part.get("text")
    if text is None:  # a picture, a sound, a tool call
        return ""
    if not isinstance(text, str):
        raise BadValueError("a content part is not text", expected="text", found=_shape(text))
    return text


def _mapping(item: object) -> Mapping[str, object]:
    if not isinstance(item, Mapping):
        raise BadValueError("not a message", expected='{"role": …, "content": …}', found=_shape(item))
    return item


def _first(fields: Mapping[str, object], names: Sequence[str]) -> object:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _first_name(fields: Mapping[str, object], names: Sequence[str]) -> str:
    return as_name(_first(fields, names), field=names[0])


def _shape(value: object) -> str:
    if isinstance(value, Mapping):
        return f"an object with {', '.join(ascii(key) for key in list(value)[:6]) or 'nothing in it'}"
    return "null" if value is None else f"{type(value).__name__} {ascii(value)[:40]}"

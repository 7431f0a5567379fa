"""Telegram's export as JSON: one chat, or all of them; texts are plain or lists of plain and marked pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone

from gateways.importers.conversation import (
    NO_TEXT,
    BadValueError,
    Conversation,
    as_name,
    as_time,
    checked,
    one_line,
    session_name,
    shape_of,
)
from gateways.importers.entries import Entry, Hints, Speakers, by_day, whole
from umbriel import Message

__all__ = ["is_telegram", "read_chats"]

_Fields = Mapping[str, object]
_LISTS = ("chats", "left_chats")
_BOT = "bot_chat"
_MEDIA = ("media_type", "photo", "file", "sticker_emoji", "location_information", "contact_information", "poll")
#: The furthest that a clock on earth is from UTC.
_FARTHEST = timedelta(hours=14)


def is_telegram(value: object) -> bool:
    """Return whether a JSON value is the export of a chat or of an account."""
    return isinstance(value, Mapping) and (_is_chat(value) or any(_listed(value, name) for name in _LISTS))


def _is_chat(value: _Fields) -> bool:
    messages = value.get("messages")
    if not isinstance(messages, list) or "type" not in value or "id" not in value:
        return False
    return all(isinstance(one, Mapping) and "role" not in one and "type" in one for one in messages[:1])


def read_chats(value: _Fields, hints: Hints, speakers: Speakers) -> Iterator[Conversation]:
    """Yield a conversation for each chat and day; messages keep their ids."""
    if _is_chat(value):
        yield from _chat(value, speakers)
    for name in _LISTS:
        for index, chat in enumerate(_listed(value, name)):
            yield from whole(_chat(chat, speakers), (name, "list", index), hints)


def _listed(value: _Fields, name: str) -> list[object]:
    chats = value.get(name)
    found = chats.get("list") if isinstance(chats, Mapping) else None
    return found if isinstance(found, list) else []


def _chat(chat: object, speakers: Speakers) -> Iterator[Conversation]:
    if not isinstance(chat, Mapping) or not isinstance(chat.get("messages"), list):
        raise BadValueError("not a chat", expected="an object with messages", found=shape_of(chat))
    identity = as_name(chat.get("id"), field="id")
    title = one_line(str(chat.get("name") or ""))
    bot = title if chat.get("type") == _BOT else ""
    channel = f"telegram {title}".strip()[:200]
    yield from by_day(
        _entries(chat, speakers, bot), lambda day: session_name("telegram", identity, day), channel=channel
    )


def _entries(chat: _Fields, speakers: Speakers, bot: str) -> Iterator[Entry]:
    messages = chat["messages"]
    assert isinstance(messages, list)  # noqa: S101 - both callers have seen to it
    day = ""
    for index, message in enumerate(messages):
        try:
            entry = _entry(message, speakers, bot, day)
        except BadValueError as error:
            raise error.under("messages", index) from error
        day = entry.day
        yield entry


def _entry(message: object, speakers: Speakers, bot: str, day: str) -> Entry:
    if not isinstance(message, Mapping):
        raise BadValueError("not a message", expected="an object with type and text", found=shape_of(message))
    if message.get("type") != "message":
        return Entry(skipped=str(message.get("type") or "without type"), day=day)
    at = _time(message)
    day = at.astimezone(UTC).date().isoformat() if at else day
    left_out = tuple(name for name in _MEDIA if message.get(name))
    text = _text(message.get("text"))
    if not text.strip():
        return Entry(skipped="media without text" if left_out else NO_TEXT, day=day)
    name = one_line(str(message.get("from") or message.get("from_id") or ""))
    role = "assistant" if bot and name == bot else speakers.role(name)
    said = Message(role=role, content=text, id=as_name(message.get("id"), field="id"), at=at, name=name[:200])
    return Entry(message=checked(said), left_out=left_out, day=day)


def _time(message: _Fields) -> datetime | None:
    """Return when it was sent, by the clock of whoever made the export where both of its times are there."""
    shown, moment = as_time(message.get("date")), as_time(message.get("date_unixtime"))
    if shown is None or moment is None:
        return moment or shown
    east = timedelta(minutes=round((shown - moment) / timedelta(minutes=1)))
    return moment.astimezone(timezone(east)) if abs(east) <= _FARTHEST else moment


def _text(text: object) -> str:
    if text is None or isinstance(text, str):
        return text or ""
    if not isinstance(text, list):
        raise BadValueError("text is not text", expected="text or a list of pieces", found=shape_of(text))
    return "".join(map(_piece, text))


def _piece(piece: object) -> str:
    if isinstance(piece, str):
        return piece
    text = piece.get("text") if isinstance(piece, Mapping) else None
    if not isinstance(piece, Mapping) or not isinstance(text, str):
        raise BadValueError("a piece of text is not text", expected="text or an object", found=shape_of(piece))
    href = piece.get("href")
    return f"{text} ({href})" if piece.get("type") == "text_link" and href else text

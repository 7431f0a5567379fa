"""Slack's export: a folder for each channel with a file for each day, and who is who beside them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from gateways.importers.conversation import (
    NO_TEXT,
    BadValueError,
    Conversation,
    as_time,
    checked,
    one_line,
    session_name,
    shape_of,
)
from gateways.importers.entries import Entry, Speakers, by_day
from gateways.importers.slack_text import Names, plain
from umbriel import Message

__all__ = ["Day", "channels_of", "grouped", "is_day", "name_of", "names_of", "read_channel"]

_Fields = Mapping[str, object]
#: What is somebody's own words; every other subtype is Slack telling what happened.
_SAID = frozenset({"", "bot_message", "thread_broadcast", "me_message", "file_share", "file_comment"})
_DAY = re.compile(r"(?:.*/)?(?P<channel>[^/]+)/\d{4}-\d\d-\d\d\.json\Z", re.DOTALL)


class Day(msgspec.Struct, frozen=True):
    """What one file of a channel holds, and the file's name."""

    file: str
    messages: object


def name_of(file: str) -> str:
    """Return the channel that a file of this name is a day of, empty for other files."""
    match = _DAY.match(file)
    return match["channel"] if match else ""


def is_day(value: object) -> bool:
    """Return whether a JSON value is a day of a channel."""
    return isinstance(value, list) and all(isinstance(one, Mapping) and "ts" in one for one in value)


def names_of(users: object) -> dict[str, str]:
    """Return the names of people by id, as Slack shows them."""
    return {str(user["id"]): _shown(user) for user in _records(users)}


def channels_of(lists: Iterable[object]) -> dict[str, str]:
    """Return the ids of channels by name, from any of the export's lists; an id outlives a new name."""
    return {str(one.get("name") or one["id"]): str(one["id"]) for channels in lists for one in _records(channels)}


def read_channel(
    name: str, days: Iterable[Day], names: Names, identity: str, speakers: Speakers
) -> Iterator[Conversation]:
    """Yield a conversation for each day of a channel; a thread stays together, on the day it began."""
    # A channel is read whole: an answer may come years after its question.
    found: dict[tuple[float, float, str], Entry] = {}
    for day in days:
        for index, message in enumerate(_messages(day)):
            try:
                fields = _fields(message)
                entry = _entry(fields, names, speakers)
                found.setdefault((*_place(fields), str(fields["ts"])), entry)
            except BadValueError as error:
                raise error.under(day.file, index) from error
    entries = (entry for _, entry in sorted(found.items(), key=lambda one: one[0]))
    yield from by_day(entries, lambda day: session_name("slack", identity, day), channel=f"slack #{name}"[:200])


def _messages(day: Day) -> Sequence[object]:
    if not isinstance(day.messages, list):
        raise BadValueError("not a day", expected="a list of messages", found=shape_of(day.messages), path=(day.file,))
    return day.messages


def _fields(message: object) -> _Fields:
    if not isinstance(message, Mapping):
        raise BadValueError("not a message", expected="an object with ts and text", found=shape_of(message))
    return message


def _place(message: _Fields) -> tuple[float, float]:
    """Return what orders messages: where the thread begins, then when it was said."""
    own = _moment(message, "ts")
    return (_moment(message, "thread_ts") if message.get("thread_ts") else own).timestamp(), own.timestamp()


def _moment(message: _Fields, field: str) -> datetime:
    try:
        moment = as_time(message.get(field))
    except BadValueError as error:
        raise error.under(field) from error
    if moment is None:
        raise BadValueError("a message without a time", expected="ts", found=shape_of(message))
    return moment


def _entry(message: _Fields, names: Names, speakers: Speakers) -> Entry:
    began = _moment(message, "thread_ts" if message.get("thread_ts") else "ts")
    day = began.astimezone(UTC).date().isoformat()
    subtype = str(message.get("subtype") or "")
    if message.get("type") != "message" or subtype not in _SAID:
        return Entry(skipped=subtype or str(message.get("type")), day=day)
    text = message.get("text") or ""
    if not isinstance(text, str):
        raise BadValueError("text is not text", expected="text", found=shape_of(text), path=("text",))
    left_out = tuple("file" for _ in _records(message.get("files")))
    content = plain(text, names)
    if not content.strip():
        return Entry(skipped="file without text" if left_out else NO_TEXT, day=day)
    name = _speaker(message, names)
    # A bot's reports are found like all else, but nobody said them.
    role = "tool" if _is_bot(message, subtype) else speakers.role(name)
    said = Message(role=role, content=content, id=str(message["ts"]), at=_moment(message, "ts"), name=name[:200])
    return Entry(message=checked(said), left_out=left_out, day=day)


def _is_bot(message: _Fields, subtype: str) -> bool:
    return subtype == "bot_message" or bool(message.get("bot_id"))


def _speaker(message: _Fields, names: Names) -> str:
    user = str(message.get("user") or "")
    if user in names.people:
        return names.people[user]
    profile = message.get("user_profile") or message.get("bot_profile")
    shown = _shown(profile) if isinstance(profile, Mapping) else ""
    return shown or one_line(str(message.get("username") or user or message.get("bot_id") or ""))


def _shown(user: _Fields) -> str:
    """Return the name a person is shown by: the one they chose, else their own, else their handle."""
    profile = user.get("profile")
    both = [profile, user] if isinstance(profile, Mapping) else [user]
    names = (one.get(field) for field in ("display_name", "real_name", "name") for one in both)
    return next((shown for name in names if isinstance(name, str) and (shown := one_line(name))), "")


def _records(value: object) -> list[_Fields]:
    records = value if isinstance(value, list) else []
    return [one for one in records if isinstance(one, Mapping) and "id" in one]


def grouped(files: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of days by channel, days in order."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(files):
        if name := name_of(file):
            found[name].append(file)
    return dict(found)

"""What an importer yields, the checks every format shares, and the splitting of long messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from domain.errors import InvalidInputError
from domain.ids import digest128
from domain.text import check_name, check_text
from umbriel import Message

__all__ = [
    "MAX_MESSAGE_BYTES",
    "NO_TEXT",
    "BadValueError",
    "Conversation",
    "as_name",
    "as_time",
    "checked",
    "one_line",
    "place_of",
    "session_name",
    "shape_of",
    "split_long",
]

#: Most bytes of UTF-8 in one message; longer ones become linked parts.
MAX_MESSAGE_BYTES = 32_768
#: Why a message is skipped that says nothing.
NO_TEXT = "without text"
#: Most characters of a session's name.
_SESSION_CHARS = 64
#: Before a splitting point, this much of a part may be given up to end it at white space.
_SLACK = 200
#: Epoch numbers from here on are milliseconds (in seconds: the year 5138).
_MILLISECONDS = 10**11
#: The top two bits of every byte of a UTF-8 character but its first.
_CONTINUATION = 0b1000_0000
_ROLES = {
    **{role: role for role in ("user", "assistant", "system", "tool")},
    "human": "user",
    "ai": "assistant",
    "developer": "system",
    "function": "tool",
}


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation of a file. Empty ``session``: the service derives one.

    ``skipped`` messages are not in it, ``left_out`` parts are missing from messages that are; both by reason.
    A conversation of which nothing is left has no messages.
    """

    messages: list[Message]
    profile_hint: str = ""
    session: str = ""
    contact: str = ""
    channel: str = ""
    skipped: dict[str, int] = {}
    left_out: dict[str, int] = {}


class BadValueError(Exception):
    """Something in a file that cannot be read, and where: the path of keys and indexes to it."""

    def __init__(self, message: str, *, expected: str, found: str, path: tuple[int | str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.found = found
        self.path = path

    def under(self, *path: int | str) -> BadValueError:
        """Return the same complaint as seen from further out."""
        return BadValueError(self.message, expected=self.expected, found=self.found, path=(*path, *self.path))


def checked(message: Message) -> Message:
    """Return a message with its role folded, or raise BadValueError for what the service would refuse."""
    role = _ROLES.get(message.role.strip().casefold())
    if role is None:
        raise BadValueError("unknown role", expected=", ".join(_ROLES), found=ascii(message.role[:40]))
    try:
        check_text(message.content, field="content", max_bytes=2**40)
        for field, value in (("name", message.name), ("id", message.id), ("turn_id", message.turn_id)):
            if value:
                check_name(value, field=field, max_chars=240)
    except InvalidInputError as error:
        raise BadValueError(error.message, expected=error.expected, found=error.found) from error
    return msgspec.structs.replace(message, role=role)


def as_name(value: object, *, field: str) -> str:
    """Return a name or id given as text or a whole number, empty for None, or raise BadValueError."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadValueError(f"{field} is not a name", expected="text or a whole number", found=type(value).__name__)
    return str(value)


def as_time(value: object) -> datetime | None:
    """Return an ISO 8601 text or an epoch number (seconds, or milliseconds when large) as a time in UTC."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
            moment = datetime.fromisoformat(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            seconds = float(value)
            return datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= _MILLISECONDS else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise BadValueError("not a time", expected="ISO 8601 or an epoch number", found=ascii(value)[:60])


def shape_of(value: object) -> str:
    """Return what a JSON value looks like, in a few words of plain ASCII."""
    if isinstance(value, Mapping):
        return f"an object with {', '.join(ascii(key) for key in list(value)[:6]) or 'nothing in it'}"
    return "null" if value is None else f"{type(value).__name__} {ascii(value)[:40]}"


def place_of(path: Iterable[int | str], root: str = "") -> str:
    """Return a path of keys and indexes as one writes it: ``conversations[3].mapping.x``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{root}{''.join(steps)}".removeprefix(".")


def session_name(*parts: str) -> str:
    """Return a session's name from what tells it apart; a long one is cut and ends in a digest of the whole."""
    name = " ".join(filter(None, map(one_line, parts)))
    return name if len(name) <= _SESSION_CHARS else f"{name[: _SESSION_CHARS - 27]} {digest128(name)}"


def one_line(name: str) -> str:
    """Return a name without what is no character of a name: controls, marks of direction, lone surrogates."""
    kept = "".join(one if one.isprintable() else " " if one.isspace() else "" for one in name)
    return " ".join(kept.split())


def split_long(messages: Iterable[Message], *, max_bytes: int = MAX_MESSAGE_BYTES) -> Iterator[Message]:
    """Yield the messages, those over ``max_bytes`` as linked parts with ids ``<id>#1/3``.

    The parts join to the whole (a part of nothing but white space is left out). A message without an
    id gets one from its role, content and ordinal, so that a second import finds it.
    """
    seen: Counter[tuple[str, str]] = Counter()
    for message in messages:
        if len(message.content.encode()) <= max_bytes:
            yield message
            continue
        triple = (message.role, message.content)
        seen[triple] += 1
        whole = message.id or f"{digest128(*triple)}.{seen[triple]}"
        parts = [part for part in _parts(message.content, max_bytes) if part.strip()]
        for number, part in enumerate(parts, start=1):
            yield msgspec.structs.replace(message, id=f"{whole}#{number}/{len(parts)}", content=part)


def _parts(text: str, max_bytes: int) -> Iterator[str]:
    raw = text.encode()
    start = 0
    while len(raw) - start > max_bytes:
        end = _boundary(raw, start, start + max_bytes)
        yield raw[start:end].decode()
        start = end
    yield raw[start:].decode()


def _boundary(raw: bytes, start: int, limit: int) -> int:
    """Return where to cut: after white space near ``limit``, else between two characters."""
    end = limit
    while raw[end] & 0b1100_0000 == _CONTINUATION:
        end -= 1
    lowest = max(start, end - _SLACK)
    space = max(raw.rfind(gap, lowest, end) for gap in (b" ", b"\n", b"\t"))
    return space + 1 if space > start else end

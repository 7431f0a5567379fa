"""The lines of a WhatsApp chat as text: where a message begins, on what day, who says it, and what is no message.

Two forms exist: ``[01/05/2024, 10:15:32] Mara: …`` and ``01/05/2024, 10:15 - Mara: …``, each with the date and the
clock of the phone's region. A line that is neither goes on with the message before it.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import Literal

import msgspec

__all__ = ["Form", "Header", "Numbers", "Order", "aside_of", "form_of", "header_of", "without_marks"]

Form = Literal["bracketed", "dashed"]
Order = Literal["dmy", "mdy", "ymd"]

# Marks of direction that the apps put around lines, numbers and names, and the blanks of some regions' clocks.
_MARKS = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_STAMP = (
    r"(?P<date>\d{1,4}(?P<gap>[./-])\d{1,2}(?P=gap)\d{1,4})\.?,?[ \u202f\u00a0]"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?:[ \u202f\u00a0]?(?P<half>[AaPp])\.?[ \u202f\u00a0]?[Mm]\.?)?"
)
_FORMS: dict[Form, re.Pattern[str]] = {
    "bracketed": re.compile(rf"[{_MARKS}]*\[{_STAMP}\][ \u202f\u00a0](?P<rest>.*)", re.DOTALL),
    "dashed": re.compile(rf"[{_MARKS}]*{_STAMP} [-–] (?P<rest>.*)", re.DOTALL),
}
_SPEAKER = re.compile(r"(?P<name>[^:\n]{1,200}?):(?: |\Z)(?P<text>.*)", re.DOTALL)
_DIRECTION = re.compile(f"[{_MARKS}]")
_EDITED = re.compile(f"<This message was edited>[{_MARKS}]*\\Z")
_QUOTES = frozenset('"“”„«»')
_SENTENCE_WORDS = 5
# What stands in place of a picture, in the languages of the apps that we have seen.
_OMITTED = re.compile(
    r"<(?:[^<>\n]{0,30}[ :])?(?:omitted|omitido|omitida|omitidos|omis|omise|omesso|omessi|weggelaten|weggelassen"
    r"|ausgeschlossen|oculto|oculta|pominięto|utelatt|utelämnad|udeladt|attached:[^<>\n]*)>"
    r"|(?:image|video|audio|sticker|GIF|document|Contact card) omitted|[^\n]{1,200} \(file attached\)"
)
_DELETED = ("this message was deleted", "you deleted this message", "this message was deleted by admin")
_NOON = 12
_LATEST = 24
_CENTURY = 100


class Numbers(msgspec.Struct, frozen=True):
    """The three numbers of a date in the order they are written."""

    first: int
    second: int
    third: int

    def under(self, order: Order) -> date | None:
        """Return the day that they are in this order, None when there is no such day."""
        if (order == "ymd") != (self.first > 31):  # noqa: PLR2004 - days of a month
            return None
        year, month, day = {
            "dmy": (self.third, self.second, self.first),
            "mdy": (self.third, self.first, self.second),
            "ymd": (self.first, self.second, self.third),
        }[order]
        try:
            return date(year + 2000 if year < _CENTURY else year, month, day)
        except ValueError:
            return None


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The beginning of a message. Without a ``name`` it is a line of the app's own."""

    numbers: Numbers
    clock: time
    name: str
    text: str

    def at(self, order: Order) -> datetime | None:
        """Return when it was sent by the phone's clock, None when there is no such day."""
        day = self.numbers.under(order)
        return None if day is None else datetime.combine(day, self.clock, UTC)


def form_of(line: str) -> Form | None:
    """Return the form of a line that begins a message, None for any other."""
    return next((form for form in _FORMS if header_of(line, form)), None)


def header_of(line: str, form: Form) -> Header | None:
    """Return what a line of this form begins, None for one that goes on with the message before it."""
    match = _FORMS[form].fullmatch(line)
    clock = _clock(match) if match else None
    if match is None or clock is None:
        return None
    first, second, third = map(int, re.split(r"[./-]", match["date"]))
    said = _SPEAKER.fullmatch(match["rest"])
    name = _name(said["name"]) if said else ""
    text = said["text"] if said and name else match["rest"]
    return Header(numbers=Numbers(first, second, third), clock=clock, name=name, text=text)


def without_marks(text: str) -> str:
    """Return a text without the marks of direction, which nobody typed."""
    return _DIRECTION.sub("", text)


def aside_of(header: Header, text: str) -> tuple[str, str]:
    """Return a whole text as it was typed, and why it is no message, empty when it is one."""
    plain = without_marks(_EDITED.sub("", text)).strip()
    if not header.name:
        return plain, "system"
    if _OMITTED.fullmatch(plain):
        return plain, "media"
    if plain.casefold().rstrip(".") in _DELETED:
        return plain, "deleted"
    # The app marks its own words in a chat as running from left to right, also where it names a person before.
    return plain, "system" if text.startswith("\u200e") and "attached" not in plain else ""


def _name(text: str) -> str:
    """Return a speaker's name, empty for a line of the app's own that quotes a colon: a new subject of a group."""
    words = without_marks(text).removeprefix("~").split()
    return "" if len(words) >= _SENTENCE_WORDS and not _QUOTES.isdisjoint(text) else " ".join(words)


def _clock(match: re.Match[str]) -> time | None:
    hour, half = int(match["hour"]), (match["half"] or "").casefold()
    if half:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if half == "p" else 0)
    try:
        return time(0 if hour == _LATEST else hour, int(match["minute"]), int(match["second"] or 0))
    except ValueError:
        return None

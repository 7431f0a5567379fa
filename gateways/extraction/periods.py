"""The stretches of time that a question names, by arithmetic: ``last week``, ``in May 2023``, ``before 7 June``.

Relative dates are resolved as everywhere (`gateways.extraction.dates`); absolute ones are read in ISO form and in
English. Days begin and end in the zone of the reference date.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta

import msgspec

from gateways.extraction import calendar_words as words
from gateways.extraction.dates import relative_dates

__all__ = ["OPEN_END", "OPEN_START", "Period", "day_mentions", "periods_of"]

_MONTH_NAMES = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTH_NAMES |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH_NAMES["sept"] = 9
_MONTH = rf"(?:{'|'.join(sorted(_MONTH_NAMES, key=len, reverse=True))})\.?"
_ORDINAL = r"(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d{2}"
_COUNT = rf"(?:\d{{1,4}}|{'|'.join(words.NUMBERS)})"
_BEFORE_YEAR = "in|during|of|since|before|after|until|till|by|from|to|and|between|through|year|early|late"
#: The ways a date is written, each in a group of its own.
_MENTION = re.compile(
    rf"(?<![\w-])(?P<iso>{_YEAR}-\d\d-\d\d)(?:T[\d:.]+Z?)?(?![\w-])"
    rf"|\b(?P<d1>[0-3]?\d){_ORDINAL}\s+(?:of\s+)?(?P<m1>{_MONTH}),?\s+(?P<y1>{_YEAR})\b"
    rf"|\b(?P<m2>{_MONTH})\s+(?P<d2>[0-3]?\d){_ORDINAL},?\s+(?P<y2>{_YEAR})\b"
    rf"|\b(?P<m3>{_MONTH}),?\s+(?:of\s+)?(?P<y3>{_YEAR})\b"
    rf"|(?<![\w-])(?P<ym>{_YEAR}-(?:0[1-9]|1[0-2]))(?![\w-])"
    rf"|\b(?:(?:last|past|previous)\s+(?P<count>{_COUNT})\s+(?P<unit>day|week|month|year)s)\b"
    rf"|(?<=\s)(?P<y4>{_YEAR})(?![\w-])",
    re.IGNORECASE,
)
_YEAR_LEAD = re.compile(rf"\b(?:{_BEFORE_YEAR})(?:\s+the)?\s*\Z", re.IGNORECASE)
_DIRECTION = re.compile(
    r"\b(?:(?P<before>before|prior\s+to|earlier\s+than)|(?P<until>until|till|up\s+to|through|by)"
    r"|(?P<after>(?<!the\sday\s)after|later\s+than)|(?P<since>since|from)|(?P<between>between))\b",
    re.IGNORECASE,
)
#: what may stand between such a word and its date
_FILLER = re.compile(
    r"\W*(?:(?:the|about|around|early|late|mid|end|start|beginning|month|year|day|of|on|in)\W+)*", re.IGNORECASE
)
_JOIN = re.compile(r"\A\W*(?:and|to|until|till|through|[-–—])\b|\A\s*[-–—]\s*\Z", re.IGNORECASE)
#: The ends of time, of stretches that are open.
OPEN_START, OPEN_END = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


class Period(msgspec.Struct, frozen=True):
    """From ``start`` up to before ``end``, as ``words`` of a question say it."""

    start: datetime
    end: datetime
    words: str


class _Mention(msgspec.Struct, frozen=True):
    """Days from ``first`` to ``last``, named between two places of a text."""

    first: date
    last: date
    start: int
    end: int


def periods_of(question: str, at: datetime) -> list[Period]:
    """Return the stretches of time that a question names, in order; ``at`` is the reference date with its zone."""
    found: list[Period] = []
    mentions = _all_mentions(question, at)
    index, end = 0, 0
    while index < len(mentions):
        one = mentions[index]
        direction, start = _direction(question, end, one)
        following = mentions[index + 1] if index + 1 < len(mentions) else None
        if following is not None and _joined(direction, question[one.end : following.start]):
            one, direction, index = _join(one, following), "", index + 1
        found.append(_period(one, direction, question[start : one.end], at))
        index, end = index + 1, one.end
    return found


def _all_mentions(text: str, at: datetime) -> list[_Mention]:
    """Return relative and absolute dates in order; where they overlap, the one that begins first counts."""
    relative = [
        _Mention(_written(meant.split(" to ")[0])[0], _written(meant.split(" to ")[-1])[1], start, end)
        for start, end, meant in relative_dates(text, at)
    ]
    kept: list[_Mention] = []
    for one in sorted((*_mentions(text, at), *relative), key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _direction(text: str, after: int, one: _Mention) -> tuple[str, int]:
    """Return on which side of a date its stretch lies, by the last word that tells, and where the phrase begins."""
    for match in reversed(list(_DIRECTION.finditer(text, after, one.end))):
        if match.start() >= one.start or _FILLER.fullmatch(text, match.end(), one.start):
            return match.lastgroup or "", min(match.start(), one.start)
    return "", one.start


def day_mentions(text: str) -> list[date]:
    """Return the days that a text names absolutely, in order, each once."""
    nowhere = datetime(2000, 1, 1, tzinfo=UTC)
    return list(dict.fromkeys(one.first for one in _mentions(text, nowhere, years=False) if one.first == one.last))


def _joined(direction: str, between: str) -> bool:
    """Whether two dates are the ends of one stretch."""
    return direction in {"between", "since"} and bool(_JOIN.search(between))


def _join(first: _Mention, last: _Mention) -> _Mention:
    return _Mention(min(first.first, last.first), max(first.last, last.last), first.start, last.end)


def _mentions(text: str, at: datetime, *, years: bool = True) -> Iterator[_Mention]:
    for match in _MENTION.finditer(text):
        if match["y4"] and not (years and _YEAR_LEAD.search(text, max(0, match.start() - 20), match.start())):
            continue
        try:
            days = _days(match, at.date())
        except (ValueError, OverflowError):
            continue  # the 31st of June
        if days is not None:
            yield _Mention(*days, match.start(), match.end())


def _days(match: re.Match[str], today: date) -> tuple[date, date] | None:
    if match["iso"] or match["ym"]:
        return _written(match["iso"] or match["ym"])
    if match["count"]:
        start = words.shifted(today, match["unit"].lower(), -words.number(match["count"]))
        return None if start is None else (start, today)
    for day, month, year in (("d1", "m1", "y1"), ("d2", "m2", "y2")):
        if match[year]:
            named = date(int(match[year]), _month(match[month]), int(match[day]))
            return named, named
    if match["y3"]:
        return _whole_month(int(match["y3"]), _month(match["m3"]))
    return _whole_year(int(match["y4"]))


def _month(name: str) -> int:
    return _MONTH_NAMES[name.rstrip(".").lower()]


def _written(text: str) -> tuple[date, date]:
    """Return the first and last day of ``2026``, ``2026-04`` or ``2026-04-14``."""
    whole: dict[int, Callable[..., tuple[date, date]]] = {1: _whole_year, 2: _whole_month, 3: _whole_day}
    parts = [int(part) for part in text.split("-")]
    return whole[len(parts)](*parts)


def _whole_year(year: int) -> tuple[date, date]:
    return date(year, 1, 1), date(year, 12, 31)


def _whole_month(year: int, month: int) -> tuple[date, date]:
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _whole_day(year: int, month: int, day: int) -> tuple[date, date]:
    return date(year, month, day), date(year, month, day)


def _period(one: _Mention, direction: str, said: str, at: datetime) -> Period:
    start, end = _midnight(one.first, at), _midnight(one.last, at, days=1)
    match direction:
        case "before":
            start, end = OPEN_START, start
        case "until":
            start = OPEN_START
        case "after":
            start, end = end, OPEN_END
        case "since":
            end = OPEN_END
    return Period(start, end, said)


def _midnight(day: date, at: datetime, *, days: int = 0) -> datetime:
    try:
        return datetime.combine(day + timedelta(days=days), time(), tzinfo=at.tzinfo).astimezone(UTC)
    except OverflowError:
        return OPEN_END if days else OPEN_START

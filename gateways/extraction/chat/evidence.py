"""What the cited lines say in numbers, dates and quotation marks: a statement may hold nothing beyond."""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from itertools import islice

import dateparser
import msgspec

from domain.text import fold_content
from domain.transcript import Line

__all__ = ["Evidence", "Period", "evidence_of", "period_of"]

#: the first and the last day of what a date says: a day, a month or a year
Period = tuple[date, date]

_ISO = re.compile(r"(?<!\d)(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?!\d|-\d)")
_ISO_DAY = re.compile(r"(?<![\d-])\d{4}-\d{2}(?:-\d{2})?(?![\d-])")
_RANGE = re.compile(r"\[(\d{4}(?:-\d{2}){0,2}) to (\d{4}(?:-\d{2}){0,2})\]")
_NAMED_MONTH = r"[^\W\d_]{3,12}\.?"
_WRITTEN = re.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?{_NAMED_MONTH},?\s+(?:de\s+)?\d{{4}}(?!\d)"
    rf"|{_NAMED_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}(?!\d)"
    rf"|{_NAMED_MONTH},?\s+(?:de\s+)?\d{{4}}(?!\d)"
    r"|\d{4}年\s*\d{1,2}月(?:\s*\d{1,2}日)?|\d{4}년\s*\d{1,2}월(?:\s*\d{1,2}일)?"
)
_NUMERIC = re.compile(
    r"(?<!\d)(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?!\d)|(?<!\d)(\d{4})[./](\d{1,2})[./](\d{1,2})(?!\d)"
)
_LANGUAGES = ["en", "de", "fr", "es", "it", "pt", "nl", "ru", "pl", "ja", "zh", "ko"]
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d)[,.'’ \u00a0\u202f](?=\d{3}(?!\d))")
_QUOTED = re.compile(r'"([^"]{2,})"')
#: numbers up to this one are written in words as often as not, in every language
_SPELLED = 12
_YEARS = range(2, 9_999)
#: dates in words that are looked up in one line; each takes about a millisecond
_WRITTEN_MOST = 100


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What some lines hold: ``text`` folded, ``numbers`` as written, ``periods`` said or meant.

    ``moments`` are when the lines were said, in the zone of who said them.
    """

    text: str
    numbers: str
    periods: frozenset[Period]
    moments: tuple[datetime, ...]
    zone: tzinfo

    def believes(self, claimed: Period) -> bool:
        """Whether a day, month or year is one the lines say, holds one, or begins or ends one."""
        first, last = claimed
        return any(
            (first <= start and end <= last) or (start <= first and last <= end and (start == first or end == last))
            for start, end in self.periods
        )

    def believes_text(self, text: str) -> bool:
        """Whether an ISO year, month or day is one the lines say."""
        period = period_of(text)
        return period is not None and self.believes(period)

    def lacks(self, text: str) -> str:
        """Return the check that ``text`` fails because the lines do not hold what it says; nothing if they do."""
        plain = _plain(text)
        for found in _ISO_DAY.findall(plain):
            if not _occurs(found, self.numbers) and not self.believes_text(found):
                return "time"
        if not all(self._has_number(number) for number in _NUMBER.findall(_ISO_DAY.sub(" ", plain))):
            return "object"
        quoted = (one.strip() for one in _QUOTED.findall(fold_content(plain)))
        return "" if all(one.rstrip(".,;:!? ") in self.text for one in quoted) else "entity"

    def has_hour(self, hour: int) -> bool:
        """Whether the lines hold the number of an hour outside a date, with or without a zero before it."""
        return re.search(rf"(?<!\d)0?{hour}(?!\d)", _ISO_DAY.sub(" ", self.text)) is not None

    def _has_number(self, number: str) -> bool:
        if len(number) <= len(str(_SPELLED)) and number.isdecimal() and int(number) <= _SPELLED:
            return True
        return _occurs(number, self.numbers) or _occurs(_THOUSANDS.sub("", number), _THOUSANDS.sub("", self.numbers))


def evidence_of(lines: Sequence[Line], now: datetime) -> Evidence:
    """Return what these lines hold; a line without a time is dated by ``now``."""
    texts = [_plain(line.text) for line in lines]
    moments = tuple(line.at or now for line in lines)
    said = (period for text in texts for period in _periods(text))
    own = ((moment.date(), moment.date()) for moment in moments)
    return Evidence(
        text=fold_content("\n".join((*texts, *(line.name for line in lines)))),
        numbers="\n".join((*texts, *(_plain(line.name) for line in lines), *map(_shown_moment, moments))),
        periods=frozenset((*said, *own)),
        moments=moments,
        zone=(moments[-1] if moments else now).tzinfo or UTC,
    )


def period_of(text: str) -> Period | None:
    """Return the days of an ISO year, month or day; None when it is none."""
    match = _ISO.fullmatch(text)
    return None if match is None else _period(*(None if part is None else int(part) for part in match.groups()))


def _period(year: int | None, month: int | None = None, day: int | None = None) -> Period | None:
    if year is None or year not in _YEARS:
        return None
    try:
        if month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if day is None:
            return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])
        return date(year, month, day), date(year, month, day)
    except ValueError:
        return None


def _periods(text: str) -> Iterator[Period]:
    """Yield every date a text says: in ISO form, written out, in digits, and both ends of a stretch in brackets."""
    found = [period_of(match[0]) for match in _ISO.finditer(text)]
    found += [_written(match[0]) for match in islice(_WRITTEN.finditer(text), _WRITTEN_MOST)]
    for match in _NUMERIC.finditer(text):
        one, other, year = (int(part) for part in match.groups() if part is not None)
        if match[4]:
            found.append(_period(one, other, year))
        else:
            found += [_period(year, other, one), _period(year, one, other)]
    for match in _RANGE.finditer(text):
        start, end = period_of(match[1]), period_of(match[2])
        if start and end and start[0] <= end[1]:
            found.append((start[0], end[1]))
    yield from (period for period in found if period is not None)


@lru_cache(maxsize=4_096)
def _written(text: str) -> Period | None:
    """Return the day or the month that words name, with the year beside them."""
    for parts in (["day", "month", "year"], ["month", "year"]):
        try:
            found = dateparser.parse(text, languages=_LANGUAGES, settings={"REQUIRE_PARTS": parts})
        except (ValueError, OverflowError):
            return None
        if found is not None:
            return _period(found.year, found.month, found.day if "day" in parts else None)
    return None


def _plain(text: str) -> str:
    """Return text with every digit as an ASCII one."""
    folded = unicodedata.normalize("NFKC", text)
    return "".join(str(unicodedata.decimal(ch)) if ch.isdecimal() else ch for ch in folded)


def _shown_moment(at: datetime) -> str:
    return at.isoformat(sep=" ", timespec="minutes")


def _occurs(number: str, text: str) -> bool:
    """Whether a text holds a number that is no part of a longer one: neither 1 nor 200 is in 1,200."""
    return re.search(rf"(?<!\d)(?<!\d[,'’]){re.escape(number)}(?!\d|[,.'’]\d{{3}}(?!\d))", text) is not None

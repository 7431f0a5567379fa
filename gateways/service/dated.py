"""Dates as facts: what a question's times mean and how far away results are, computed so that no model has to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import combinations

from dateutil.relativedelta import relativedelta

from gateways.extraction.periods import OPEN_END, OPEN_START, Period, day_mentions
from umbriel.types import RecallResult

__all__ = ["distance", "facts_of", "when_of"]

#: Questions that are answered by a difference of dates.
_ASKS_HOW_LONG = re.compile(
    r"\bhow\s+(?:long|many\s+(?:days|weeks|months|years|nights)|old|far\s+apart|soon|recent(?:ly)?)\b"
    r"|\b(?:time|days|weeks|months|years)\s+(?:passed|elapsed|between|apart|ago|since)\b"
    r"|\b(?:which|what|who)\b.*\b(?:first|earlier|later|last)\b",
    re.IGNORECASE,
)
#: results whose dates are held against each other: ten pairs
_PAIRED = 5
_MENTIONS = 3
_DAYS_ALONE = 31


def when_of(result: RecallResult, at: datetime) -> str:
    """Return when a result happened or held and how far that is from ``at``; days are those of ``at``'s zone."""
    today, parts = at.date(), []
    if result.valid_from or result.valid_to:
        start, end = (_day(one, at) for one in (result.valid_from, result.valid_to))
        parts.append("valid " + " ".join(filter(None, (start and f"from {start}", end and f"until {end}"))))
    elif moment := result.at or result.stated_at or result.recorded_at:
        parts.append(_dated(moment.astimezone(at.tzinfo).date(), today))
    parts += [f"names {_dated(day, today)}" for day in day_mentions(result.text)[:_MENTIONS]]
    return "; ".join(parts)


def facts_of(question: str, periods: Sequence[Period], results: Sequence[RecallResult], at: datetime) -> list[str]:
    """Return what the question's times are, and the distances between the dates of the first results where it asks.

    Every fact is a sentence; there are none where neither the question nor its answer is about time.
    """
    facts = [f'"{one.words}" is {_stretch(one, at)}.' for one in periods]
    if _ASKS_HOW_LONG.search(question):
        facts += _differences(results, at)
    return [f"The reference date is {at.date():%Y-%m-%d}, a {at:%A}.", *facts] if facts else []


def distance(first: date, last: date) -> str:
    """Return how far apart two days are, as ``47 days (1 month 16 days)``."""
    first, last = min(first, last), max(first, last)
    days = (last - first).days
    shown = _count(days, "day")
    if days <= _DAYS_ALONE:
        return shown
    exact = relativedelta(last, first)
    parts = ((exact.years, "year"), (exact.months, "month"), (exact.days, "day"))
    return f"{shown} ({' '.join(_count(number, unit) for number, unit in parts if number)})"


def _differences(results: Sequence[RecallResult], at: datetime) -> Iterator[str]:
    dated = [(one.id, day) for one in results if (day := _happened(one, at)) is not None][:_PAIRED]
    for (one, first), (other, last) in combinations(dated, 2):
        if first != last:
            sooner, later = (one, other) if first < last else (other, one)
            yield f"{sooner} is {distance(first, last)} before {later}."


def _happened(result: RecallResult, at: datetime) -> date | None:
    if named := day_mentions(result.text):
        return named[0]
    moment = result.at or result.valid_from or result.stated_at
    return None if moment is None else moment.astimezone(at.tzinfo).date()


def _stretch(period: Period, at: datetime) -> str:
    """Return the days of a period in words; the last one counts."""
    first, last = _day(period.start, at), _day(period.end, at, days=-1)
    if not first:
        return f"until {last}"
    if not last:
        return f"from {first} on"
    return first if first == last else f"{first} to {last}"


def _day(moment: datetime | None, at: datetime, *, days: int = 0) -> str:
    """Return a moment's day in the zone of ``at``; nothing for none and for the ends of time."""
    if moment in {None, OPEN_START, OPEN_END} or moment is None:
        return ""
    return (moment.astimezone(at.tzinfo or UTC) + relativedelta(days=days)).date().isoformat()


def _dated(day: date, today: date) -> str:
    if day == today:
        return f"{day.isoformat()}, today"
    away = distance(day, today)
    return f"{day.isoformat()}, {away} ago" if day < today else f"{day.isoformat()}, in {away}"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"

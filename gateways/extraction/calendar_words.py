"""The arithmetic behind relative dates: days, stretches, weekdays, months, and what tense says about them.

Weeks begin on Monday. ``next Friday`` is the one of next week, ``this Friday`` the one of this week, ``last Friday``
the latest before today. Seasons are those of the northern hemisphere, and only their year is told.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

__all__ = [
    "DAYS",
    "MONTHS",
    "NUMBERS",
    "STEP",
    "WEEKDAYS",
    "away",
    "day_of_month",
    "month",
    "number",
    "shifted",
    "shown",
    "stretch",
    "tense",
    "weekday",
]

DAYS = {"before yesterday": -2, "yesterday": -1, "today": 0, "tomorrow": 1, "after tomorrow": 2}
STEP = {
    "last": -1,
    "previous": -1,
    "past": -1,
    "this past": -1,
    "this": 0,
    "this coming": 0,
    "next": 1,
}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_VALUES = {"an": 1, "a": 1, "a couple of": 2, "a couple": 2} | {word: n for n, word in enumerate(_NUMBERS, 1)}
_VALUES |= {"fifteen": 15, "twenty": 20, "thirty": 30}
#: longest first, as alternatives of a pattern must be
NUMBERS = tuple(sorted(_VALUES, key=len, reverse=True))
WEEKDAYS = tuple(name.lower() for name in calendar.day_name)
_ABBREVIATED = {name.lower(): n for n, name in enumerate(calendar.month_abbr) if name}
MONTHS = (
    *(name for name in calendar.month_name if name),
    *(name for name in calendar.month_abbr if name and name != "May"),
)
_SEASON_ENDS = {"spring": 5, "summer": 8, "autumn": 11, "fall": 11, "winter": 2}
_FUTURE = re.compile(
    r"\b(?:will|'ll|’ll|shall|going to|gonna|plan(?:s|ning)?|hope|need to|have to|must|should|remind|due|let's|"
    r"tomorrow|next|upcoming|appointment|deadline|starts?|leaves?|arrives?)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|came|saw|met|got|took|made|ate|bought|gave|told|said|left|began|began|ran|won|lost|"
    r"felt|found|flew|drove|wrote|read|spoke|thought|sold|paid|sent|heard|\w{3,}ed|last|ago|yesterday)\b",
    re.IGNORECASE,
)
_UNITS = {"fortnight": ("weeks", 2), "decade": ("years", 10)}


def number(text: str) -> int:
    """Return a count written in digits or as a word."""
    folded = re.sub(r"\s+", " ", text.lower())
    return int(folded) if folded.isdecimal() else _VALUES[folded]


def shown(day: date | None) -> str:
    """Return a day as ``2026-04-14``; nothing for none."""
    return "" if day is None else day.isoformat()


def shifted(today: date, unit: str, count: int) -> date | None:
    """Return the day ``count`` units away; None when no calendar holds it."""
    name, factor = _UNITS.get(unit, (f"{unit}s", 1))
    amount = count * factor
    try:
        return today + relativedelta(
            days=amount if name == "days" else 0,
            weeks=amount if name == "weeks" else 0,
            months=amount if name == "months" else 0,
            years=amount if name == "years" else 0,
        )
    except (OverflowError, ValueError):
        return None


def away(today: date, unit: str, count: int, *, to_the_day: bool = False) -> str:
    """Return what is ``count`` units away, as exactly as one says it: weeks by the day, months and years as such."""
    day = shifted(today, unit, count)
    if day is None or to_the_day or unit in ("day", "week", "fortnight"):
        return shown(day)
    return f"{day:%Y-%m}" if unit == "month" else f"{day.year:04d}"


def weekday(today: date, name: str, which: str) -> date:
    """Return a weekday: ``last``/``past`` strictly before today, ``future`` from tomorrow on, else of that week."""
    wanted = WEEKDAYS.index(name)
    which = re.sub(r"\s+", " ", which)
    if which in ("last", "past", "previous"):
        return today - timedelta(days=(today.weekday() - wanted - 1) % 7 + 1)
    if which in ("future", "this coming"):
        return today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)
    monday = today - timedelta(days=today.weekday())
    return monday + timedelta(days=wanted + (7 if which == "next" else 0))


def stretch(today: date, name: str, step: int) -> str:
    """Return a week, weekend, month, quarter, year, decade or the year of a season, ``step`` away from today's."""
    monday = today - timedelta(days=today.weekday())
    match name:
        case "week":
            start = monday + timedelta(weeks=step)
            return f"{start} to {start + timedelta(days=6)}"
        case "weekend":
            start = monday + timedelta(weeks=step, days=5)
            return f"{start} to {start + timedelta(days=1)}"
        case "month":
            return f"{today.replace(day=1) + relativedelta(months=step):%Y-%m}"
        case "quarter":
            start = today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1) + relativedelta(months=3 * step)
            return f"{start:%Y-%m} to {start + relativedelta(months=2):%Y-%m}"
        case "year":
            return f"{today.year + step:04d}"
        case "decade":
            start_year = today.year // 10 * 10 + 10 * step
            return f"{start_year:04d} to {start_year + 9:04d}"
        case _:
            return f"{_season(today, name, step):04d}"


def _season(today: date, name: str, step: int) -> int:
    over = today.month > _SEASON_ENDS[name]
    if step < 0:
        return today.year if over else today.year - 1
    return today.year + step


def _month_number(name: str) -> int:
    return _ABBREVIATED[name.lower()[:3]]


def month(today: date, name: str, which: str) -> str:
    """Return the month of that name as ``2026-03``: ``last``/``past`` before this one, ``next``/``future`` after it."""
    wanted = _month_number(name)
    which = re.sub(r"\s+", " ", which)
    if which in ("last", "past", "this past"):
        year = today.year if wanted < today.month else today.year - 1
    elif which in ("next", "future"):
        year = today.year if wanted > today.month else today.year + 1
    elif which == "near":
        year = today.year + _nearest(wanted - today.month)
    else:
        year = today.year
    return f"{year:04d}-{wanted:02d}"


def _nearest(months_away: int) -> int:
    """Return the year to add so that a month is at most half a year away."""
    return -1 if months_away > 6 else 1 if months_away < -6 else 0  # noqa: PLR2004 -- half a year


def day_of_month(today: date, name: str, day: int, which: str) -> str:
    """Return a day without its year: the latest for ``past``, the next for ``future``, else the nearest one."""
    wanted = _month_number(name)
    days = [found for year in range(today.year - 1, today.year + 2) if (found := _date(year, wanted, day))]
    if which == "past":
        days = [one for one in days if one <= today]
        return shown(max(days, default=None))
    if which == "future":
        days = [one for one in days if one >= today]
        return shown(min(days, default=None))
    return shown(min(days, key=lambda one: abs(one - today), default=None))


def _date(year: int, month_number: int, day: int) -> date | None:
    try:
        return date(year, month_number, day)
    except ValueError:
        return None


def tense(clause: str) -> str:
    """Return ``past`` or ``future`` where the words around say so and nothing says otherwise, else nothing."""
    past, future = bool(_PAST.search(clause)), bool(_FUTURE.search(clause))
    if past == future:
        return ""
    return "past" if past else "future"

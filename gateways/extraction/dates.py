"""Relative dates made absolute before anybody reads them: ``yesterday`` becomes ``yesterday [2026-04-14]``.

The words stay as they are; what they mean is added in brackets, by arithmetic from the time and zone of the message
itself: a day as ``[2026-04-14]``, a longer stretch as ``[2026-03]``, ``[2025]`` or ``[2026-04-06 to 2026-04-12]``.
What is not certain (``recently``, ``a few days ago``) stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

from gateways.extraction import calendar_words as words
from gateways.extraction.foreign_dates import FOREIGN, foreign_date

__all__ = ["relative_dates", "resolve_dates"]

_Resolve = Callable[[re.Match[str], date, str], str]
_UNIT = r"(?P<unit>day|week|fortnight|month|year|decade)s?"
_CLOCK = r"(?P<clock>second|minute|hour)s?"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(words.NUMBERS)})"
_WEEKDAY = rf"(?P<weekday>{'|'.join(words.WEEKDAYS)})"
_MONTH = rf"(?P<month>{'|'.join(words.MONTHS)})"
_PART = r"(?:\s+(?:early\s+)?(?:morning|afternoon|evening|night|noon|at noon))?"
_FEW = re.compile(r"\b(?:few|several|some|many|couple)\s*\Z", re.IGNORECASE)
#: prepositions that say by themselves on which side of now a day is
_SIDE = {"by": "future", "until": "future", "till": "future", "since": "past"}
_DATED = re.compile(r"(?:['’]s)?\s*\[\d{4}")


def _day(text: str) -> _Resolve:
    offset = words.DAYS[text]
    return lambda _, today, __: words.shown(words.shifted(today, "day", offset))


def _ago(match: re.Match[str], today: date, _: str) -> str:
    return words.away(
        today, match["unit"].lower(), -words.number(match["count"]), to_the_day="today" in match[0].lower()
    )


def _ahead(match: re.Match[str], today: date, _: str) -> str:
    return words.away(today, match["unit"].lower(), words.number(match["count"]))


def _which_weekday(match: re.Match[str], today: date, _: str) -> str:
    return words.shown(words.weekday(today, match["weekday"].lower(), match["which"].lower()))


def _on_weekday(match: re.Match[str], today: date, clause: str) -> str:
    tense = _SIDE.get(match[0].split()[0].lower()) or words.tense(clause)
    return words.shown(words.weekday(today, match["weekday"].lower(), tense)) if tense else ""


def _which_stretch(match: re.Match[str], today: date, _: str) -> str:
    return words.stretch(today, match["stretch"].lower(), words.STEP[match["which"].lower()])


def _which_month(match: re.Match[str], today: date, _: str) -> str:
    return words.month(today, match["month"], match["which"].lower())


def _no_date(match: re.Match[str], _: date, __: str) -> str:
    del match
    return ""


def _in_month(match: re.Match[str], today: date, clause: str) -> str:
    return words.month(today, match["month"], words.tense(clause) or "near")


def _day_of_month(match: re.Match[str], today: date, clause: str) -> str:
    return words.day_of_month(today, match["month"], int(match["day"]), words.tense(clause) or "near")


#: What is looked for, the longer form before the shorter one it holds.
_FORMS: tuple[tuple[str, _Resolve], ...] = (
    (r"the\s+day\s+before\s+yesterday", _day("before yesterday")),
    (r"the\s+day\s+after\s+tomorrow", _day("after tomorrow")),
    (rf"yesterday{_PART}", _day("yesterday")),
    (r"last\s+night", _day("yesterday")),
    (rf"tomorrow{_PART}", _day("tomorrow")),
    (r"today|tonight|this\s+(?:morning|afternoon|evening)", _day("today")),
    (r"half\s+a\s+year\s+ago", lambda _, t, __: words.away(t, "month", -6)),
    (rf"(?:about\s+|exactly\s+|almost\s+)?{_COUNT}\s+{_UNIT}\s+(?:ago|back)(?:\s+today)?", _ago),
    (rf"{_COUNT}\s+{_CLOCK}\s+ago", _no_date),
    (rf"in\s+(?:about\s+|exactly\s+)?{_COUNT}\s+{_UNIT}(?:['’]\s*time)?(?!\s+(?:of|long|old))", _ahead),
    (rf"{_COUNT}\s+{_UNIT}\s+(?:from\s+now|from\s+today|hence)", _ahead),
    (rf"(?P<which>last|past|previous|this|this\s+coming|next)\s+{_WEEKDAY}{_PART}", _which_weekday),
    (rf"(?:on|by|until|till|before|since)\s+{_WEEKDAY}{_PART}(?!\s*s\b)", _on_weekday),
    (r"(?P<which>last|this\s+past|this|next|this\s+coming|previous)\s+(?P<stretch>weekend|week|month|quarter|year|decade)",
     _which_stretch),
    (r"(?P<which>last|this|next)\s+(?P<stretch>spring|summer|autumn|fall|winter)", _which_stretch),
    (rf"(?P<which>last|this|next|this\s+past|this\s+coming)\s+{_MONTH}(?!\s+\d)", _which_month),
    (rf"(?:on\s+|by\s+)?{_MONTH}\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b(?!\s*,?\s*\d)(?!:)", _day_of_month),
    (rf"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b(?!\s*,?\s*\d)", _day_of_month),
    (rf"(?:in|since|until|till|by|during)\s+{_MONTH}\b(?!\s*,?\s*\d)", _in_month),
)  # fmt: skip
_ENGLISH = re.compile("|".join(rf"(?P<f{n}>{_plain})" for n, _plain in enumerate(
    re.sub(r"\?P<\w+>", "?:", form) for form, _ in _FORMS)), re.IGNORECASE)  # fmt: skip
_EACH = tuple((re.compile(form, re.IGNORECASE), resolve) for form, resolve in _FORMS)
_CLAUSE = re.compile(r"[.!?;\n]")


def resolve_dates(text: str, at: datetime) -> str:
    """Return ``text`` with the date in brackets after each relative one; ``at`` is local to who wrote it.

    Doing it twice adds nothing.
    """
    return FOREIGN.sub(
        lambda m: _annotated(m, _resolved(lambda: foreign_date(m, at))), _ENGLISH.sub(lambda m: _english(m, at), text)
    )


def relative_dates(text: str, at: datetime) -> list[tuple[int, int, str]]:
    """Return where each relative date begins and ends in ``text``, and what it means, in order."""
    annotated = [(match, _english(match, at)) for match in _ENGLISH.finditer(text)]
    annotated += [
        (match, _annotated(match, _resolved(lambda: foreign_date(match, at))))  # noqa: B023 -- called at once
        for match in FOREIGN.finditer(text)
    ]
    found = [(match.start(), match.end(), shown[len(match[0]) :].strip(" []")) for match, shown in annotated]
    return sorted(one for one in found if one[2])


def _english(match: re.Match[str], at: datetime) -> str:
    text, start = match.string, match.start()
    if (start and (text[start - 1].isalnum() or text[start - 1] in "_-/")) or text[match.end() :][:1].isalnum():
        return match[0]
    if _FEW.search(text[:start]):
        return match[0]
    number = next(n for n in range(len(_FORMS)) if match[f"f{n}"] is not None)
    pattern, resolve = _EACH[number]
    whole = pattern.match(text, start, match.end())
    if whole is None:
        return match[0]
    return _annotated(match, _resolved(lambda: resolve(whole, at.date(), _clause(text, start, match.end()))))


def _resolved(resolve: Callable[[], str]) -> str:
    """Return what a phrase means; nothing where that is before the first year or after the last one."""
    try:
        return resolve()
    except (OverflowError, ValueError):
        return ""


def _clause(text: str, start: int, end: int) -> str:
    before = max((m.end() for m in _CLAUSE.finditer(text, max(0, start - 200), start)), default=max(0, start - 200))
    after = _CLAUSE.search(text, end, end + 200)
    return text[before : after.start() if after else end + 200]


def _annotated(match: re.Match[str], meant: str) -> str:
    if not meant or _DATED.match(match.string, match.end()):
        return match[0]
    return f"{match[0]} [{meant}]"

"""Relative dates in other languages: the common words are looked for here, `dateparser` says what they mean."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import lru_cache

import dateparser

__all__ = ["FOREIGN", "foreign_date"]

# Words for a day, then for longer stretches before or after this one; `#` is a number.
_WORDS: dict[str, tuple[str, str]] = {
    "de": (
        "vorgestern|gestern|heute|übermorgen|vor # Tag(?:en)?|in # Tagen",
        "letzte Woche|nächste Woche|letzten Monat|nächsten Monat|letztes Jahr|vor # (?:Wochen|Monaten|Jahren)",
    ),
    "fr": (
        "avant-hier|hier|aujourd['’]hui|après-demain|demain|il y a # jours|dans # jours",
        "la semaine dernière|la semaine prochaine|le mois dernier|l['’]année dernière|il y a # (?:semaines|mois|ans)",
    ),
    "es": (
        "anteayer|ayer|hoy|pasado mañana|hace # días|en # días",
        "la semana pasada|el mes pasado|el año pasado|hace # (?:semanas|meses|años)",
    ),
    "it": ("l['’]altro ieri|ieri|oggi|dopodomani|domani|# giorni fa|tra # giorni", "# (?:settimane|mesi|anni) fa"),
    "pt": ("anteontem|ontem|hoje|depois de amanhã|amanhã|há # dias", "há # (?:semanas|meses|anos)"),
    "nl": ("eergisteren|gisteren|vandaag|overmorgen|# dagen geleden|over # dagen", "# (?:weken|maanden|jaar) geleden"),
    "ru": (
        "позавчера|вчера|сегодня|послезавтра|завтра|# (?:дня|дней) назад|через # (?:дня|дней)",
        "# (?:недели|недель|месяца|месяцев|года|лет) назад",
    ),
    "ja": (
        "一昨日|昨日|今日|明後日|明日|#日前|#日後",
        "先週|来週|先月|来月|昨年|去年|来年|#週間前|#か月前|#年前",
    ),
    "zh": ("前天|昨天|今天|后天|明天|#天前|#天后", "上周|下周|上个月|下个月|去年|明年|#周前|#个月前|#年前"),
    "ko": (
        "그저께|어제|오늘|모레|내일|#일 전|#일 후",
        "지난주|다음 주|지난달|다음 달|작년|내년|#주 전|#개월 전|#년 전",
    ),
}
# Scripts without spaces have no word boundaries to look for.
_UNSPACED = frozenset({"ja", "zh", "ko"})
_WEEK = re.compile(r"Woche|semaine|semana|settiman|wek|недел|週|周|주", re.IGNORECASE)
_MONTH = re.compile(r"Monat|mois|mes(?!\w*s\b)|mese|mesi|meses|maand|месяц|月|달|개월", re.IGNORECASE)
_YEAR = re.compile(r"Jahr|ann[ée]e|ans\b|año|anni|anos|jaar|год|лет|年|작년|내년|년", re.IGNORECASE)


def _pattern(language: str, words: str) -> str:
    body = words.replace("#", r"\d{1,3}").replace(" ", r"\s+")
    return body if language in _UNSPACED else rf"(?<!\w)(?:{body})(?!\w)"


FOREIGN = re.compile(
    "|".join(rf"(?P<{language}>{_pattern(language, '|'.join(pair))})" for language, pair in _WORDS.items()),
    re.IGNORECASE,
)


def foreign_date(match: re.Match[str], at: datetime) -> str:
    """Return what a found phrase means, as a day, a week, a month or a year; nothing when it cannot be told."""
    language = match.lastgroup or ""
    found = _parsed(language, match[0].lower(), at.date())
    if found is None:
        return ""
    if re.fullmatch(_pattern(language, _WORDS[language][0]), match[0], re.IGNORECASE):
        return found.isoformat()
    return _rounded(match[0], found)


def _rounded(phrase: str, day: date) -> str:
    if _WEEK.search(phrase):
        monday = day - timedelta(days=day.weekday())
        return f"{monday} to {monday + timedelta(days=6)}"
    if _MONTH.search(phrase):
        return f"{day:%Y-%m}"
    return f"{day:%Y}" if _YEAR.search(phrase) else ""


@lru_cache(maxsize=4_096)
def _parsed(language: str, phrase: str, today: date) -> date | None:
    base = datetime(today.year, today.month, today.day, 12)  # noqa: DTZ001 -- dateparser works with naive local times
    try:
        found = dateparser.parse(phrase, languages=[language], settings={"RELATIVE_BASE": base})
    except (ValueError, OverflowError):
        return None
    return None if found is None else found.date()

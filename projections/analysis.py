"""From text to index terms, and from a question to the terms that are looked up.

Text is folded (NFKC, case, accents), then cut: words and numbers; identifiers such as ``C++``, ``PR-260``, ``3.5``
or an e-mail address as a whole and by their parts; scripts without spaces between words in pairs of characters.
Latin words are stemmed. No script is dropped, and nothing in a text is ever syntax.

Function words have a field of their own, so that they neither count in a text's length nor take part in a search,
and still answer a question that has nothing else ("who is who?"). The same field holds single characters of
scripts written in pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import msgspec
from whoosh.lang.porter2 import stem

from projections.stopwords import STOPWORDS

__all__ = ["ANALYSIS", "Terms", "index_terms", "query_terms"]

#: Names these rules; a change of rules is a change of the name, so that an older index is not mixed with them.
ANALYSIS = "umbriel-analysis-2"

_MAX_TERM = 64
_MIN_STEM = 3

# Marks that are left out: accents and the vowel points of Hebrew and Arabic; but й is a letter, not an accented и.
_POINTS = re.compile("(?<![иИ])[\u0300-\u036f]|[\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670]")
_INVISIBLE = re.compile("[\u00ad\u0640\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0e\ufe0f\ufeff]")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"})
_QUOTES = str.maketrans(dict.fromkeys("‘’‚‛′`´＇", "'"))

# Written without spaces: Thai, Lao, Burmese, Khmer, Han, Kana; and Hangul, whose particles are attached.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U000323af"
)
_PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff"


def _marks() -> str:
    """Return the marks that belong to words of Indic and other scripts; to `re` only letters and digits do."""
    marks = (chr(code) for code in range(0x0483, 0x10000) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return "".join(mark for mark in marks if not re.match(f"[{_PAIRED}]", mark))


_WORD = rf"(?:(?![{_PAIRED}_])[\w{_marks()}])+"
_TOKEN = re.compile(
    rf"(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    rf"|(?P<run>[{_PAIRED}]+)"
    rf"|(?P<word>{_WORD}(?:['._,-]{_WORD})*(?:\+\+|\#)?)"
    rf"|(?P<picture>[{_PICTURES}])"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LATIN = re.compile(r"[a-z]+")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905 -- reads better
_SPLIT = re.compile(r"['._,@+#-]+")


class Terms(msgspec.Struct, frozen=True):
    """The terms of a text in order, with repetitions: ``text`` is scored, ``rest`` only stands in for it."""

    text: list[str]
    rest: list[str]


def index_terms(text: str) -> Terms:
    """Return the terms a text is indexed under."""
    terms = Terms([], [])
    for match in _TOKEN.finditer(_fold(text)):
        if match.lastgroup == "run":
            run = match.group()
            terms.text.extend(_pairs(run))
            if len(run) > 1:
                terms.rest.extend(run)
            continue
        for term, function_word in _terms(match.group(), match.lastgroup or ""):
            (terms.rest if function_word else terms.text).append(term)
    return terms


def query_terms(query: str) -> Terms:
    """Return the distinct terms to look up; ``rest`` is for single characters, or for a query that has nothing else."""
    found = index_terms(query)
    singles = [match.group() for match in _TOKEN.finditer(_fold(query)) if match.lastgroup == "run"]
    single = {run for run in singles if len(run) == 1}
    text = list(dict.fromkeys(found.text))
    return Terms(text, sorted(single) if text else list(dict.fromkeys(found.rest)))


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = text.encode("utf-8", "ignore").decode("utf-8")
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _POINTS.sub("", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
    return text.translate(_LETTERS).translate(_QUOTES)


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def _terms(token: str, group: str) -> Iterator[tuple[str, bool]]:
    """Yield (term, is a function word) of one token."""
    if token in STOPWORDS:
        yield token, True
        return
    if group == "word":
        token = _plain(token)
    if (date := _DATE.fullmatch(token)) and 1 <= int(date[2]) <= len(_MONTHS):
        # As people ask for it: "in May 2023".
        yield from ((term, False) for term in (token, date[1], _stem(_MONTHS[int(date[2]) - 1]), str(int(date[3]))))
        return
    parts = _SPLIT.split(token)
    if len(parts) == 1:
        yield _one(token)
        return
    if group == "mail" or _is_identifier(token, parts):
        yield token[:_MAX_TERM], False
        if _NUMBER.fullmatch(token):
            return
    elif "'" in token and "-" not in token:
        yield token.replace("'", "")[:_MAX_TERM], False
    kept = [part for part in parts if len(part) > 1 or part.isdigit() or not part.isascii()]
    # Single letters are noise beside a word; of nothing but them the token is the name: "x-y".
    yield from map(_one, kept) if kept else [(token[:_MAX_TERM], False)]


def _plain(word: str) -> str:
    """Return a word without the possessive, a number without its thousands' commas."""
    word = word.removesuffix("'s")
    return word.replace(",", "") if _THOUSANDS.fullmatch(word) else word


def _is_identifier(token: str, parts: list[str]) -> bool:
    """Whether a token of several parts is a name of its own, unlike ``well-known``."""
    return token.endswith(("+", "#")) or "." in token or "_" in token or any(part.isdigit() for part in parts)


def _one(word: str) -> tuple[str, bool]:
    return (word, True) if word in STOPWORDS else (_stem(word), False)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return stem(word)[:_MAX_TERM] if len(word) >= _MIN_STEM and _LATIN.fullmatch(word) else word[:_MAX_TERM]

"""From the first person to the third, and from dates in brackets to dates in the sentence."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

import msgspec

from domain.text import fold_key
from gateways.extraction.offline import words

__all__ = [
    "Voice",
    "date_side",
    "dated_last",
    "head",
    "key_part",
    "stated_span",
    "they",
    "third",
    "with_dates",
    "without_brackets",
    "without_dates",
]


class Voice(msgspec.Struct, frozen=True, kw_only=True):
    """Who speaks a line: ``noun`` is the subject of what is written down, ``key`` that of its topic keys.

    ``lower`` says that the line has no capital letters, so that names are not known by them; ``among_people`` that
    whoever is spoken to is a person, whom nobody gives standing instructions.
    """

    noun: str
    key: str
    lower: bool = False
    among_people: bool = False

    @property
    def whose(self) -> str:
        """The subject as an owner: ``The user's``."""
        return f"{self.noun}'s"


_PART = r"(?:\s+(?:early\s+)?(?:morning|afternoon|evening|night|noon|at noon))?"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)"
)
_NUMBER = (
    r"(?:\d{1,4}|an?|a couple of|a couple|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen"
    r"|twenty|thirty)"
)
_UNIT = r"(?:day|week|fortnight|month|year|decade)s?"
_SPAN = r"(?P<first>\d{4}(?:-\d{2}){0,2})(?:\s+to\s+(?P<last>\d{4}-\d{2}-\d{2}))?"
_DATED = re.compile(
    rf"""(?:,\s*)?(?:\b(?P<side>by|until|till|since|before|on|in|during|from|for|starting)\s+)?
    (?:\b(?:the\s+day\s+(?:before|after)\s+(?:yesterday|tomorrow)
    |yesterday{_PART}|last\s+night|tomorrow{_PART}|today|tonight|this\s+(?:morning|afternoon|evening)
    |(?:about\s+|exactly\s+|almost\s+)?(?:half\s+a\s+year|{_NUMBER}\s+{_UNIT})\s+(?:ago|back)(?:\s+today)?
    |(?:about\s+|exactly\s+)?{_NUMBER}\s+{_UNIT}(?:'\s*time|\s+from\s+now|\s+from\s+today|\s+hence)?
    |(?:last|past|previous|this\s+coming|this\s+past|this|next)\s+\w+{_PART}
    |{_DAY}{_PART}|{_MONTH}(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}))?
    (?P<owned>'s)?\s*\[{_SPAN}\]""",
    re.IGNORECASE | re.VERBOSE,
)
_BRACKETS = re.compile(r"\s*\[\d{4}[^\]]*\]")
_FROM_FIRST = {
    "me": "them", "my": "their", "mine": "theirs", "myself": "themselves", "we": "they", "our": "their", "us": "them",
    "ours": "theirs", "ourselves": "themselves", "i": "they", "i'm": "they're", "i've": "they've", "i'll": "they'll",
    "i'd": "they'd", "we're": "they're", "we've": "they've", "we'll": "they'll", "i am": "they are",
    "i was": "they were",
}  # fmt: skip
_FIRST = re.compile(
    r"(?<![\w'.-])(?:I am|I was|i am|i was|[Ii](?:'(?:m|ve|ll|d))?|[Ww]e(?:'(?:re|ve|ll))?|[Mm]e|[Mm]y"
    r"|[Mm]ine|[Mm]yself|[Oo]urs?|us|[Oo]urselves)(?![\w'./-])"
)
_OPENING = re.compile(r"(I|we)(?:'?(m|ve|re|ll|d)\b|\b)", re.IGNORECASE)
_EXPANDED = {"m": " am", "ve": " have", "re": " are", "ll": " will", "d": " would"}
_OWN = {"have": "has", "am": "is", "are": "is", "do": "does", "go": "goes"}
_SIDES = ("by", "until", "till", "since", "before", "from")


def head(clause: str) -> str:
    """Return a clause as the patterns know it: no filler before it, ``I'm`` as ``I am``, no adverb before its verb."""
    text = clause[filler.end() :] if (filler := words.FILLER.match(clause)) else clause
    opening = _OPENING.match(text)
    if opening is None or (opening[2] and "'" not in opening[0] and opening[0].lower() not in {"im", "ive"}):
        return text
    subject = "I" if opening[1] in "Ii" else "we"
    rest = (_EXPANDED[opening[2].lower()] if opening[2] else "") + text[opening.end() :]
    tokens = rest.split()
    at = 0
    while at < min(len(tokens), 4) and tokens[at].lower() in words.ADVERBS | {"am", "have", "are", "will", "been"}:
        at += 1
    kept = [token for token in tokens[:at] if token.lower() not in words.ADVERBS]
    return " ".join((subject, *kept, *tokens[at:]))


def dated_last(clause: str) -> str:
    """Return a clause with the date that it begins with at its end."""
    bare = clause[filler.end() :] if (filler := words.FILLER.match(clause)) else clause
    date = _DATED.match(bare)
    rest = bare[date.end() :].strip(" ,") if date is not None else ""
    return f"{rest} {date[0].strip(' ,')}" if date is not None and rest else clause


def they(text: str) -> str:
    """Return a clause with its first person as ``they``: verbs stay as they are."""
    return _FIRST.sub(lambda match: _FROM_FIRST[match[0].lower()], text)


def third(verb: str) -> str:
    """Return the third person of a verb in the present."""
    if verb in _OWN:
        return _OWN[verb]
    if verb.endswith(("s", "sh", "ch", "x")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def without_dates(text: str) -> str:
    """Return a clause without its resolved dates and the words they resolve."""
    return " ".join(_DATED.sub(" ", text).split()).strip(" ,")


def without_brackets(text: str) -> str:
    """Return a clause in its own words, without what they were resolved to."""
    return " ".join(_BRACKETS.sub(" ", text).split())


def with_dates(text: str) -> str:
    """Return a clause in which each date stands for the words that it resolves: ``on 2026-04-14``."""
    return " ".join(_DATED.sub(_shown, text).split())


def _shown(match: re.Match[str]) -> str:
    first, last, side = match["first"], match["last"], (match["side"] or "").lower()
    if match["owned"]:
        return f" of {first} "
    if side in _SIDES:
        return f" {side} {last if last and side in {'by', 'until', 'till'} else first} "
    if last:
        return f" between {first} and {last} "
    return f" {'on' if len(first) == len('2026-04-14') else 'in'} {first} "


def date_side(text: str) -> str:
    """Return the preposition before the first resolved date of a clause, empty when there is none."""
    match = _DATED.search(text)
    return (match["side"] or "").lower() if match is not None else ""


def stated_span(text: str, zone: tzinfo | None) -> tuple[datetime | None, datetime | None]:
    """Return from when and until when a clause holds: the first midnights, in ``zone``, of its first resolved date."""
    match = _DATED.search(text)
    if match is None:
        return None, None
    if (match["side"] or "").lower() in {"until", "till"}:
        return None, _midnight(match["last"] or match["first"], zone)
    return _midnight(match["first"], zone), None


def _midnight(day: str, zone: tzinfo | None) -> datetime | None:
    year, month, date = (int(part) for part in f"{day}-01-01".split("-")[:3])
    try:
        return datetime(year, month, date, tzinfo=zone or UTC)
    except ValueError:
        return None


def key_part(text: str) -> str:
    """Return a phrase as part of a topic key."""
    return fold_key(re.sub(r"[^\w\s-]+", " ", text)).strip("_")

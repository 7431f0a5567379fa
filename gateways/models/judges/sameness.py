"""Whether two statements say the same, by rule: the same content words about the same subject, put the same way.

It reads English; of what it does not read, only statements with the very same words are the same. What differs in a
number, a name, a date, a negation, a time or a sign is apart, however alike a model of embeddings finds it: "CEO" and
"CTO", "PR 260" and "PR 480", "C" and "C#".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from domain.fence import unfenced
from domain.merging import Relation
from gateways.models.judges import lexicon as lex
from gateways.models.judges.frames import Frame, frame

__all__ = ["Sameness"]

_WORD = re.compile(r"\w+(?:[’'_-]\w+)*")
_PLAIN = re.compile(r"[\w’'-]+\Z")
_NEGATIVE_NUMBER = re.compile(r"-\d")
_DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*")
_ENDS = ".,;:!?…\"'“”‘’«»()[]。、，！？；：「」『』（）"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Words that tell English from what only looks like it.
_ENGLISH = _set("the is are am has have and my of to with does not user i it's its likes lives")
#: Words that change what a sentence claims without being what it is about.
_BOUNDS = _set(
    "only always usually often normally sometimes rarely except all every some any if unless than more less most least "
    "near off under over behind after before without from until since again too also"
)
#: Who is spoken of where no name is.
_SPEAKERS = {
    word: who
    for who, words in {
        "self": "i me my mine myself user we us our ours",
        "you": "you your yours",
        "he": "he him his",
        "she": "she her hers",
        "they": "they them their theirs",
        "it": "it its",
    }.items()
    for word in words.split()
}
#: Words whose sides cannot be exchanged.
_DIRECTED = _set("from to before after than over by of into for under onto")
_LONGER, _MORE = 1.5, 40


class _Read(msgspec.Struct, frozen=True):
    """A statement taken apart."""

    frame: Frame
    words: tuple[str, ...]
    content: tuple[str, ...]
    numbers: frozenset[str]
    names: frozenset[str]
    marks: frozenset[str]
    bounds: frozenset[str]
    speakers: frozenset[str]
    english: bool


class Sameness:
    """`domain.merging.Comparer` by rule, offline and deterministic."""

    def relation(self, one: str, other: str) -> Relation:
        """Return how two statements are related."""
        mine, theirs = _read(one), _read(other)
        if mine.words == theirs.words and mine.marks == theirs.marks:
            return "same"
        if not (mine.english and theirs.english) or _apart(mine, theirs):
            return "apart"
        return "same" if _same(mine, theirs) else "alike"

    def objection(self, text: str, members: Sequence[str]) -> str:
        """Return why ``text`` cannot stand for all ``members``, empty when it can."""
        if not text.strip():
            return "there is no wording"
        if unfenced(text) != text or "\n" in text.strip():
            return "the wording is not one sentence"
        if len(text) > _LONGER * max(map(len, members)) + _MORE:
            return "the wording is longer than what it stands for"
        mine = _read(text)
        for member in map(_read, members):
            if mine.numbers != member.numbers:
                return "its numbers are not those of every member"
            if mine.marks != member.marks:
                return "its signs are not those of every member"
            if mine.names - set(member.words):
                return "it names what a member does not"
            if member.names - set(mine.words):
                return "a name of a member is missing"
            if _apart(mine, member):
                return "it says something else than a member"
        return ""


@lru_cache(maxsize=64)  # those of one scope: each is held against several, and none is kept for long
def _read(text: str) -> _Read:
    plain = unicodedata.normalize("NFKC", text)
    found = [match.group() for match in _WORD.finditer(plain)]
    words = tuple(word.casefold() for word in found)
    taken = frame(text)
    return _Read(
        frame=taken,
        words=words,
        content=tuple(dict.fromkeys(lex.known(word) for word in taken.words if lex.known(word) in taken.content)),
        numbers=frozenset(_DIGITS.findall(plain)) | taken.numbers | taken.identifiers | taken.periods,
        names=_names(found),
        marks=_marks(plain),
        bounds=_BOUNDS.intersection(words),
        speakers=frozenset(_SPEAKERS[word] for word in taken.words if word in _SPEAKERS),
        english=plain.isascii() and any(word in _ENGLISH or lex.known(word) in lex.VERBS for word in words),
    )


def _names(found: Sequence[str]) -> frozenset[str]:
    """Return the words with a capital that no sentence asks for, and those with several."""
    return frozenset(
        word.casefold()
        for at, word in enumerate(found)
        if (at and word[:1].isupper() and word != "I") or sum(letter.isupper() for letter in word) > 1
    )


def _marks(text: str) -> frozenset[str]:
    """Return the words that are more than letters, digits, hyphens and apostrophes: ``C#``, ``-5``, ``a@b.example``."""
    tokens = (token.strip(_ENDS) for token in text.casefold().split())
    return frozenset(token for token in tokens if token and (not _PLAIN.match(token) or _NEGATIVE_NUMBER.match(token)))


def _apart(mine: _Read, theirs: _Read) -> bool:
    """Whether something differs that no wording bridges."""
    one, other = mine.frame, theirs.frame
    put = ((f.negative, f.past, f.ends, f.changes, f.unsure) for f in (one, other))
    return (
        mine.numbers != theirs.numbers
        or mine.names - set(theirs.words) != frozenset()
        or theirs.names - set(mine.words) != frozenset()
        or mine.marks != theirs.marks
        or (mine.speakers and theirs.speakers and mine.speakers != theirs.speakers)
        or one.owner != other.owner
        or len(set(put)) > 1
        or any(lex.OPPOSITES.get(word) in other.content for word in one.content)
        or any(lex.OPPOSITES.get(word) in one.content for word in other.content)
    )


def _same(mine: _Read, theirs: _Read) -> bool:
    """Whether the same words are said, in an order that means the same."""
    if (
        mine.bounds != theirs.bounds
        or mine.speakers != theirs.speakers
        or not mine.content
        or set(mine.content) != set(theirs.content)
    ):
        return False
    directed = _DIRECTED.intersection(mine.words) | _DIRECTED.intersection(theirs.words)
    return mine.content == theirs.content or not directed

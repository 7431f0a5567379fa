"""A text cut into words that can be compared: folded, stemmed, with their places, identifiers as one word each."""

from __future__ import annotations

import re
import unicodedata

import msgspec

from gateways.service.describing.identifiers import Identifier, find_identifiers
from gateways.service.describing.lexicon import SELF, stem_of

__all__ = ["SELF_WORD", "Word", "read"]

#: stands for who speaks, however they are called
SELF_WORD = "\0self"

_OPENING = re.compile(
    r"^\s*(?:please\s+)?(?:(?:do\s+not|don['’]?t|never)\s+forget|remember|remind\s+me)\s*(?:\bto\b|\bthat\b)?\s*",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"(?<![\w])-\d+(?:[.,:]\d+)*\w*|[#$€£]?\w+(?:[.,:/+_'’-]\w+)*(?:\+\+|#)?|[€$£%]|[^\W\w]")
_LIST = re.compile(r"(?<=[^\W\d])[-/](?=[^\W\d])")
_NOT = {"can't": "can", "won't": "will", "cannot": "can", "shan't": "shall", "ain't": "is"}
_ELISION = re.compile(r"^(?:l|d|j|qu|n|m|s|c)'(?=\w{2})")
_CLITIC = re.compile(r"'(?:s|m|re|ve|ll|d)$")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905 -- reads better
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_NUMBERS = {
    word: str(value)
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
    if value > 1
}
_BREAKS = ".!?;\n"


class Word(msgspec.Struct, frozen=True):
    """One word at ``start``..``end`` of its text.

    ``name`` is written with a capital where no sentence begins; ``owner`` has a possessive; ``opens`` begins a
    sentence. ``identifier`` is set for one of those, whose words are its parts.
    """

    word: str
    stem: str
    start: int
    end: int
    name: bool = False
    owner: bool = False
    opens: bool = False
    identifier: Identifier | None = None


def read(text: str, *, speaker: frozenset[str] = frozenset()) -> list[Word]:
    """Return the words of a text; ``speaker`` are names of who speaks, which mean the same as "I"."""
    opening = _OPENING.match(text)
    begin = opening.end() if opening else 0
    words: list[Word] = []
    at = begin
    for identifier in [one for one in find_identifiers(text) if one.start >= begin]:
        words.extend(_plain(text, at, identifier.start, speaker))
        words.append(Word(identifier.value, identifier.value, identifier.start, identifier.end, identifier=identifier))
        at = identifier.end
    words.extend(_plain(text, at, len(text), speaker))
    return words


def _plain(text: str, start: int, end: int, speaker: frozenset[str]) -> list[Word]:
    found: list[Word] = []
    for match in _TOKEN.finditer(text, start, end):
        found.extend(_words(text, match, speaker))
    return found


def _words(text: str, match: re.Match[str], speaker: frozenset[str]) -> list[Word]:
    written, start, end = match.group(), match.start(), match.end()
    folded = _fold(written)
    opens = _opens(text, start)
    if folded.endswith("n't") or folded in _NOT:
        base = _NOT.get(folded, folded.removesuffix("n't"))
        return [Word(base, stem_of(base), start, end, opens=opens), Word("not", "not", start, end)]
    owner = folded.endswith("'s") or (
        folded.endswith("s") and text[end : end + 1] in "'’" and text[end : end + 1] != ""
    )
    folded = _ELISION.sub("", _CLITIC.sub("", folded))
    if (date := _ISO.fullmatch(folded)) and 1 <= int(date[2]) <= len(_MONTHS):
        parts = (date[1], _MONTHS[int(date[2]) - 1], str(int(date[3])))
        return [Word(part, stem_of(part), start, end) for part in parts]
    if folded in {"e-mail", "e-mails"}:
        folded = "email"
    if _THOUSANDS.fullmatch(folded):
        folded = folded.replace(",", "")
    pieces = _LIST.split(folded)
    capital = written[:1].isupper() and not (opens and not written[1:2].isupper())
    return [
        _word(piece, start, end, name=capital, owner=owner, opens=opens, speaker=speaker) for piece in pieces if piece
    ]


def _word(piece: str, start: int, end: int, *, name: bool, owner: bool, opens: bool, speaker: frozenset[str]) -> Word:
    if piece in SELF or piece in speaker:
        mine = owner or piece in {"my", "our", "mine", "ours"}
        return Word(SELF_WORD, SELF_WORD, start, end, owner=mine, opens=opens)
    piece = _NUMBERS.get(piece, piece)
    return Word(piece, stem_of(piece), start, end, name=name and piece != "i", owner=owner, opens=opens)


def _fold(word: str) -> str:
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    return plain.replace("’", "'")


def _opens(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'“‘(*-")
    return not before or before[-1] in _BREAKS or before[-1] == ":"

"""What stands in a pattern's gap: a place, a name, an organisation or a thing, or nothing that is certain."""

from __future__ import annotations

import re

from gateways.extraction.offline import nouns, words
from gateways.extraction.offline.grammar import Voice

__all__ = ["LONGEST_NAME", "is_one_of", "is_trade", "name", "organisation", "place", "singular", "thing"]

_LINK_WORDS = words.listed("""
    de la le el los las del da do dos di du der den van von of upon am an the al bin ibn ben y e
""")
_BEFORE_A_PLACE = words.listed("""
    downtown central north south east west northern southern eastern western upstate rural the near greater
    mainland outside suburban
""")
_MORE = re.compile(
    r"(?:with|near|for|since|because|and|but|where|which|as|by|on|at|after|along|together|so|though|these|right|at|now"
    r"|again|currently|nowadays|today|full-time|part-time|full|part|already|from|to|who|since|too|instead|permanently"
    r"|a|about|last|next|this|back|these|here|in|actually|then|when|during|before|doing|alone|until|till)\b|[,;(–—-]",
    re.IGNORECASE,
)
_NOT_SO = re.compile(
    r"\b(?:until|till|instead of|when|in (?:my|the|a|his|her) \w+|for (?:the|a|two|three|\d+) \w+)\b", re.IGNORECASE
)
_TOKEN = re.compile(r"\S+")
_NOT_A_NAME = words.listed("""
    not the a an and or but so very really just too here there back done ready sorry fine good great okay ok on
    in at important late busy sick tired happy sad home sure glad new old actually still also mud legion god no
    yes going getting being your my his her their our this that it what who lost gone
""")
_INNER_VERB = re.compile(
    r"\b(?:is|are|was|were|am|has|had|I|i|you|your|we|he|she|they|it|can|will|did|does|do|don't|isn't|that|this|these"
    r"|those|her|him|them|his|when|until|while|except|only|sometimes|usually|too|as long|how|what|why|who|where|not"
    r"|never|anymore|any more|but|than|my|our|me|us|myself|back then|as a (?:kid|child)|there|here|itself"
    r"|himself|herself|yourself)\b"
)
_SAFE_THE = re.compile(
    r"[tT]he (?:beach|sea|ocean|outdoors|mountains|rain|cold|heat|summer|winter|snow|countryside|desert"
    r"|forest|city|theatre"
    r"|theater|opera|gym|dentist|smell of .+|taste of .+|sound of .+|[A-Z]\S*(?: [A-Z]\S*)*)\Z"
)
_VAGUE_OBJECT = re.compile(
    r"(?:the|a|an|my|our|your|some|any|all|every|each|being|seeing|hearing|knowing|having|getting|feeling|thinking|when"
    r"|where|such|more|less|most|many|much|lots|to|of|in|on|at|for|with|as|by|like|doing|sharing|watching you"
    r"|and|or|if|new|other|working with you|talking to you|just|so|really|very|it's|that's|both|exactly|anything)\b",
    re.IGNORECASE,
)


LONGEST_NAME = 4
_LONGEST_PLACE = 7
_LONGEST_THING = 6
_LONGEST_TRADE = 4
_LONGEST_ABBREVIATION = len("St.") + 1
_LEADING = re.compile(r"(?:also|really|mostly|especially|mainly)\s+", re.IGNORECASE)
_TRAILING = re.compile(
    r"\s+(?:because|since|so much|a lot|very much|these days|right now|at the moment|more than anything|now|too|as well"
    r"|though|although|even though|honestly|tbh|already|again|lately|nowadays|aka)\b|\s+[-–—]+(?:\s|\Z)|\s*[(;:]|,\s",
    re.IGNORECASE,
)


def name(text: str, voice: Voice) -> str:
    """Return a person's or animal's name of up to four words, empty when it is none."""
    tokens = text.strip(" \"'“”.,!").split()
    if not tokens or len(tokens) > LONGEST_NAME or tokens[0].lower() in _NOT_A_NAME:
        return ""
    if voice.lower:
        fits = len(tokens) <= LONGEST_NAME // 2 and all(
            token.isalpha() and token not in _NOT_A_NAME for token in tokens
        )
        return " ".join(tokens) if fits else ""
    fits = (
        all(_proper(token) or token in _LINK_WORDS for token in tokens) and _proper(tokens[0]) and _proper(tokens[-1])
    )
    return " ".join(tokens) if fits else ""


def place(text: str, voice: Voice) -> str:
    """Return the place at the beginning of a phrase, empty when it is none or what follows changes it."""
    found, rest = _proper_run(text, _BEFORE_A_PLACE, voice)
    return found if _whole(found, rest) and not _NOT_SO.search(rest) else ""


def organisation(text: str, voice: Voice) -> str:
    """Return the organisation at the beginning of a phrase: by its name, or as ``a hospital``."""
    common = re.match(
        r"(?:an?|the) (?:[\w-]+ ){0,3}?([\w-]+)(?= (?:in|called|named|near|as|for|since|and)\b|,|\Z)", text
    )
    if common is not None and common[1].lower() in nouns.WORKPLACES:
        return common[0]
    found, rest = _proper_run(text, frozenset({"the"}), voice)
    return found if _whole(found, rest, words.NO_ORGANISATION) else ""


def _whole(found: str, rest: str, never: frozenset[str] = words.NOT_A_PLACE) -> bool:
    if not found or (rest and not _MORE.match(rest)):
        return False
    bare = {token.strip(",'").lower() for token in found.split()}
    return not bare & never and not bare <= words.NOT_ALONE and not found.endswith("'s")


def _proper_run(text: str, before: frozenset[str], voice: Voice) -> tuple[str, str]:
    tokens = [(match[0], match.end()) for match in _TOKEN.finditer(text)]
    if voice.lower:
        return _lower_run(text)
    at = 0
    while at < len(tokens) and tokens[at][0] in before:
        at += 1
    begin, end = at, at
    while at < len(tokens) and at - begin < _LONGEST_PLACE:
        token = tokens[at][0]
        if _proper(token.rstrip(",.")):
            at += 1
            end = at
        elif token in _LINK_WORDS and at > begin and not tokens[at - 1][0].endswith(","):
            at += 1
            continue
        else:
            break
        if token.endswith(".") and len(token) > _LONGEST_ABBREVIATION:
            break
    if end == begin:
        return "", text
    stop = tokens[end - 1][1]
    return text[:stop].rstrip(" ,."), ("," if tokens[end - 1][0].endswith(",") else "") + text[stop:].strip()


def _lower_run(text: str) -> tuple[str, str]:
    """Return the words before the first one that leads on; without capitals only one or two words are a name."""
    match = re.match(r"((?:the |new |san |los |las |saint |st )?[^\W\d_]+(?:, [^\W\d_]+)?)(?:\s+(.*))?\Z", text)
    if match is None or match[1] in words.POINTING | _NOT_A_NAME or _VAGUE_OBJECT.match(match[1] + " "):
        return "", text
    return match[1], match[2] or ""


def _proper(token: str) -> bool:
    bare = token.strip("\"'“”()&")
    return token.strip() == "&" or (
        bool(bare)
        and not bare[0].islower()
        and (bare[0].isalpha() or bare[0].isdigit())
        and any(char.isalpha() for char in bare)
    )


def thing(text: str) -> str:
    """Return what somebody likes or has, empty when it is known from the conversation only, or holds a clause."""
    bare = _LEADING.sub("", _TRAILING.split(text, maxsplit=1)[0].strip(" ,'\""))
    bare = bare.replace('"', "") if bare.count('"') == 1 else bare
    tokens = bare.split()
    if not tokens or len(tokens) > _LONGEST_THING or tokens[0].lower() in words.POINTING or not bare[0].isalnum():
        return ""
    if tokens[0].lower() == "the":
        return bare if _SAFE_THE.match(bare) and not _INNER_VERB.search(bare) else ""
    return "" if _VAGUE_OBJECT.match(bare) or _INNER_VERB.search(bare) or "…" in bare else bare


def is_trade(phrase: str) -> bool:
    """Return whether a phrase is an occupation, and no manner of speaking (``a natural born leader``)."""
    tokens = phrase.lower().split()
    known = bool(tokens) and tokens[-1] in nouns.TRADES and not nouns.NOT_A_TRADE.intersection(tokens)
    return known and len(tokens) <= _LONGEST_TRADE


def singular(noun: str) -> str:
    """Return the singular of an English noun of the lists."""
    irregular = {
        "children": "child",
        "puppies": "puppy",
        "ponies": "pony",
        "bunnies": "bunny",
        "fish": "fish",
        "grandchildren": "grandchild",
    }
    return irregular.get(noun, noun.removesuffix("s"))


def is_one_of(text: str, known: frozenset[str]) -> bool:
    """Return whether a phrase is in a list of :mod:`nouns` or :mod:`words`, whatever its case."""
    return text.strip().lower().replace(" ", "_") in known

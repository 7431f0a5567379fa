"""A statement taken apart by rule: whom it is about, which attribute, which value, and how it is put."""

from __future__ import annotations

import re
import unicodedata

import msgspec

from gateways.models.judges import lexicon as lex

__all__ = ["SELF", "Frame", "frame"]

#: Stands for the person the memory is about, however they are spoken of.
SELF = "self"

_SPELLED = (
    (re.compile(r"[’‘`´]"), "'"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\b(?:can't|cannot)\b"), "can not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"\b(it|that|he|she|there|what|here)'s\b"), r"\1 is"),
    (re.compile(r"(?<=s)'(?=\s)"), " 's"),
    (re.compile(r"'s\b"), " 's"),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
    (re.compile(r"\b(?:any more|any longer)\b"), "anymore"),
    (re.compile(r"\bused to be\b"), "used to"),
    (re.compile(r"\bthe user\b"), "user"),
    (re.compile(r"\b(?:can|could) not (?:stand|bear)\b"), "hate"),
    (re.compile(r"\bdo not mind\b"), "like"),
)
_REMINDER = re.compile(r"^(?:please )?(?:(?:do not|never) forget|remember)(?: to| that)?\s+")
_SHORT = 4
_LETTER = re.compile(r"(?<=\S )A\b(?!')")
_TOKEN = re.compile(r"'s|#?\w+(?:[.,:/@+-]\w+)*(?:\+\+|#)?")
_CODE = re.compile(r"[a-z]+-\d+|#\d+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMBER = re.compile(r"\d+(?:[.:]\d+)*(?:st|nd|rd|th)?")
_INFLECTED = re.compile(r"(?:s|ed|ing)$")


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One statement's parts, as stems.

    ``owner`` is whom it is about, ``attribute`` what of theirs (``manager`` of "my manager"), ``relation`` the verb,
    ``link`` its preposition, ``value`` what is said; ``content`` is everything that carries meaning.
    """

    words: tuple[str, ...]
    owner: frozenset[str]
    attribute: frozenset[str]
    relation: str
    link: str
    value: tuple[str, ...]
    content: frozenset[str]
    numbers: frozenset[str]
    identifiers: frozenset[str]
    periods: frozenset[str]
    former: frozenset[str]
    negative: bool
    definite: bool
    indefinite: bool
    past: bool
    changes: bool
    changes_softly: bool
    ends: bool
    unsure: bool
    thing: bool


def frame(text: str) -> Frame:
    """Return the frame of one statement; of a text that is no English sentence, one with little in it."""
    spoken, names = _words(text)
    words = _without_opening(spoken)
    verb, main = _verb(words)
    owner, attribute = _subject(words[:verb])
    rest = words[main + 1 :]
    stems = [lex.known(word) for word in words]
    relation = stems[main] if main < len(words) else ""
    identifiers, numbers = _numbers(words, names, verb)
    return Frame(
        words=tuple(words),
        owner=owner,
        attribute=attribute,
        relation=_relation(relation, words, main),
        link=_link(rest),
        value=tuple(lex.known(word) for word in rest if _means(word)),
        content=frozenset(found for word, found in zip(words, stems, strict=True) if _means(word)),
        numbers=numbers,
        identifiers=identifiers,
        periods=_periods(spoken),
        former=_former(words),
        negative=_negative(words, relation),
        definite=bool(rest) and rest[0] in {"the", "my", "our", "'s"},
        indefinite=bool(rest) and rest[0] in {"a", "an"},
        past=_past(words, verb, main),
        changes=any(found in lex.CHANGE_VERBS for found in _main_verbs(words, stems, main)),
        changes_softly=any(f" {phrase} " in f" {' '.join(spoken)} " for phrase in lex.CHANGE_PHRASES),
        ends=_ends(words, _main_verbs(words, stems, main)),
        unsure=text.rstrip().endswith("?") or any(word in lex.UNSURE for word in _but_months(words)),
        thing=_thing(words[:verb], names),
    )


def _words(text: str) -> tuple[list[str], frozenset[str]]:
    """Return the folded words, and those written with a capital inside the sentence or all in capitals."""
    # "Hall A" ends with a name, not with an article.
    plain = _LETTER.sub("A_", unicodedata.normalize("NFKC", text))
    names = {
        found.group().casefold()
        for found in _TOKEN.finditer(plain)
        if found.group()[:1].isupper() and (found.start() > 0 or found.group()[:2].isupper())
    }
    folded = plain.casefold().strip()
    for pattern, instead in _SPELLED:
        folded = pattern.sub(instead, folded)
    return _TOKEN.findall(_REMINDER.sub("", folded)), frozenset(names)


def _without_opening(words: list[str]) -> list[str]:
    """Return the words without "from now on", or "in 2018" and "last summer", before the subject."""
    if words[:3] == ["from", "now", "on"]:
        return words[3:]
    timed = len(words) > 3 and (  # noqa: PLR2004 -- two words of time and two that say something
        (words[0] in {"in", "since", "by"} and (words[1] in lex.MONTHS | lex.SEASONS or _YEAR.fullmatch(words[1])))
        or (words[0] in {"last", "this", "next"} and words[1] in lex.MONTHS | lex.SEASONS | lex.WEEKDAYS)
    )
    return words[2:] if timed else words


def _verb(words: list[str]) -> tuple[int, int]:
    """Return where the verb phrase begins and where its main verb stands; both 0 for a request."""
    first = next((at for at, word in enumerate(words) if _may_be_verb(words, at, word)), None)
    if first is None:
        first = next((at for at, word in enumerate(words) if at and _INFLECTED.search(word) and _free(words, at)), 0)
    main = first
    while main + 1 < len(words) and (words[main] in lex.AUXILIARIES or words[main] in lex.ADVERBS):
        after = main + 1
        while after < len(words) - 1 and words[after] in lex.ADVERBS | lex.AUXILIARIES:
            after += 1
        if words[after] not in lex.AUXILIARIES and not _participle(words[after], words[main:after]):
            break
        main = after
        if words[main] not in lex.AUXILIARIES:
            break
    return first, main


def _free(words: list[str], at: int) -> bool:
    return words[at - 1] not in lex.DETERMINERS and words[at] not in lex.DETERMINERS and words[at] not in lex.STOP


def _may_be_verb(words: list[str], at: int, word: str) -> bool:
    if word in lex.AUXILIARIES:
        return True
    if lex.known(word) not in lex.VERBS and word not in lex.PAST:
        return False
    if at == 0:
        return not _INFLECTED.search(word)
    if words[at - 1] in lex.DETERMINERS:
        return False
    plain = any(own in words[:at] for own in ("i", "we", "user", "they")) or all(w in lex.ADVERBS for w in words[:at])
    return plain or word in lex.PAST or bool(_INFLECTED.search(word))


def _participle(word: str, before: list[str]) -> bool:
    """Whether a word goes on with a verb phrase: any form after "do" or "can", a participle after "be" or "have"."""
    if word in lex.STOP:
        return False
    if not any(auxiliary in lex.BE_OR_HAVE for auxiliary in before):
        return lex.known(word) in lex.VERBS
    if word in lex.NOUNS_IN_ING:
        return False
    return word in lex.PARTICIPLES or (len(word) > _SHORT and word.endswith(("ed", "ing")))


def _subject(words: list[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the owner and what of theirs; a request and "I" are about the self."""
    if not [word for word in words if word not in lex.ADVERBS]:
        return frozenset((SELF,)), frozenset()
    if "'s" in words:
        cut = len(words) - 1 - words[::-1].index("'s")
        return _who(words[:cut]), _what(words[cut + 1 :])
    mine = next((at for at, word in enumerate(words) if word in {"my", "our"}), None)
    if mine is not None:
        return frozenset((SELF,)), _what(words[mine + 1 :])
    return _who(words), frozenset()


def _who(words: list[str]) -> frozenset[str]:
    found = {SELF if word in lex.SELF else lex.known(word) for word in words if word in lex.SELF or _means(word)}
    return frozenset(found - {SELF}) if len(found) > 1 and "my" in words else frozenset(found)


def _what(words: list[str]) -> frozenset[str]:
    return frozenset(lex.known(word) for word in words if _means(word))


def _means(word: str) -> bool:
    return word not in lex.STOP and word not in lex.NOT


def _relation(relation: str, words: list[str], main: int) -> str:
    """Return the verb that is meant: "be" for its forms, "like" for every liking and dislike."""
    if main >= len(words):
        return ""
    if relation in lex.LIKES | lex.DISLIKES:
        return "like"
    if words[main] in {"am", "is", "are", "was", "were", "be", "been", "being"}:
        return "be"
    return "have" if words[main] in {"has", "have", "had", "got", "get"} else relation


def _link(rest: list[str]) -> str:
    """Return the preposition right after the verb, or after an adverb: "moved back to", not "good at"."""
    for word in rest[:2]:
        if word in lex.PREPOSITIONS:
            return word
        if word not in lex.ADVERBS and word not in {"back", "over", "house", "home", "me", "us"}:
            break
    return ""


def _but_months(words: list[str]) -> list[str]:
    timed = lex.PREPOSITIONS | {"since", "last", "this", "next", "early", "late", "until"}
    return [
        word
        for at, word in enumerate(words)
        if word != "may" or not at or not (words[at - 1] in timed or words[at - 1].isdigit())
    ]


def _thing(subject: list[str], names: frozenset[str]) -> bool:
    """Whether a subject describes a thing ("the tech lead", "memory limit") rather than names a person."""
    meant = [word for word in subject if _means(word)]
    if not meant or any(word in lex.SELF for word in subject):
        return False
    return subject[0] in {"the", "our"} or (len(meant) > 1 and not names.issuperset(meant[1:]))


def _numbers(words: list[str], names: frozenset[str], verb: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return the numbers that name something (PR 260, ABC-12) and those that measure."""
    identifiers: set[str] = set()
    numbers: set[str] = set()
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        if _CODE.fullmatch(word):
            identifiers.add(word.lstrip("#"))
        elif _NUMBER.fullmatch(word) or word in lex.NUMBER_WORDS:
            named = 0 < at < verb or before in lex.IDENTIFIED or (before in names and before not in lex.MONTHS)
            (identifiers if named else numbers).add(lex.NUMBER_WORDS.get(word, word))
    return frozenset(identifiers), frozenset(numbers)


def _periods(words: list[str]) -> frozenset[str]:
    """Return the spans of time that bound what is said: years, and months and seasons after "in" or "last"."""
    found = set()
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        bounded = before in {"in", "last", "since", "during", "until", "early", "late"}
        if _YEAR.fullmatch(word) or (bounded and word in lex.MONTHS | lex.SEASONS):
            found.add(word if word != "week" else " ".join(words[at : at + 2]))
    return frozenset(found)


def _former(words: list[str]) -> frozenset[str]:
    """Return the stems of the former state that a change names: "from A to B", "replaced A with B", "left A"."""
    found: set[str] = set()
    for at, word in enumerate(words):
        if word in lex.AFTER_CHANGE or (word == "of" and words[at - 1] == "instead"):
            end = next(
                (to for to in range(at + 1, len(words)) if words[to] in {"to", "with", "and", "onto"}), len(words)
            )
            found.update(lex.known(other) for other in words[at + 1 : end] if _means(other))
    return frozenset(found)


def _negative(words: list[str], relation: str) -> bool:
    odd = sum(word in lex.NOT for word in words) % 2 == 1
    return odd != (relation in lex.DISLIKES)


def _past(words: list[str], verb: int, main: int) -> bool:
    if verb >= len(words):
        return False
    return words[verb] in lex.PAST or (main == verb and words[verb].endswith("ed"))


def _main_verbs(words: list[str], stems: list[str], main: int) -> list[str]:
    """Return the main verb, and what follows each "and" after it."""
    return stems[main : main + 1] + [
        stems[at] for at in range(main + 2, len(words)) if words[at - 1] in {"and", "then", "got", "was"}
    ]


def _ends(words: list[str], verbs: list[str]) -> bool:
    line = f" {' '.join(words)} "
    if any(
        f" {phrase} " in line
        for phrase in (
            "no longer",
            "anymore",
            "gave up",
            "broke up",
            "turned off",
            "last day",
            "used to",
            "rid of",
            "gave away",
        )
    ):
        return True
    return any(found in lex.ENDING_VERBS for found in verbs)

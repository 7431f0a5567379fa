"""Who a clause is about and what it says of them, as far as words in their order tell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from gateways.models.judges import lexicon as judged
from gateways.service.describing.lexicon import AUXILIARIES, FORMER, NEGATIONS, SILENT, VERB_FORMS
from gateways.service.describing.words import SELF_WORD, Word

__all__ = ["Clause", "clause", "finite", "verb_at"]

_NO_VERB_AFTER = (judged.DETERMINERS | judged.PREPOSITIONS) - frozenset({"that"})
_FINITE = frozenset("am is are was were has have had do does did will would can could must should may might".split())  # noqa: SIM905 -- reads better
#: forms in -ed that nobody mistakes for a participle that goes on with an auxiliary before
_ACTIVE = frozenset("studied worked lived moved joined started graduated played married retired".split())  # noqa: SIM905 -- as above


class Clause(msgspec.Struct, frozen=True):
    """The parts of one statement or description.

    ``subject`` is what stands before the verb, ``owners`` the possessors in it or in a description without a verb,
    ``content`` every word that says something.
    """

    words: tuple[Word, ...]
    subject: tuple[Word, ...]
    owners: tuple[Word, ...]
    content: tuple[Word, ...]
    has_verb: bool
    negative: bool
    former: bool


def clause(words: Sequence[Word], *, silent: frozenset[str] = frozenset()) -> Clause:
    """Return the clause that these words are; ``silent`` words say nothing here beside the function words."""
    verb = verb_at(words)
    subject = [one for one in words[: len(words) if verb is None else verb] if one.word not in silent]
    return Clause(
        words=tuple(words),
        subject=tuple(one for one in subject if _says(one)),
        owners=tuple(_owners(subject)),
        content=tuple(
            one for at, one in enumerate(words) if one.word not in silent and (_says(one) or _switch(words, at))
        ),
        has_verb=verb is not None,
        negative=sum(one.word in NEGATIONS for one in words) % 2 == 1,
        former=_former(words),
    )


def verb_at(words: Sequence[Word]) -> int | None:
    """Return where the first finite verb stands, None without one; 0 for a request or a dropped subject."""
    for at, one in enumerate(words):
        if one.word not in VERB_FORMS or one.identifier is not None or one.name:
            continue
        before, after = words[at - 1] if at else None, words[at + 1] if at + 1 < len(words) else None
        if before is not None and (before.owner or before.word in _NO_VERB_AFTER):
            continue
        if one.word not in AUXILIARIES and after is not None and after.word in _FINITE:
            continue
        return at
    return None


def finite(words: Sequence[Word], before: Sequence[Word]) -> bool:
    """Whether these words begin with a verb that has the subject of the clause ``before`` and something after it."""
    at = 0
    while at < len(words) and words[at].word in judged.ADVERBS - {"not"}:
        at += 1
    if at + 1 >= len(words):
        return False
    word = words[at].word
    if word in _FINITE:
        return True
    if word not in VERB_FORMS or words[at].name:
        return False
    verb = verb_at(before)
    if word.endswith("ed") and word not in _ACTIVE and verb is not None and before[verb].word in judged.BE_OR_HAVE:
        return False
    if word.endswith(("s", "ed")) or word in judged.PAST or word in _ACTIVE:
        return True
    # "I live here and work there": without an ending only beside another without one.
    spoken = bool(before) and before[0].word in {SELF_WORD, "you", "they", "we"}
    return spoken and verb is not None and before[verb].word not in AUXILIARIES


def _says(one: Word) -> bool:
    return one.identifier is not None or (
        one.word not in SILENT and one.word not in NEGATIONS and one.word not in FORMER
    )


def _switch(words: Sequence[Word], at: int) -> bool:
    return words[at].word in {"on", "off"} and at == len(words) - 1


def _owners(subject: Sequence[Word]) -> list[Word]:
    found: list[Word] = []
    for at, one in enumerate(subject):
        if one.owner:
            found.extend(_name_before(subject, at))
            found.append(one)
    if not found:
        of = next((at for at, one in enumerate(subject) if one.word == "of"), None)
        found = [one for one in subject[of + 1 :] if _says(one)] if of is not None else []
    return found


def _name_before(subject: Sequence[Word], at: int) -> list[Word]:
    found: list[Word] = []
    while at > 0 and subject[at].name and _same_name(subject[at - 1], subject[at]):
        at -= 1
        if _says(subject[at]):
            found.append(subject[at])
    return found


def _same_name(one: Word, other: Word) -> bool:
    """Whether two words side by side can be one name: nothing but a space is between them."""
    return (one.name or one.opens) and not one.owner and other.start == one.end + 1


def _former(words: Sequence[Word]) -> bool:
    used = any(one.word == "used" and two.word == "to" for one, two in pairwise(words))
    return used or any(one.word in FORMER for one in words)

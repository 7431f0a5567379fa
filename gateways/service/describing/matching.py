"""Whether a memory is the one that a description means: every word accounted for, names and numbers exactly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import msgspec

from gateways.models.judges.lexicon import DETERMINERS, MONTHS, WEEKDAYS
from gateways.service.describing.clauses import Clause, clause, verb_at
from gateways.service.describing.compound import Compound, Place, take_apart
from gateways.service.describing.identifiers import same
from gateways.service.describing.lexicon import AUXILIARIES, LABELS, REQUEST, SAME, stem_of
from gateways.service.describing.words import SELF_WORD, Word, read

__all__ = ["Description", "Fit", "describe", "fit"]

_CALENDAR = frozenset(map(stem_of, MONTHS | WEEKDAYS))
_JOINT = re.compile(r"\b(?:and|or|&)\b|;|,", re.IGNORECASE)
_PAIRED = re.compile(r"[\u0e00-\u0eff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7ff]{2,}")


class Description(msgspec.Struct, frozen=True):
    """What is looked for: the text, its clause, and its statements where it has several."""

    text: str
    whole: Clause
    parts: tuple[Clause, ...]
    speaker: frozenset[str]

    @property
    def identifiers(self) -> tuple[Word, ...]:
        """The identifiers in it."""
        return tuple(one for one in self.whole.words if one.identifier is not None)

    @property
    def purges(self) -> bool:
        """Whether it names identifiers and nothing else than whose and of which sort they are."""
        owners = {one.start for one in self.whole.owners}
        rest = [one for one in self.whole.content if one.identifier is None and one.start not in owners]
        return bool(self.identifiers) and all(one.word in LABELS or one.word == SELF_WORD or one.owner for one in rest)


class Fit(msgspec.Struct, frozen=True):
    """How a memory fits: the parts that are meant (none: all of it), and how much of what it says, in [0, 1].

    Not ``certain``: only a part of it is meant, and it cannot be taken apart.
    """

    score: float
    places: tuple[Place, ...] = ()
    compound: Compound | None = None
    certain: bool = True


def describe(text: str, contact: str = "") -> Description:
    """Return a description as it is compared; a ``contact`` of plain words is who speaks."""
    # One form of each letter: places in a text are then the same for whoever reads it.
    text = unicodedata.normalize("NFC", text)
    speaker = frozenset({contact.casefold()}) if contact.isalpha() else frozenset()
    whole = clause(_as_statement(_without_labels(read(text, speaker=speaker))), silent=REQUEST)
    compound = take_apart(text)
    parts = [clause(read(one.text, speaker=speaker), silent=REQUEST) for one in compound.parts()] if compound else []
    return Description(text, whole, tuple(parts), speaker)


def _without_labels(words: Sequence[Word]) -> list[Word]:
    """Return the words without "number" after "phone", "address" after "email", "date" after "birth"."""
    sorts = {"number": {"phone", "telephone", "mobile", "cell"}, "address": {"email", "mail"}, "date": {"birth"}}
    return [one for at, one in enumerate(words) if not (at and words[at - 1].word in sorts.get(one.word, frozenset()))]


def _as_statement(words: Sequence[Word]) -> list[Word]:
    """Return the words of a question in the order of a statement: "where does Ana live" is "where Ana live"."""
    verb = verb_at(words)
    if verb is None or words[verb].word not in AUXILIARIES or verb + 1 == len(words):
        return list(words)
    asked = verb == 0 or all(one.word in REQUEST for one in words[:verb])
    if not asked:
        return list(words)
    rest = [*words[:verb], *words[verb + 1 :]]
    if verb > 0 or verb_at(rest) is not None:
        return rest
    # "Is Ana vegan" has no other verb: it stands behind whom it is about.
    behind = next((at for at, one in enumerate(rest) if one.word not in DETERMINERS), 0) + 1
    while behind < len(rest) and rest[behind].name and rest[behind - 1].name:
        behind += 1
    return [*rest[:behind], words[verb], *rest[behind:]]


def fit(wanted: Description, text: str, key: str = "") -> Fit | None:
    """Return how a memory with this text and key fits, None when it is not meant."""
    text = unicodedata.normalize("NFC", text)
    compound = take_apart(text)
    if compound is None:
        return _fit_whole(wanted, text, key)
    parts = compound.parts()
    read_parts = [_clause(one.text, wanted) for one in parts]
    named = [wanted.whole]
    scores = _scores(named, read_parts, key)
    if not scores and wanted.parts:
        named = list(wanted.parts)
        scores = _scores(named, read_parts, key)
    if scores is None or not scores:
        loose = _accounted(wanted.whole, _clause(text, wanted), _words_of_key(key, wanted))
        return None if loose is None else Fit(loose, certain=False)
    if len(scores) == len(parts):
        return Fit(sum(scores.values()) / len(parts))
    places = tuple(parts[at].place for at in sorted(scores))
    return Fit(max(scores.values()), places, compound)


def _scores(named: Sequence[Clause], parts: Sequence[Clause], key: str) -> dict[int, float]:
    """Return how the parts fit that are named, none unless each description names one."""
    del key
    found: dict[int, float] = {}
    for one in named:
        fits = {at: score for at, part in enumerate(parts) if (score := _score(one, part, ())) is not None}
        if not fits:
            return {}
        exact = {at: score for at, score in fits.items() if score == 1.0}
        found.update(exact or fits)
    return found


def _fit_whole(wanted: Description, text: str, key: str) -> Fit | None:
    said = _clause(text, wanted)
    keyed = _words_of_key(key, wanted)
    score = _score(wanted.whole, said, keyed)
    cuts = _cuts_a_list(wanted.whole, said, text)
    if score is None:
        loose = _accounted(wanted.whole, said, keyed) if cuts and _among_subjects(wanted.whole, said) else None
        return None if loose is None else Fit(loose, certain=False)
    return Fit(score, certain=not cuts)


def _among_subjects(wanted: Clause, said: Clause) -> bool:
    """Whether a description is about one of several that a statement is about together."""
    together = bool(wanted.subject) and _all_in(wanted.subject, said.subject)
    return together and (wanted.negative, wanted.former) == (said.negative, said.former)


def _clause(text: str, wanted: Description) -> Clause:
    return clause(read(text, speaker=wanted.speaker))


def _words_of_key(key: str, wanted: Description) -> tuple[Word, ...]:
    return tuple(read(re.sub(r"[_-]+", " ", key), speaker=wanted.speaker)) if key else ()


def _score(wanted: Clause, said: Clause, keyed: Sequence[Word]) -> float | None:
    if not wanted.content or wanted.negative != said.negative or wanted.former != said.former:
        return None
    if not _same_subject(wanted, said, keyed):
        return None
    return _accounted(wanted, said, keyed)


def _accounted(wanted: Clause, said: Clause, keyed: Sequence[Word]) -> float | None:
    """Return which share of what is said the description names, None when it asks for something that is not said."""
    named: set[int] = set()
    for one in wanted.content:
        matches = [at for at, other in enumerate(said.words) if _means(one, other)]
        if not matches and not any(_means(one, other) for other in keyed):
            return None
        named.update(matches)
    said_at = {at for at, one in enumerate(said.words) if one in said.content}
    return len(named & said_at) / len(said_at) if said_at else 1.0


def _means(one: Word, other: Word) -> bool:
    """Whether a description's word can be this word of a memory."""
    if one.identifier is not None or other.identifier is not None:
        both = one.identifier is not None and other.identifier is not None
        return both and same(one.identifier, other.identifier)  # type: ignore[arg-type]
    if one.word == other.word:
        return True
    if _PAIRED.fullmatch(one.word):
        return one.word in other.word
    if any(char.isdigit() for char in one.word + other.word):
        return False
    if (one.name or other.name) and one.stem not in _CALENDAR:
        return False
    return one.stem == other.stem or other.stem in SAME.get(one.stem, frozenset())


def _same_subject(wanted: Clause, said: Clause, keyed: Sequence[Word]) -> bool:
    """Whether both are about one: the subject is the subject, and no owner stands between."""
    if wanted.owners:
        about = (*said.subject, *keyed) if said.has_verb else (*said.words, *keyed)
        return _all_in(wanted.owners, about) and _all_in(said.owners, wanted.content, swapped=True)
    if not wanted.has_verb or not wanted.subject:
        return True
    if not said.has_verb:
        return True
    if not said.subject:
        return not any(one.name for one in wanted.subject) or _all_in(wanted.subject, said.words)
    if not _all_in(wanted.subject, said.subject):
        return False
    extra = [one for one in said.subject if not any(_means(other, one) for other in wanted.content)]
    if said.owners and extra:
        return False
    return not any(one.name or any(char.isdigit() for char in one.word) for one in extra)


def _all_in(some: Sequence[Word], others: Sequence[Word], *, swapped: bool = False) -> bool:
    return all(any(_means(two, one) if swapped else _means(one, two) for two in others) for one in some)


def _cuts_a_list(wanted: Clause, said: Clause, text: str) -> bool:
    """Whether the description names what stands on one side of an "and", and not what stands on the other."""
    named = {one.start for one in said.content if any(_means(other, one) for other in wanted.content)}
    for joint in _JOINT.finditer(text):
        before = [one for one in said.content if one.end <= joint.start()]
        after = [one for one in said.content if one.start >= joint.end()]
        if before and after and (before[-1].start in named) != (after[0].start in named):
            return True
    return False

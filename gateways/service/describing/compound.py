"""A memory that says several things, taken apart into statements of their own and put together again without some.

Only what is certain is taken apart: sentences, clauses with a verb each under one subject, and short lists after a
few verbs that go with lists. Everything else stays whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

import msgspec

from gateways.service.describing.clauses import finite, verb_at
from gateways.service.describing.lexicon import AUXILIARIES, NEGATIONS, stem_of
from gateways.service.describing.words import SELF_WORD, Word, read

__all__ = ["Compound", "Part", "Place", "take_apart"]

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|st|no|vs|prof|inc|ltd|e\.g|i\.e|approx|tel|ext)|(?<!\w)\w)\.$", re.IGNORECASE
)
_JOINT = re.compile(r"\s*(?:,\s+(?:and|but)|,|\s(?:and|but))\s+", re.IGNORECASE)
_ITEM_JOINT = re.compile(r"\s*,\s+and\s+|\s*,\s+|\s+and\s+", re.IGNORECASE)
_PRONOUN = re.compile(r"^(?:he|she|it|they)\b", re.IGNORECASE)
_CONTRACTED = re.compile(r"['’](?:m|re|ve|ll|d)\b", re.IGNORECASE)
#: verbs after which a list is one of things apart
_LISTING = frozenset(
    map(
        stem_of,
        [
            "like",
            "love",
            "enjoy",
            "hate",
            "dislike",
            "drink",
            "eat",
            "speak",
            "play",
            "collect",
            "own",
            "know",
            "study",
            "teach",
        ],
    )
)
_PAIRS = frozenset(
    {
        "bread and butter",
        "fish and chips",
        "salt and pepper",
        "rock and roll",
        "gin and tonic",
        "black and white",
        "mac and cheese",
        "macaroni and cheese",
        "trial and error",
        "arts and crafts",
        "ham and eggs",
        "bacon and eggs",
        "cookies and cream",
        "peanut butter and jelly",
        "drum and bass",
        "rhythm and blues",
        "wine and cheese",
    }
)
_ITEM_WORDS = 3
_NO_ITEM = frozenset("with in at on for to from of by or but than as when if while because not without".split())  # noqa: SIM905 -- reads better

#: sentence, clause, item
Place = tuple[int, int, int]


class Part(msgspec.Struct, frozen=True):
    """One statement of a compound, as a text of its own."""

    place: Place
    text: str


class _Clause(msgspec.Struct, frozen=True):
    """``subject`` is its own or the one it goes on with; ``said`` is how it was written, with or without it."""

    subject: str
    said: str
    joint: str
    carried: bool
    head: str = ""
    items: tuple[str, ...] = ()

    def alone(self, item: int | None = None) -> str:
        """Return it as a statement with its subject; with ``item`` only that one of its list."""
        said = self.head + self.items[item] if item is not None and self.items else self.said
        return f"{self.subject} {said}" if self.subject and self.carried else said


class Compound(msgspec.Struct, frozen=True):
    """A text as its sentences' clauses; ``ends`` are the marks after each sentence."""

    sentences: tuple[tuple[_Clause, ...], ...]
    ends: tuple[str, ...]

    def parts(self) -> list[Part]:
        """Return every statement in it."""
        return [
            Part((s, c, i), self._alone(one, i if one.items else None, s))
            for s, clauses in enumerate(self.sentences)
            for c, one in enumerate(clauses)
            for i in range(max(len(one.items), 1))
        ]

    def _alone(self, one: _Clause, item: int | None, sentence: int) -> str:
        return self._named(one.alone(item), sentence)

    def _named(self, said: str, sentence: int) -> str:
        """Return a sentence that begins with a pronoun with whom it is about, who was named first."""
        first = self.sentences[0][0].subject
        if sentence == 0 and said.startswith(first):
            return said
        return _PRONOUN.sub(lambda _: first, said) if first and not _PRONOUN.match(first) else said

    def without(self, gone: Sequence[Place], instead: Mapping[Place, str] | None = None) -> str:
        """Return the text without some of its parts, or with others ``instead`` of them."""
        instead = instead or {}
        sentences = []
        before_gone = False
        for s, clauses in enumerate(self.sentences):
            kept = [
                (one, said) for c, one in enumerate(clauses) if (said := _kept(one, s, c, gone, instead)) is not None
            ]
            if not kept:
                before_gone = True
                continue
            sentences.append(self._joined(kept, clauses, s, named=before_gone) + self.ends[s])
        return " ".join(sentences).rstrip(" ;")

    def instead(self, place: Place, content: str) -> str:
        """Return what a new statement says in the place of a part, with the subject only where it belongs."""
        clauses = self.sentences[place[0]]
        one, content = clauses[place[1]], content.strip().rstrip(".")
        subject = one.subject or clauses[0].subject
        bare = content[len(subject) :].strip() if _begins(content, subject) else content
        if one.carried:
            return bare
        starts = verb_at(read(content)) == 0
        return f"{subject} {content}" if starts and subject else content

    def _joined(
        self, kept: list[tuple[_Clause, str]], clauses: Sequence[_Clause], sentence: int, *, named: bool
    ) -> str:
        first, said = kept[0]
        moved = first is not clauses[0]
        if first.carried and moved and first.subject and not said.startswith(first.subject):
            said = f"{first.subject} {said}"
        if named or moved:
            said = self._named(said, sentence)
        said = said[:1].upper() + said[1:] if clauses[0].said[:1].isupper() else said
        for at, (one, words) in enumerate(kept[1:], 1):
            last = at == len(kept) - 1
            joint = one.joint.strip().strip(",").strip() or "and"
            said += f" {joint} {words}" if last else f", {words}"
        return said


def _begins(content: str, subject: str) -> bool:
    return bool(subject) and f"{content} ".casefold().startswith(f"{subject} ".casefold())


def _kept(one: _Clause, s: int, c: int, gone: Sequence[Place], instead: Mapping[Place, str]) -> str | None:
    """Return what is left of a clause as it stands among others, None for nothing."""
    if not one.items:
        return instead.get((s, c, 0), None if (s, c, 0) in gone else one.said)
    items: list[str] = []
    added: list[str] = []
    for i, item in enumerate(one.items):
        if (new := instead.get((s, c, i))) is not None:
            (items if new.startswith(one.head) else added).append(new.removeprefix(one.head))
        elif (s, c, i) not in gone:
            items.append(item)
    said = [one.head + _listed(items)] if items else []
    return " and ".join([*said, *added]) or None


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def take_apart(text: str) -> Compound | None:
    """Return the statements of a text, None where it says one thing or cannot be taken apart with certainty."""
    pieces, ends = [], []
    text = unicodedata.normalize("NFC", text)
    for sentence in _sentences(text.strip()):
        said = sentence.rstrip(".!;")
        pieces.append(tuple(_clauses(said)))
        ends.append(sentence[len(said) :])
    found = Compound(tuple(pieces), tuple(ends))
    return found if len(found.parts()) > 1 else None


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for piece in _SENTENCE_END.split(text):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] += f" {piece}"
        elif piece:
            found.append(piece)
    return found


def _clauses(sentence: str) -> list[_Clause]:
    """Return the clauses of one sentence; one where another subject, or none, could be meant."""
    words = read(sentence)
    verb = verb_at(words)
    if verb is None or "?" in sentence:
        return [_Clause("", sentence, "", carried=False)]
    subject = sentence[: words[verb].start].strip()
    joints = [joint for joint in _JOINT.finditer(sentence) if joint.start() > words[verb].end]
    cuts = _cuts(sentence, words, joints, verb)
    if _CONTRACTED.search(subject) or _JOINT.search(f"{subject} "):
        cuts = [cut for cut in cuts if not cut[1]]
    return _built(sentence, subject, cuts, words[verb])


def _built(sentence: str, subject: str, cuts: Sequence[tuple[re.Match[str], bool]], verb: Word) -> list[_Clause]:
    clauses: list[_Clause] = []
    start, joint, carried = 0, "", True
    for match, shares in [*cuts, (None, True)]:
        end = len(sentence) if match is None else match.start()
        said = sentence[start:end].strip()
        if not clauses:
            clauses.append(_listing(subject, sentence[verb.start : end].strip(), said, ""))
        else:
            clauses.append(_listing(subject if carried else "", said, said, joint, carried=carried))
        if match is not None:
            start, joint, carried = match.end(), match.group(), shares
    return clauses


def _listing(subject: str, predicate: str, said: str, joint: str, *, carried: bool = False) -> _Clause:
    """Return a clause, with its list where it ends in one of things apart."""
    whole = _Clause(subject, said, joint, carried=carried)
    words = read(said)
    verb = verb_at(words)
    if verb is None or any(one.word in NEGATIONS for one in words) or words[verb].stem not in _LISTING:
        return whole
    begin = words[verb].end
    items = _ITEM_JOINT.split(said[begin:].strip())
    if len(items) < 2 or not all(_is_item(item) for item in items) or said[begin:].strip().casefold() in _PAIRS:  # noqa: PLR2004 -- a list
        return whole
    capitals = [item for item in items if item[:1].isupper()]
    if len(capitals) > 1 and words[verb].stem != stem_of("speak"):
        return whole
    del predicate
    return _Clause(subject, said, joint, carried=carried, head=f"{said[:begin]} ", items=tuple(items))


def _is_item(item: str) -> bool:
    words = item.split()
    return 0 < len(words) <= _ITEM_WORDS and not any(word.casefold() in _NO_ITEM for word in words)


def _cuts(
    sentence: str, words: Sequence[Word], joints: Sequence[re.Match[str]], verb: int
) -> list[tuple[re.Match[str], bool]]:
    """Return the joints between clauses, with whether the next one goes on with the subject of the first."""
    found: list[tuple[re.Match[str], bool]] = []
    first = [one for one in words if one.end <= (joints[0].start() if joints else 0)]
    if not first or len(first) <= verb + 1:
        return []
    conjunctions = False
    for at, joint in enumerate(joints):
        stop = joints[at + 1].start() if at + 1 < len(joints) else len(sentence)
        right = [one for one in words if joint.end() <= one.start < stop]
        shares = finite(right, first)
        if shares or _own_subject(right):
            found.append((joint, shares))
            conjunctions = conjunctions or bool(joint.group().strip(" ,"))
    return found if conjunctions else []


def _own_subject(words: Sequence[Word]) -> bool:
    verb = verb_at(words)
    if not verb or len(words) <= verb + 1 or verb > _ITEM_WORDS:
        return False
    head = words[0]
    person = head.word in {SELF_WORD, "he", "she", "they", "it"} or head.name or head.owner
    known = person or head.word in {"the", "my", "our", "his", "her", "their"}
    last = words[verb]
    return known and (last.word in AUXILIARIES or last.word.endswith(("s", "ed")) or head.word in {SELF_WORD, "they"})

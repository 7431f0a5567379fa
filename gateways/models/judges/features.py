"""Two statements held against each other: what the heuristic judge's head weighs."""

from __future__ import annotations

import msgspec
from whoosh.lang.porter2 import stem

from domain.ports import Statement
from domain.text import fold_key
from gateways.models.judges import lexicon as lex
from gateways.models.judges.frames import SELF, Frame, frame

__all__ = ["NAMES", "Compared", "compare"]

NAMES = (
    "cosine",
    "overlap",
    "same subject",
    "same attribute",
    "update",
    "number",
    "change",
    "end",
    "flip",
    "restates",
    "rival",
    "several",
    "identifiers differ",
    "periods differ",
    "same key",
    "other key",
)


class Compared(msgspec.Struct, frozen=True):
    """The features in the order of `NAMES`, and whether one of them ties both to one attribute of one subject."""

    values: tuple[float, ...]
    tied: bool


def compare(new: Statement, old: Statement, *, cosine: float) -> Compared:
    """Return the features of a pair; ``cosine`` is that of the two texts."""
    return _Pair(new, old).compared(cosine)


class _Pair:
    """The frames of a pair and what they share."""

    def __init__(self, new: Statement, old: Statement) -> None:
        self.new, self.old = _aligned(frame(new.text), frame(old.text))
        keys = fold_key(new.key), fold_key(old.key)
        self.same_key = bool(keys[0]) and keys[0] == keys[1]
        self.other_key = all(keys) and keys[0] != keys[1]
        self.same_subject = self._subject()
        self.same_attribute = self._attribute()
        self.identifiers = _apart(self.new.identifiers, self.old.identifiers)
        bounded = self.new.past and self.old.past
        self.periods = bounded and _apart(self.new.periods, self.old.periods)

    def compared(self, cosine: float) -> Compared:
        """Return the features; nothing ties what names different things or different times."""
        unsure = self.new.unsure and not self.old.unsure
        apart = unsure or self.identifiers or self.periods or (self.other_key and not self._restates())
        found = {
            "update": self._update(),
            "number": self._number(),
            "change": self._change(),
            "end": self._end(),
            "flip": self._flip(),
            "restates": self._restates(),
        }
        values = {
            "cosine": cosine,
            "overlap": _share(self.new.content, self.old.content),
            "same subject": self.same_subject,
            "same attribute": self.same_attribute,
            "rival": self._rival(),
            "several": self._several(),
            "identifiers differ": self.identifiers,
            "periods differ": self.periods,
            "same key": self.same_key,
            "other key": self.other_key,
            **{name: holds and not apart for name, holds in found.items()},
        }
        tied = not apart and (any(found.values()) or (self.same_key and self.same_subject))
        return Compared(tuple(float(values[name]) for name in NAMES), tied)

    def _subject(self) -> bool:
        """Whether both are about one owner; "I changed my bank" is about the owner's bank as well."""
        new, old = self.new, self.old
        if not _one(new.owner, old.owner):
            return False
        if new.attribute == old.attribute or _one(new.attribute, old.attribute):
            return True
        attribute, other = (old.attribute, new) if old.attribute else (new.attribute, old)
        return not (new.attribute and old.attribute) and attribute <= other.content

    def _attribute(self) -> bool:
        new, old = self.new, self.old
        if new.relation not in {old.relation, f"re{old.relation}"}:
            return bool(old.attribute) and old.attribute <= new.content and _one(new.owner, old.owner)
        alike = new.link == old.link or {new.link, old.link} <= {"in", "on", "at"}
        if new.relation == "be" and not alike:
            return bool(new.numbers and old.numbers)
        return alike or not (new.link and old.link)

    def _update(self) -> bool:
        """Whether one attribute of which there is one at a time has another value."""
        if not (self.same_subject and self.same_attribute) or self._several() or self._restates():
            return False
        new, old = set(self.new.value), set(self.old.value)
        if not (new - old and old - new):
            return False
        return self._single() or _kin(self.new, self.old)

    def _single(self) -> bool:
        new, old = self.new, self.old
        if new.relation == "be" and new.indefinite != old.indefinite:
            return False  # "red" and "a Fiat" are not values of one attribute
        if new.attribute or old.attribute:
            return True
        if new.relation == "be":
            qualities = lex.QUALITIES & {*new.value, *old.value}
            return (old.thing or bool(old.link)) and not (new.negative or old.negative or qualities)
        return _has_one(new, old) or bool(new.content & old.content & {stem("favourite")})

    def _number(self) -> bool:
        """Whether the same is said with another measure."""
        new, old = self.new, self.old
        if not (self.same_subject and _apart(new.numbers, old.numbers)):
            return False
        rest = new.content - new.numbers, old.content - old.numbers
        return _share(*rest) >= 0.6 and not new.past  # noqa: PLR2004 -- most of what is not a number is the same

    def _change(self) -> bool:
        """Whether the new statement says that something changed, and the old one says what it was before."""
        new, old = self.new, self.old
        if new.former & (set(old.value) | old.attribute | old.owner) and (self._near() or new.changes):
            return True
        if new.changes and old.thing and old.relation == "be" and old.owner <= set(new.value):
            return True
        if not self.same_subject and not (new.changes and _one(new.owner, old.owner)):
            return False
        if new.changes:
            if old.changes:
                return new.relation in lex.MOVES and new.link == old.link == "to"
            described = old.relation == "be" and old.thing
            return self.same_attribute or bool(old.attribute) or described or _goes_to(new, old)
        return new.changes_softly and self.same_attribute and not self._several()

    def _near(self) -> bool:
        return _one(self.new.owner, self.old.owner) or SELF in self.new.owner

    def _end(self) -> bool:
        """Whether the new statement ends what the old one says."""
        new, old = self.new, self.old
        if not new.ends or not _one(new.owner, old.owner) or old.ends:
            return False
        if not new.value and new.relation in lex.ENDING_VERBS | lex.CHANGE_VERBS:
            return self.same_subject and old.thing
        mattering = set(old.value) - new.numbers or old.content
        return 2 * len(mattering & new.content) >= len(mattering) or old.relation in new.content

    def _flip(self) -> bool:
        """Whether the same is now affirmed that was denied, liked that was disliked, on that was off."""
        new, old = self.new, self.old
        if not self.same_subject:
            return False
        added, gone = new.content - old.content, old.content - new.content
        if new.negative != old.negative:
            likings = lex.LIKES | lex.DISLIKES
            rest = (new.content - likings, old.content - likings)
            return bool(rest[1]) and (rest[0] == rest[1] or _share(*rest) >= 0.75)  # noqa: PLR2004 -- nearly all
        opposed = any(lex.OPPOSITES.get(one) in gone for one in added) or any(
            lex.OPPOSITES.get(one) in added for one in gone
        )
        ends = {new.words[-1:], old.words[-1:]} == {("on",), ("off",)}
        return (opposed or ends) and len(added) <= 1 and len(gone) <= 1

    def _restates(self) -> bool:
        """Whether the new statement says all that the old one says."""
        new, old = self.new, self.old
        if new.negative != old.negative or not old.content or not _one(new.owner, old.owner):
            return False
        core = old.content - lex.LIKES if new.relation == old.relation == "like" else old.content
        if new.ends != old.ends or new.changes != old.changes or (new.attribute and not new.attribute & old.content):
            return False
        return bool(core) and core <= new.content and not (old.numbers - new.numbers)

    def _rival(self) -> bool:
        new, old = self.new, self.old
        same = bool(old.value) and set(new.value) == set(old.value)
        return same and new.definite and old.definite and new.relation == old.relation and not self.same_subject

    def _several(self) -> bool:
        """Whether a subject may have several of what is said: brothers, dogs, drinks that are liked."""
        new, old = self.new, self.old
        heads = new.attribute & old.attribute
        if heads and (old.relation == "be" or new.link or _has_one(new, old)):
            return bool(heads & lex.MANY)
        if self.same_key:
            return False
        if new.past and old.past:
            return True
        return old.relation != "be" and not _has_one(new, old) and not old.content & {stem("favourite")}


def _aligned(new: Frame, old: Frame) -> tuple[Frame, Frame]:
    """Return both with "Lena is the tech lead" turned into "the tech lead is Lena" where one is put so."""
    if not _one(new.owner, old.owner):
        for left, right in ((_turned(new), old), (new, _turned(old))):
            if left is not None and right is not None and _one(left.owner, right.owner):
                return left, right
    return new, old


def _turned(one: Frame) -> Frame | None:
    if one.relation != "be" or not one.definite or not one.value or one.attribute:
        return None
    mine = next((word for word in one.words if word in {"my", "our"}), None)
    value = frozenset(one.value)
    owner, attribute = (frozenset((SELF,)), value) if mine else (value, frozenset())
    return msgspec.structs.replace(one, owner=owner, attribute=attribute, value=tuple(one.owner), definite=False)


def _has_one(new: Frame, old: Frame) -> bool:
    """Whether a subject has one value of this relation at a time."""
    return old.relation in lex.SINGLE or {new.link, old.link} <= lex.LINKED.get(old.relation, frozenset())


def _kin(new: Frame, old: Frame) -> bool:
    """Whether two values are of one sort: "senior engineer" and "staff engineer", vegan and vegetarian."""
    if new.relation != "be" or new.link != old.link:
        return False
    if new.value[-1:] == old.value[-1:] and not old.link:
        return True
    groups = ({lex.STATES[word] for word in one.value if word in lex.STATES} for one in (new, old))
    return bool(set.intersection(*groups))


def _goes_to(new: Frame, old: Frame) -> bool:
    """Whether a change leads to what the old statement was about: a place, a time, a team."""
    moving = new.relation in lex.MOVES and old.relation in lex.STAYS and new.link in {"to", "from", "into", "off", ""}
    moving = moving and (bool(new.link) or not new.value)
    return moving or bool(set(new.value) & set(old.value))


def _one(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether two sets of words can name one thing: the same, or the longer name of it."""
    return new == old or (bool(new and old) and (new <= old or old <= new) and SELF not in new ^ old)


def _apart(new: frozenset[str], old: frozenset[str]) -> bool:
    return bool(new and old) and not new & old


def _share(new: frozenset[str], old: frozenset[str]) -> float:
    return len(new & old) / len(new | old) if new | old else 1.0

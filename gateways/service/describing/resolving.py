"""From a description to the memories it means: by a key, by an identifier, by text, in this order.

Nothing is decided by likeness: views only propose where there is much to read, and what is meant is decided word by
word. What fits several equally well, or only a part that cannot be taken out, is refused with the candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from domain.errors import InvalidInputError, NotFoundError
from domain.text import fold_content, fold_key
from gateways.service.describing.compound import Compound, Place, take_apart
from gateways.service.describing.identifiers import find_identifiers, may_hold, same
from gateways.service.describing.lexicon import REQUEST
from gateways.service.describing.matching import Description, Fit, fit
from projections.ledger import Said, Stated

__all__ = ["Target", "by_identifier", "by_key", "by_text", "holding"]

_SHOWN_CANDIDATES = 10
_SHOWN_CHARS = 80
_EXACT = 1.0


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A version that is meant and why; ``places`` are the parts of its ``compound`` that are, none for all of it."""

    stated: Stated
    by: Literal["key", "identifier", "text"]
    form: str = ""
    score: float = _EXACT
    compound: Compound | None = None
    places: tuple[Place, ...] = ()
    certain: bool = True

    @property
    def left(self) -> str:
        """What it goes on saying, empty where all of it is meant."""
        return self.compound.without(self.places) if self.compound is not None and self.places else ""


def by_key(wanted: Description, stated: Iterable[Stated]) -> Target | None:
    """Return the newest version whose key the description is, in whatever form a key is written."""
    plain = [
        one for one in wanted.whole.words if one.word not in REQUEST and one.word not in {"the", "my", "our", "key"}
    ]
    written = " ".join(wanted.text[one.start : one.end] for one in plain)
    keys = {fold_key(wanted.text), fold_key(written)} - {""}
    return next((Target(stated=one, by="key") for one in stated if one.folded_key in keys), None)


def by_identifier(wanted: Description, stated: Iterable[Stated]) -> list[Target]:
    """Return every version that holds one of the identifiers, with the part that does where it can be taken out."""
    return [found for one in stated if (found := _holder(wanted, one)) is not None]


def _holder(wanted: Description, one: Stated) -> Target | None:
    form = _form(wanted, one.text)
    if not form:
        return None
    compound = take_apart(one.text)
    parts = compound.parts() if compound is not None else []
    places = tuple(part.place for part in parts if _form(wanted, part.text))
    if compound is None or not places or len(places) == len(parts) or _form(wanted, compound.without(places)):
        return Target(stated=one, by="identifier", form=form)
    return Target(stated=one, by="identifier", form=form, compound=compound, places=places)


def _form(wanted: Description, text: str) -> str:
    """Return the form of the first wanted identifier that a text holds, empty without one."""
    asked = [one.identifier for one in wanted.identifiers if one.identifier is not None]
    asked = [one for one in asked if may_hold(text, one)]
    found = find_identifiers(text) if asked else []
    return next((other.form for one in asked for other in found if same(one, other)), "")


def holding(wanted: Description, said: Iterable[Said]) -> list[str]:
    """Return the messages that hold one of the identifiers."""
    return [one.id for one in said if _form(wanted, one.text)]


def by_text(wanted: Description, stated: Sequence[Stated], *, several: bool) -> list[Target]:
    """Return the version that the text means, or with ``several`` all that fit.

    Equal statements count as one. Raises NotFoundError, or InvalidInputError with the candidates where several fit
    equally well or only a part is meant that cannot be taken out with certainty.
    """
    fitting = [_target(one, found) for one in stated if (found := fit(wanted, one.text, one.folded_key)) is not None]
    if not fitting:
        raise NotFoundError(
            "no memory fits the description",
            expected="words, names and numbers that a memory of this scope has",
            found=repr(wanted.text[:_SHOWN_CHARS]),
        )
    certain = [one for one in fitting if one.certain]
    meant = certain if several else _meant(wanted, certain)
    if len(certain) < len(fitting) and (several or not meant):
        raise _unclear("a memory says more than that and cannot be taken apart with certainty", fitting, "its id")
    if not meant:
        raise _unclear("several memories fit the description", fitting, "its id, more words, or all=true")
    return meant


def _target(one: Stated, found: Fit) -> Target:
    return Target(
        stated=one,
        by="text",
        score=round(found.score, 3),
        compound=found.compound,
        places=found.places,
        certain=found.certain,
    )


def _meant(wanted: Description, fitting: Sequence[Target]) -> list[Target]:
    """Return what is meant: the one that says just this, else the only one; nothing where it is not clear."""
    literal = [one for one in fitting if fold_content(one.stated.text) == fold_content(wanted.text)]
    exact = [one for one in fitting if one.score >= _EXACT]
    for group in (literal, exact, fitting):
        if group:
            return list(group) if _alike(group) else []
    return []


def _alike(group: Sequence[Target]) -> bool:
    return len({(fold_content(one.stated.text), one.places) for one in group}) == 1


def _unclear(message: str, fitting: Collection[Target], by: str) -> InvalidInputError:
    shown = [f"{one.stated.id} {_short(one.stated.text)!r}" for one in fitting]
    more = len(shown) - _SHOWN_CANDIDATES
    listed = "; ".join(shown[:_SHOWN_CANDIDATES]) + (f"; {more} more" if more > 0 else "")
    return InvalidInputError(message, expected=f"one of these by {by}", found=listed)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"

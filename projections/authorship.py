"""Who would have said it: a question in the first person asks for the asker's own words, a name for that speaker's.

The words of the first person were measured in English only (see the README's decisions); other languages have their
most certain ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from projections.ledger import LiveItem

__all__ = ["author_factor"]

_FIRST_PERSON = re.compile(
    r"(?<!\w)(?:i|i['’](?:m|ve|d|ll)|my|me|mine|we|we['’](?:re|ve|d|ll)|our|ours|us"
    r"|ich|mein|meine[mnrs]?|mir|mich|wir|unser\w*|je|j['’]\w+|mon|moi|nous|notre|nos"
    r"|yo|mi|mis|nosotr[oa]s|nuestr[oa]s?|io|mio|mia|eu|meu|minha)(?!\w)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w+(?:[-'’]\w+)*")


def author_factor(
    query: str, items: Iterable[LiveItem], *, other_role: float, other_speaker: float
) -> Callable[[LiveItem], float]:
    """Return the factor of a message's evidence, in (0, 1]; memories and messages of the right author keep all of it.

    ``items`` are what was found: only names among them can be named.
    """
    words = {word.casefold() for word in _WORDS.findall(query)}
    words |= {word.removesuffix("'s").removesuffix("’s") for word in words}
    named = {item.name for item in items if item.name and _is_named(item.name, words)}
    first_person = bool(_FIRST_PERSON.search(query))

    def factor(item: LiveItem) -> float:
        if item.kind != "message":
            return 1.0
        own = 1.0 if not first_person or item.role == "user" else other_role
        return own * (1.0 if not named or item.name in named else other_speaker)

    return factor


def _is_named(name: str, words: set[str]) -> bool:
    return any(part.casefold() in words for part in _WORDS.findall(name))

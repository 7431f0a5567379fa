"""Who would have said it: a question asks for the asker's own words, a name for that speaker's.

What a program answered is what somebody wants to hear again only where the question says so ("you recommended").
The words of the first and second person were measured in English only (see the README's decisions); of the first,
other languages have their most certain ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from projections.ledger import LiveItem

__all__ = ["FIRST_PERSON", "author_factor"]

FIRST_PERSON = re.compile(
    r"(?<!\w)(?:i|i['’](?:m|ve|d|ll)|my|me|mine|we|we['’](?:re|ve|d|ll)|our|ours|us"
    r"|ich|mein|meine[mnrs]?|mir|mich|wir|unser\w*|je|j['’]\w+|mon|moi|nous|notre|nos"
    r"|yo|mi|mis|nosotr[oa]s|nuestr[oa]s?|io|mio|mia|eu|meu|minha)(?!\w)",
    re.IGNORECASE,
)
_SECOND_PERSON = re.compile(r"(?<!\w)(?:you|your|yours|you['’](?:re|ve|d|ll))(?!\w)", re.IGNORECASE)
# "What did you recommend", "the hotel that you had mentioned".
_ANSWERED = re.compile(
    r"(?<!\w)(?:(?:did|had|have) you (?:\w+ )?"
    r"(?:say|tell|suggest|recommend|mention|give|list|propose|advise|explain|offer"
    r"|said|told|suggested|recommended|mentioned|given|listed|proposed|advised|explained|offered)"
    r"|you(?:['’]ve|['’]d)? (?:\w+ )?(?:said|told|suggested|recommended|mentioned|gave|given|listed|provided|proposed"
    r"|advised|explained|offered|wrote|described))(?!\w)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w+(?:[-'’]\w+)*")


def author_factor(
    query: str, items: Iterable[LiveItem], *, other_role: float, other_speaker: float
) -> Callable[[LiveItem], float]:
    """Return the factor of a message's evidence, in (0, 1]; memories and messages of the right author keep all of it.

    ``other_role`` is left to whoever is not the user where the question is in the first person, and to an assistant
    without a name unless the question speaks to it. ``items`` are what was found: only names among them can be named.
    """
    words = {word.casefold() for word in _WORDS.findall(query)}
    words |= {word.removesuffix("'s").removesuffix("’s") for word in words}
    named = {item.name for item in items if item.name and _is_named(item.name, words)}
    first_person, addressed = bool(FIRST_PERSON.search(query)), bool(_SECOND_PERSON.search(query))
    answered = bool(_ANSWERED.search(query))

    def factor(item: LiveItem) -> float:
        if item.kind != "message":
            return 1.0
        asked = first_person or not (item.name or addressed)
        own = other_role if asked and not answered and item.role != "user" else 1.0
        return own * (1.0 if not named or item.name in named else other_speaker)

    return factor


def _is_named(name: str, words: set[str]) -> bool:
    return any(part.casefold() in words for part in _WORDS.findall(name))

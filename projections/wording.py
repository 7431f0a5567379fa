"""What a line can answer by its wording: it states something, of whoever said it, with what the question asks for.

In talk among people half of the lines keep it going: greetings, praise, questions back. They share a question's words
and answer nothing. What a line says is measured by its length, its questions counted less; whether it says it of its
speaker by the first person. Lines without a name are what a program and its user write: there every line has its
purpose, and a user's question tells as much as a statement. Words were measured in English only; a line in another
language keeps the order that it has beside others of its language.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from projections.authorship import FIRST_PERSON
from projections.ledger import LiveItem

__all__ = ["stated_share", "wording_factor"]

#: Characters of a line that says all that a line says.
_FULL = 120
#: What a question inside of a line counts less than a statement.
_ASKED = 0.7
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")

# (the question asks for it, a line in small letters has it)
_TIME = (
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|since|recently|weeks?|weekends?|months?|years?|days?"
    r"|mon|tues?|wed|thu|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|june|july|august|september|october|november|december"
    r"|\d{4}|\d{1,2}(?:st|nd|rd|th))\b"
)
_NUMBER = r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|couple|few|several|hundred|thousand)\b"
_ASKED_FOR = tuple(
    (re.compile(question, re.IGNORECASE), re.compile(line))
    for question, line in (
        (r"\b(?:when|(?:what|which) (?:date|day|time|year|month)|how long)\b", _TIME),
        (r"\bhow (?:many|much|often|long|old)\b", _NUMBER),
    )
)


def stated_share(text: str) -> float:
    """Return how much a line says, in [0, 1]: its characters against those of a full line, questions counted less."""
    if len(text) * (1 - _ASKED) >= _FULL:
        return 1.0
    asked = sum(len(one) for one in _SENTENCE.findall(text) if "?" in one) if "?" in text else 0
    return min(1.0, (len(text) - _ASKED * asked) / _FULL)


def wording_factor(query: str, *, empty: float, impersonal: float, unfitting: float) -> Callable[[LiveItem], float]:
    """Return the factor of a message's evidence, in (0, 1]; memories keep all of it.

    ``empty`` is what is left of a named speaker's line that says nothing, ``impersonal`` of one without a word of the
    first person, ``unfitting`` of any line without a time or a number where the query asks for one.
    """
    needed = [line for question, line in _ASKED_FOR if question.search(query)]

    def factor(item: LiveItem) -> float:
        if item.kind != "message":
            return 1.0
        fits = 1.0
        for line in needed:
            fits *= 1.0 if line.search(item.text.lower()) else unfitting
        if not item.name:
            return fits
        personal = 1.0 if FIRST_PERSON.search(item.text) else impersonal
        return fits * personal * (empty + (1 - empty) * stated_share(item.text))

    return factor

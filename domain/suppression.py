"""Suppressions: instructions of the form "stay quiet about X in scope Y", so that an agent learns what not to say."""

from __future__ import annotations

import re

import msgspec

__all__ = ["FACT_TYPE", "Suppression", "suppression_of"]

#: the fact type of a memory that is one
FACT_TYPE = "suppression"

_QUIET = r"(?:stay|keep|be|remain)\s+(?:quiet|silent|mum|discreet)\s+(?:about|on|regarding|concerning)"
_NOT = (
    r"(?:do\s+not|don['’]?t|never|avoid|must\s+not|should\s+not|shouldn['’]?t|please\s+don['’]?t|no)"
    r"(?:\s+ever)?(?:\s+to)?"
)
_SAY = (
    r"(?:mention(?:ing)?|bring(?:ing)?\s+up|talk(?:ing)?\s+about|speak(?:ing)?\s+(?:about|of)|discuss(?:ing)?"
    r"|reveal(?:ing)?|disclos(?:e|ing)|allud(?:e|ing)\s+to|refer(?:ring)?\s+to|rais(?:e|ing))"
)
_TELL = rf"{_NOT}\s+(?:tell(?:ing)?|let(?:ting)?)\s+(?P<whom>[^,;.]{{1,60}}?)\s+(?:know\s+)?about"
_KEEP = (
    r"keep\s+(?P<kept>[^,;.]{1,200}?)\s+(?:secret|private|confidential|to\s+yourself|quiet)"
    r"(?:\s+from\s+(?P<from>[^,;.]{1,60}))?"
)
_SCOPE = (
    r"(?:\s*,?\s+(?:in\s+front\s+of|in\s+(?:the\s+)?scope|when\s+(?:talking|speaking|writing|chatting)\s+(?:to|with|in)"
    r"|around|to|with|towards|near|in|at|on|during|when|while|unless|until)\s+(?P<scope>[^;.]{1,120}?))?"
)
_END = r"\s*[.!]*\s*\Z"
_TEMPLATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_TELL}\s+(?P<subject>[^;.]{{1,200}}?){_END}",
        rf"\b{_KEEP}{_END}",
        rf"\b(?:{_QUIET}|{_NOT}\s+{_SAY})\s+(?P<subject>[^;.]{{1,200}}?){_SCOPE}{_END}",
    )
)


class Suppression(msgspec.Struct, frozen=True):
    """What is not to be spoken of, and where or to whom; an empty scope is everywhere."""

    subject: str
    scope: str = ""


def suppression_of(text: str) -> Suppression | None:
    """Return what an instruction asks to stay quiet about, None where it is about something else.

    English; the last words that could be a scope are taken for it ("about money with Ana": money, Ana).
    """
    for template in _TEMPLATES:
        if match := template.search(text):
            found = match.groupdict()
            subject = found.get("subject") or found.get("kept") or ""
            scope = found.get("scope") or found.get("whom") or found.get("from") or ""
            return Suppression(subject.strip(), scope.strip())
    return None

"""What not to speak of: suppressions that a question, or what it found, is about.

They are handed out beside the results, whatever the question's limits and kinds are: an agent learns what not to say
before it says it. Nothing is left out of the results for their sake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from projections.channels import Plan, Views
from projections.ledger import LiveItem
from projections.ledger.suppressions import Suppressing
from projections.recall_types import RecallHit, RecallQuery
from projections.relevance import matched_share

__all__ = ["suppressing"]

#: a question that is like the suppression itself is about its subject, in other words
_LIKE = 0.45


def suppressing(
    views: Views, planned: Plan, request: RecallQuery, found: Sequence[RecallHit], now: datetime
) -> list[LiveItem]:
    """Return the suppressions in scope that hold for whom was asked about, newest first."""
    standing = views.ledger.suppressing(now=now, scopes=planned.scope.contacts)
    if not standing:
        return []
    alike = {hit.item.id for hit in found if hit.relevance >= _LIKE}
    texts = [request.text, *(hit.item.text for hit in found)]
    return [
        one.item
        for one in standing
        if (one.item.id in alike or _is_about(one, texts)) and _holds(views, planned, one.place)
    ]


def _is_about(one: Suppressing, texts: Iterable[str]) -> bool:
    return any(matched_share(one.subject, text) >= 1.0 for text in texts)


def _holds(views: Views, planned: Plan, place: str) -> bool:
    """Whether a suppression holds here: one that is about another contact than the one asked about does not."""
    linked = {contact.casefold() for contact in planned.scope.linked}
    if not place or not linked or place.casefold() in linked:
        return True
    return not views.ledger.is_contact(place)

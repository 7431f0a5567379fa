"""What not to speak of: suppressions that a question, or what it found, is about.

They are handed out beside the results, whatever the question's limits and kinds are: an agent learns what not to say
before it says it. Nothing is left out of the results for their sake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

import msgspec

from projections.channels import Embed, Plan, Views, plan
from projections.ledger import LiveItem
from projections.ledger.suppressions import Suppressing
from projections.recall_types import RecallHit, RecallQuery, RecallSettings
from projections.relevance import matched_share, vector_relevance

__all__ = ["suppressing", "suppressing_beside"]

#: a question that is like the suppression itself is about its subject, in other words
_LIKE = 0.45
#: instructions looked at for that
_NEAR = 20
_INSTRUCTION = frozenset({"instruction"})


def suppressing(
    views: Views, planned: Plan, request: RecallQuery, found: Sequence[RecallHit], now: datetime
) -> list[LiveItem]:
    """Return the suppressions in scope that hold for whom was asked about, newest first."""
    alike = {hit.item.id for hit in found if hit.relevance >= _LIKE}
    return _standing(views, planned, [request.text, *(hit.item.text for hit in found)], alike, now)


def suppressing_beside(
    views: Views, request: RecallQuery, texts: Iterable[str], embed_query: Embed | None, now: datetime
) -> list[LiveItem]:
    """Return the same for results (``texts``) that something else found; without ``embed_query`` by words alone."""
    asked = msgspec.structs.replace(request, kinds=_INSTRUCTION, channels=frozenset())
    planned, alike = plan(views.ledger, asked, RecallSettings(), now), set[str]()
    if embed_query is not None and views.ledger.suppressing(now=now, scopes=planned.scope.contacts, limit=1):
        vector = embed_query(request.text)
        near = views.vectors.search(vector, _NEAR, kinds=_INSTRUCTION, scopes=planned.scope.memories)
        alike = {hit.id for hit in near if vector_relevance(hit.score) >= _LIKE}
    return _standing(views, planned, [request.text, *texts], alike, now)


def _standing(
    views: Views, planned: Plan, texts: Sequence[str], alike: AbstractSet[str], now: datetime
) -> list[LiveItem]:
    return [
        one.item
        for one in views.ledger.suppressing(now=now, scopes=planned.scope.contacts)
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

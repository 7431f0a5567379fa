"""Evidence of time: a question about a stretch of time asks for what happened or held in it.

What lies in the stretch gains; it is also looked for by its time alone, for such questions ("what did I do last
week?") often have no other words. Nothing is left out for its time here: a date is no more certain than its words.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from projections.channels import Gathered, Plan, Views
from projections.fusion import Candidate
from projections.ledger import LiveItem
from projections.recall_types import RecallQuery

__all__ = ["CHANNELS", "with_periods"]

CHANNELS = ("period", "message_period")


def with_periods(views: Views, planned: Plan, gathered: Gathered, request: RecallQuery, now: datetime) -> Gathered:
    """Return what was gathered with the hits of the period channels, where they are planned.

    Each hit's score is 1; what other channels found comes first, then the latest.
    """
    hits = {name: _hits(views, planned, gathered, request, name, now) for name in CHANNELS if name in planned.channels}
    if not hits:
        return gathered
    items = {**gathered.items, **{item.id: item for found in hits.values() for item in found}}
    channels = [
        msgspec.structs.replace(one, hits=[Candidate(item.id, 1.0) for item in hits[one.channel]])
        if one.channel in hits
        else one
        for one in gathered.channels
    ]
    return msgspec.structs.replace(gathered, channels=channels, items=items)


def _hits(
    views: Views, planned: Plan, gathered: Gathered, request: RecallQuery, name: str, now: datetime
) -> list[LiveItem]:
    messages, depth = name.startswith("message"), planned.channels[name].depth
    found = [
        item
        for item in gathered.items.values()
        if (item.kind == "message") is messages and any(span.holds(item) for span in request.periods)
    ]
    found.sort(key=_latest)
    if len(found) < depth:
        spans = [(span.start, span.end) for span in request.periods]
        known = {item.id for item in found}
        found += _live(
            views, planned, [id_ for id_ in _within(views, planned, spans, name, now) if id_ not in known], now
        )
    return found[:depth]


def _within(views: Views, planned: Plan, spans: list[tuple[datetime, datetime]], name: str, now: datetime) -> list[str]:
    depth = planned.channels[name].depth
    if name.startswith("message"):
        return views.ledger.messages_within(spans, tokens=planned.scope.messages, limit=depth)
    kinds = planned.kinds - {"message"}
    return views.ledger.memories_within(spans, now=now, scopes=planned.scope.contacts, kinds=kinds, limit=depth)


def _live(views: Views, planned: Plan, ids: list[str], now: datetime) -> list[LiveItem]:
    seen = views.ledger.live(ids, now, linked=planned.scope.linked)
    return sorted((item for item in seen.items.values() if planned.scope.allows(item)), key=_latest)


def _latest(item: LiveItem) -> tuple[float, int, str]:
    return -item.happened.timestamp(), -item.position, item.id

"""Dates that a model claims: parsed, and believed only where the cited lines say them."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta

from gateways.extraction.chat.evidence import Evidence, Period, period_of

__all__ = ["claimed_moment"]

_DAY = re.compile(r"(\d{4}(?:-\d{2}){0,2})(?:[T ](\d.*))?")
_LAST = timedelta(days=1) - timedelta(microseconds=1)


def claimed_moment(text: str | None, evidence: Evidence, *, end: bool = False) -> datetime | None:
    """Return the moment an ISO date or time names, when the lines say that date; else None.

    A day, month or year is its beginning, with ``end`` its last microsecond. Without a zone it is in that of who said
    it. A time of day counts when the lines hold its hour, or it is when they were said; else the day alone does.
    """
    match = _DAY.fullmatch((text or "").strip())
    period = period_of(match[1]) if match else None
    if match is None or period is None or not evidence.believes(period):
        return None
    exact = _exact(match[0], evidence) if match[2] else None
    return exact or _bound(period, evidence, end=end)


def _bound(period: Period, evidence: Evidence, *, end: bool) -> datetime:
    start, last = period
    day = datetime.combine(last if end else start, time(), tzinfo=evidence.zone)
    return day + _LAST if end else day


def _exact(text: str, evidence: Evidence) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=evidence.zone)
    said = any(abs(found - moment) < timedelta(minutes=1) for moment in evidence.moments)
    hours = {found.hour, found.hour % 12 or 12}
    return found if said or any(evidence.has_hour(hour) for hour in hours) else None

"""How far the daily passes are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain.upkeep import day_of
from gateways.service.context import Core
from gateways.service.profiles import OpenProfile
from projections.directory import ProfileRecord
from umbriel.upkeep import PassStatus

__all__ = ["pass_status", "passes_of"]


def pass_status(core: Core, records: Sequence[ProfileRecord]) -> list[PassStatus]:
    """Return for each daily pass over how many of these profiles it is done; blocks."""
    if core.daily is None:
        return []
    return [
        _status(name, due, {one.name: one.created_at for one in records}, core.directory.passes(name))
        for name, due in core.daily.due().items()
    ]


def passes_of(core: Core, profile: OpenProfile) -> list[PassStatus]:
    """Return how the last daily passes over one profile went; blocks."""
    if core.daily is None:
        return []
    records = {one.name: one for one in profile.views.ledger.passes() if one.scheduled}
    created_at = core.directory.created_at(profile.name)
    found = []
    for name, due in core.daily.due().items():
        record = records.get(name)
        days = {profile.name: record.day} if record is not None else {}
        one = _status(name, due, {profile.name: created_at} if created_at is not None else {}, days)
        counts = record.counts if record is not None else {}
        found.append(PassStatus(one.name, one.due, one.day, one.done, one.waiting, counts))
    return found


def _status(name: str, due: datetime, created: dict[str, datetime], days: dict[str, str]) -> PassStatus:
    known = {profile: days[profile] for profile in created if profile in days}
    done = sum(day >= day_of(due) for day in known.values())
    concerned = sum(at <= due or known.get(profile, "") >= day_of(due) for profile, at in created.items())
    return PassStatus(name, due, min(known.values(), default=""), done, concerned - done)

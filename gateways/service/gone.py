"""What history and why say of a memory that was erased: who did that and when, and nothing else."""

from __future__ import annotations

from domain.events import KeyDestroyed
from gateways.service.context import Core
from gateways.service.finding import aggregate_of
from gateways.service.profiles import OpenProfile
from umbriel.types import HistoryEvent, Memory, WhyReply

__all__ = ["tombstone"]


async def tombstone(core: Core, opened: OpenProfile, memory: str) -> WhyReply | None:
    """Return the tombstone of a memory that nobody can read any more; None where there is none."""
    entries = await core.events.log.events(aggregate_of(opened, memory))
    gone = [one for one in entries if one.key_id and await core.events.keys.by_id(opened.name, one.key_id) is None]
    if not gone:
        return None
    keys = {one.key_id for one in gone}
    destroyed = [one for one in await core.events.erasures(opened.name) if isinstance(one.data, KeyDestroyed)]
    erasures = [
        one.data.erasure
        for one in destroyed
        if isinstance(one.data, KeyDestroyed) and not keys.isdisjoint((*one.data.keys, *one.data.again))
    ]
    ledger = core.profiles.current(opened).views.ledger
    records = await core.in_thread(lambda: ledger.erasures(erasures))
    if not records:
        return None
    last, show = records[-1], core.positions.show
    events = [
        HistoryEvent(
            topic="profile.erased",
            at=one.at,
            by=one.actor,
            by_type=one.actor_type,
            position=show(one.position),
            memory=memory,
            detail={"target": one.target},
        )
        for one in records
    ]
    shown = Memory(
        id=memory,
        text="",
        kind="",
        status="erased",
        confidence=0.0,
        source="",
        recorded_at=gone[0].recorded_at,
        position=show(last.position),
    )
    return WhyReply(memory=shown, versions=[], events=events, sources=[], position="")

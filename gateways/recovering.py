"""``umbriel recover``: goes on with a log that is not what it was, and puts on record what of it is lost.

The log gets a new incarnation, for positions that clients hold may mean other events now; every view is discarded, for
it may hold what the log does not, and is made again from what is left. Nothing is taken from the log itself.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from domain.envelope import Actor, Envelope
from domain.errors import ConflictError, DamagedError
from domain.events import LogRecovered, LostRange
from domain.sealing import RECOVERIES, touches
from gateways.jetstream.codec import seal as append_of
from gateways.offline import Opened
from gateways.service.examining import Examination, Finding
from gateways.service.integrity import Standing
from gateways.service.witness import WitnessFile
from projections.directory import Directory
from projections.salvage import Known, known_of
from projections.soundness import profile_name, profile_roots, view_positions

__all__ = ["LostItem", "Recovery", "recover", "recovery_of"]

#: things that the views still know, as many as are shown
_SHOWN = 200
#: what of the findings is the log's own, and what position it costs
_COSTS = frozenset({"missing", "body"})


class LostItem(msgspec.Struct, frozen=True):
    """Something whose event is gone, as the views still knew it."""

    profile: str
    position: int
    what: str
    id: str
    text: str


class Recovery(msgspec.Struct, frozen=True):
    """What a recovery records, and why: to be looked at before it is carried out."""

    event: LogRecovered
    reasons: list[str]
    known: list[LostItem]
    #: whether what this directory knows is of another log altogether
    foreign: bool = False
    #: whether it is news to the log; else another service has put it on record
    record: bool = True


def recovery_of(log: Opened, examination: Examination) -> Recovery:
    """Return what is to be recorded after a look at everything; raises ConflictError when nothing is wrong."""
    ours = [one for one in examination.findings if one.check != "view" and one.check not in _NOT_OURS]
    unknown = [one for one in examination.findings if one.check in _NOT_OURS]
    ahead = _ahead(log)
    if not ours and not ahead:
        raise ConflictError(
            "there is nothing to recover; damaged views are made again by themselves",
            expected="a log that lost something",
            found="; ".join(one.text for one in unknown)[:200] or "a log that is as it was written",
        )
    if examination.found > len(examination.findings):
        raise DamagedError(
            "so much is wrong that it cannot be put on record; restore the log from a backup",
            expected=f"at most {len(examination.findings)} findings",
            found=str(examination.found),
        )
    end = log.state.last_position
    lost = _merged([*log.standing.lost, *_lost(ours)])
    new = _without(lost, log.standing.lost)
    named = log.known.incarnation
    elsewhere, foreign = named in log.standing.earlier, named not in {"", log.standing.incarnation}
    seen = end if foreign else max(end, log.known.mark, log.known.seal.position if log.known.seal else 0)
    touched = [] if foreign else _touched(log.data, new, end, max(seen, *ahead.values(), end))
    event = LogRecovered(
        incarnation=secrets.token_hex(4),
        metadata=log.state.incarnation,
        end=end,
        seen=seen if foreign else max(seen, *ahead.values(), end),
        earlier=(*log.standing.earlier, log.standing.incarnation),
        lost=tuple(lost),
        changed=tuple(_merged([*log.standing.changed, *_apart(examination.changed, lost)])),
        profiles=() if foreign else tuple(sorted({one.profile for one in touched} | set(ahead))),
        views=tuple(profile_name(root) for root in profile_roots(log.data)),
    )
    # What another service has put on record already needs no second record: here only the views are of the old log.
    recorded = elsewhere and not new and event.changed == log.standing.changed
    return Recovery(event, [one.text for one in ours], touched, foreign=foreign and not elsewhere, record=not recorded)


def _apart(changed: Iterable[LostRange], lost: Sequence[LostRange]) -> list[LostRange]:
    """Return the stretches that no loss explains."""
    return [one for one in changed if not touches(lost, one.first, one.last)]


#: what a recovery cannot put right: whose seals are believed, a key that is gone, a gap of versions alone
_NOT_OURS = frozenset({"trust", "key", "version"})


def _lost(findings: Iterable[Finding]) -> list[LostRange]:
    return [LostRange(one.position, max(one.position, one.until)) for one in findings if _costs(one)]


def _costs(finding: Finding) -> bool:
    """Whether what is at a position is not what was written there, or nothing."""
    return finding.check in _COSTS or (finding.check == "seal" and bool(finding.position) and not finding.stretch)


def _merged(ranges: Iterable[LostRange]) -> list[LostRange]:
    merged: list[LostRange] = []
    for one in sorted(ranges):
        if merged and one.first <= merged[-1].last + 1:
            merged[-1] = LostRange(merged[-1].first, max(merged[-1].last, one.last))
        else:
            merged.append(one)
    return merged


def _without(ranges: Sequence[LostRange], known: Sequence[LostRange]) -> list[LostRange]:
    return [one for one in ranges if one not in known]


def _ahead(log: Opened) -> dict[str, int]:
    """Return the profiles whose views have seen more than the log holds, and how far."""
    found = {}
    for root in profile_roots(log.data):
        try:
            furthest = max((at.position for at in view_positions(root).values()), default=0)
        except DamagedError:
            continue
        if furthest > log.state.last_position:
            found[profile_name(root)] = furthest
    return found


def _touched(data: Path, lost: Sequence[LostRange], end: int, seen: int) -> list[LostItem]:
    gone = [*lost, LostRange(end + 1, seen)] if seen > end else list(lost)
    items: list[LostItem] = []
    for root in profile_roots(data):
        for one in gone:
            items += [_item(root, known) for known in known_of(root, one.first, one.last, _SHOWN)]
    return sorted(items, key=lambda one: (one.position, one.profile))[:_SHOWN]


def _item(root: Path, known: Known) -> LostItem:
    return LostItem(profile_name(root), known.position, known.what, known.id, known.text)


async def recover(log: Opened, recovery: Recovery) -> Standing:
    """Record it, then discard what was made from the log that was; returns how the log stands now."""
    if recovery.record:
        await _append(log, recovery.event)
    event = (
        recovery.event
        if recovery.record
        else msgspec.structs.replace(recovery.event, incarnation=log.standing.incarnation, earlier=log.standing.earlier)
    )
    await asyncio.to_thread(_discard, log.data, event, foreign=recovery.foreign)
    last = await log.log.last_position()
    return Standing(log.state.name, event.incarnation, last, event.lost, event.changed, event.earlier)


async def _append(log: Opened, event: LogRecovered) -> None:
    own = await log.log.head(RECOVERIES)
    envelope = Envelope(
        originator_id=RECOVERIES,
        originator_version=1 if own is None else own.version + 1,
        event_id=uuid.uuid4().hex,
        recorded_at=datetime.now(UTC),
        actor=Actor("recover", "service"),
        data=event,
    )
    await log.log.append([append_of(envelope, None, expected=0 if own is None else own.position)])


def _discard(data: Path, event: LogRecovered, *, foreign: bool) -> None:
    for root in profile_roots(data):
        shutil.rmtree(root)
    WitnessFile(data).drop()
    if foreign:
        for name in ("directory.sqlite", "directory.sqlite-wal", "directory.sqlite-shm"):
            (data / name).unlink(missing_ok=True)
        return
    directory = Directory(data / "directory.sqlite")
    try:
        directory.begin_again(event.end, event.incarnation)
    finally:
        directory.close()

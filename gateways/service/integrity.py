"""What a start looks at before anything is served: is this the log that was written, as far as a moment tells.

The whole of it is `gateways.service.verifying_log`'s affair. Here: is the log as long as views and seals say, does
the server know of holes, and are the newest seals and what they seal as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from domain.errors import DamagedError, MismatchError
from domain.events import LogRecovered, LostRange, SealMade
from domain.merkle import MerkleRoot
from domain.sealing import Checker, is_lost, leaf_at, seal_hash, seal_problem, touches
from gateways.jetstream.codec import open as open_entry
from gateways.jetstream.log import Log
from gateways.jetstream.seal_keys import TRUSTED, check_signature
from gateways.jetstream.streams import StreamState
from gateways.service.sealing import seal_in
from gateways.service.witness import Witness
from projections.soundness import Standpoint, profile_name, profile_roots, view_positions

__all__ = [
    "Known",
    "Standing",
    "check_newest",
    "check_standing",
    "check_views",
    "last_recovery",
    "standing_of",
    "view_problem",
]

#: profiles whose views are looked at at a start
_PROFILES = 16
#: positions behind the newest seal that a start looks at
_TAIL = 2_000
_WAY_ON = "restore the log, or run `umbriel recover` to go on with what is left"


class Standing(msgspec.Struct, frozen=True):
    """The log as it is called now: its incarnation, how far it reaches, and the losses that are on record."""

    stream: str
    incarnation: str
    last_position: int
    lost: tuple[LostRange, ...] = ()
    #: stretches that are not what was sealed, on record
    changed: tuple[LostRange, ...] = ()
    #: what the incarnation was before recoveries, oldest first
    earlier: tuple[str, ...] = ()

    def is_unlike(self, first: int, last: int) -> bool:
        """Whether it is on record that a stretch is not what was sealed."""
        return touches(self.lost, first, last) or touches(self.changed, first, last)


class Known(msgspec.Struct, frozen=True):
    """What this data directory knows of its log: the incarnation, how far the views got, and the newest seal."""

    incarnation: str = ""
    mark: int = 0
    seal: Witness | None = None


async def last_recovery(log: Log) -> LogRecovered | None:
    """Return the newest recovery on record, None when there was none."""
    entry = await log.newest(LogRecovered.category())
    event = None if entry is None else open_entry(entry, None).data
    return event if isinstance(event, LogRecovered) else None


async def standing_of(log: Log, state: StreamState) -> Standing:
    """Return what the log is called now: a recovery gives it a new incarnation, unless the stream itself has one."""
    recovery = await last_recovery(log)
    if recovery is None:
        return Standing(state.name, state.incarnation, state.last_position)
    incarnation, earlier = recovery.incarnation, recovery.earlier
    if recovery.metadata != state.incarnation:
        incarnation, earlier = state.incarnation, (*recovery.earlier, recovery.incarnation)
    return Standing(state.name, incarnation, state.last_position, recovery.lost, recovery.changed, earlier)


async def check_standing(log: Log, standing: Standing, known: Known) -> None:
    """Raise MismatchError or DamagedError, with the way on, for a log that is not the one this directory knows."""
    if known.incarnation and known.incarnation != standing.incarnation:
        raise MismatchError(
            "this data directory's views were made from another log; give the log its directory back, or run "
            "`umbriel recover` to go on with this one",
            expected=f"incarnation {known.incarnation}",
            found=f"incarnation {standing.incarnation}",
        )
    if known.mark > standing.last_position:
        raise MismatchError(
            f"the log is shorter than what the views have seen; {_WAY_ON}",
            expected=f"at least {known.mark} events",
            found=f"{standing.last_position} events",
        )
    await _check_holes(log, standing)
    if known.seal is not None and known.seal.incarnation == standing.incarnation:
        await _check_witness(log, known.seal)


async def _check_holes(log: Log, standing: Standing) -> None:
    size = await log.size()
    if size.messages == size.last_seq and size.first_seq <= 1:
        return
    before = range(1, size.first_seq) if size.last_seq else range(0)
    holes = [at for at in (*before, *await log.deleted()) if not is_lost(at, standing.lost)]
    if holes:
        raise DamagedError(
            f"messages were removed from the log; {_WAY_ON}",
            expected=f"a message at each of {size.last_seq} positions",
            found=f"none at {_listed(holes)}",
        )


def _listed(positions: Sequence[int], shown: int = 5) -> str:
    named = ", ".join(map(str, positions[:shown]))
    return named if len(positions) <= shown else f"{named} and {len(positions) - shown} more"


async def _check_witness(log: Log, seal: Witness) -> None:
    """Look whether the seal that was made or seen here is still in the log."""
    async for place in log.stretch(seal.position, seal.position):
        found = _seal_hash(place.message.body if place.message else None)
        if found != seal.hash:
            raise DamagedError(
                f"the log does not hold the seal that this data directory knows; {_WAY_ON}",
                expected=f"seal {seal.number} at position {seal.position}",
                found="something else" if place.message else "nothing",
            )


class _SealBody(msgspec.Struct, frozen=True):
    data: SealMade


def _seal_hash(body: bytes | None) -> str:
    try:
        return "" if body is None else seal_hash(msgspec.json.decode(body, type=_SealBody).data)
    except msgspec.DecodeError:
        return ""


async def check_newest(log: Log, standing: Standing, trusted: frozenset[str], check: Checker = check_signature) -> int:
    """Recompute the newest seal and read what is behind it; returns the last position sealed.

    Raises DamagedError naming what is wrong and where.
    """
    entry = await log.newest(SealMade.category())
    if entry is None:
        start = max(1, standing.last_position - _TAIL + 1)
        await _root(log, standing, start, standing.last_position)
        return 0
    seal = seal_in(entry)
    problem = seal_problem(seal, check, trusted)
    if problem and not seal_problem(seal, check, frozenset({seal.public_key})):
        raise MismatchError(
            f"{problem}; when it is another service's of yours, add that key to secrets/{TRUSTED}",
            expected="a seal by a key that is trusted here",
            found=f"seal {seal.number} at {entry.position}",
        )
    if problem:
        raise DamagedError(f"{problem}; {_WAY_ON}", expected="a seal as it was made", found=f"it at {entry.position}")
    root = await _root(log, standing, seal.first, seal.last)
    if root != seal.root and not standing.is_unlike(seal.first, seal.last):
        raise DamagedError(
            f"what was sealed from {seal.first} to {seal.last} is not what the log holds; run `umbriel verify`",
            expected=seal.root,
            found=root,
        )
    await _root(log, standing, max(seal.last + 1, standing.last_position - _TAIL + 1), standing.last_position)
    return seal.last


async def check_views(log: Log, data: Path) -> None:
    """Raise DamagedError when a view stands at an event that the log does not hold there.

    Of the profiles used last: the others are looked at when they are opened. What cannot be read is made again then.
    """
    last = await log.last_position()
    roots = sorted(profile_roots(data), key=lambda root: root.stat().st_mtime, reverse=True)
    for root in roots[:_PROFILES]:
        try:
            standpoints = view_positions(root)
        except DamagedError:
            continue
        for view, at in standpoints.items():
            if problem := await view_problem(log, at, last):
                raise DamagedError(
                    f"the log does not hold what the {view} of {profile_name(root)} were made from; {_WAY_ON}",
                    expected=f"event {at.event_id} at {at.event_position}",
                    found=problem,
                )


async def view_problem(log: Log, at: Standpoint, last: int) -> str:
    """Return what a log that ends at ``last`` has in the place of a view's last event; empty when it is that event."""
    if at.position > last:
        return f"the log's end at {last}, before the view's position {at.position}"
    if not at.event_position or (found := await log.event_id_at(at.event_position)) == at.event_id:
        return ""
    return found or "nothing"


async def _root(log: Log, standing: Standing, first: int, last: int) -> str:
    tree = MerkleRoot()
    async for place in log.stretch(first, last):
        leaf = leaf_at(place.position, place.message, standing.lost)
        if leaf is None:
            raise DamagedError(
                f"a message of the log cannot be read; {_WAY_ON}",
                expected=f"a message at position {place.position}",
                found="none",
            )
        tree.add(leaf)
    return tree.root().hex()

"""Events about the log itself: what it held was sealed, and what of it was lost is on record.

They belong to no profile and hold nothing readable: positions, hashes, names of streams.
"""

from __future__ import annotations

import msgspec

from domain.events.base import Event

__all__ = ["LogRecovered", "LostRange", "SealMade"]


class SealMade(Event, frozen=True):
    """The messages from ``first`` to ``last`` of a stream are these: ``root`` is their Merkle root.

    ``number`` counts seals from 1; ``previous`` is the hash of the seal before, empty for the first one. ``root``,
    ``previous``, ``public_key`` and ``signature`` (Ed25519 over the rest, see `domain.sealing`) are hexadecimal.
    """

    TOPIC = "seal.made"
    stream: str
    number: int
    first: int
    last: int
    root: str
    previous: str
    public_key: str
    signature: str


class LostRange(msgspec.Struct, frozen=True, order=True):
    """Positions from ``first`` to ``last``, both included."""

    first: int
    last: int


class LogRecovered(Event, frozen=True):
    """Somebody looked at a log that is not what it was, and went on with what is left.

    From here on its positions are of ``incarnation``; ``metadata`` is what the stream itself is called, ``earlier``
    what the incarnation was before, oldest first. ``lost`` are positions that hold nothing any more, or something else
    than was written. ``end`` is the last position that was still there, ``seen`` the last one that the views or seals
    had known: what lay between is gone. ``changed`` are stretches that are not what was sealed although each message
    in them can be read. ``profiles`` were touched as far as the views know; ``views`` were made again.
    """

    TOPIC = "recovery.recorded"
    incarnation: str
    metadata: str
    end: int
    seen: int
    earlier: tuple[str, ...] = ()
    lost: tuple[LostRange, ...] = ()
    changed: tuple[LostRange, ...] = ()
    profiles: tuple[str, ...] = ()
    views: tuple[str, ...] = ()

"""A log with seals in it, made by sealers of one's own."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path

from domain.events import LostRange, SealMade
from domain.settings import SealingLimits
from gateways.jetstream.log import Append, Log
from gateways.jetstream.seal_keys import SealKey
from gateways.jetstream.streams import LOG_STREAM
from gateways.service.positions import Positions
from gateways.service.sealing import Sealer, seal_in
from gateways.service.witness import WitnessFile

__all__ = ["INCARNATION", "sealer", "seals_of", "written"]

INCARNATION = "0a0b0c0d"


def written(name: str, version: int = 1, expected: int | None = 0, body: bytes = b"{}") -> Append:
    """An event to append, of an aggregate of profile ``p``."""
    now = datetime.now(UTC)
    return Append(f"p.memory.{name}", version, "memory.remembered", 1, uuid.uuid4().hex, now, "", body, expected)


def sealer(
    log: Log, data: Path, *, messages: int = 1000, seed: bytes = bytes(32), lost: tuple[LostRange, ...] = ()
) -> Sealer:
    """A sealer over a log, with a key that is the same every time."""
    limits = SealingLimits(messages=messages, seconds=0.05)
    return Sealer(log, SealKey(seed), Positions(LOG_STREAM, INCARNATION), WitnessFile(data), limits, lost)


async def seals_of(log: Log) -> list[SealMade]:
    """Every seal of a log, in order."""
    return [seal_in(entry) for entry in await log.read(0, 100_000) if entry.topic == SealMade.TOPIC]

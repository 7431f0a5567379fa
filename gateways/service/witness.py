"""The newest seal as this data directory knows it: a small file outside JetStream."""

from __future__ import annotations

from pathlib import Path

import msgspec

from domain.events import SealMade
from domain.sealing import seal_hash
from projections.manifest import replace_file

__all__ = ["Witness", "WitnessFile"]


class Witness(msgspec.Struct, frozen=True):
    """A seal that was in the log: which one, its hash, the last position it seals, and where it lay."""

    incarnation: str
    number: int
    hash: str
    last: int
    position: int


class WitnessFile:
    """Keeps the newest seal; a log that no longer has it was shortened or exchanged, whatever else is deleted."""

    def __init__(self, data: Path) -> None:
        self._path = data / "sealed.json"

    def read(self) -> Witness | None:
        """Return what is kept; None without it. A file that cannot be read bears witness of nothing."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Witness)
        except (OSError, msgspec.DecodeError):
            return None

    def keep(self, incarnation: str, seal: SealMade, position: int) -> None:
        """Keep a seal instead of the one before, durably."""
        kept = Witness(incarnation, seal.number, seal_hash(seal), seal.last, position)
        replace_file(self._path, msgspec.json.encode(kept))

    def drop(self) -> None:
        """Forget the seal: its loss is on record in the log."""
        self._path.unlink(missing_ok=True)

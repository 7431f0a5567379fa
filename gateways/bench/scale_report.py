"""What a scale run found: figures by size, how a profile opens among many, and ratios to what the same run measured."""

from __future__ import annotations

import msgspec

from gateways.bench.speed_report import Figure

__all__ = ["ProfilesReport", "ScaleReport", "ScaleSize"]

_RECALL_TARGETS = ((1_000, 2.0), (10_000, 3.0), (100_000, 8.0))


class ScaleSize(msgspec.Struct, frozen=True, kw_only=True):
    """One profile of ``memories``. Times are seconds of processor, so that a busy machine says the same.

    ``text_bytes`` and ``vector_bytes`` are what is kept, ``disk_bytes`` and ``resident_bytes`` what keeping takes;
    ``mapped_bytes`` are pages of files that the system may drop.
    """

    memories: int
    recall: Figure
    embedding: Figure
    rebuilt_per_second: float
    whoosh_per_second: float
    text_bytes: int
    vector_bytes: int
    disk_bytes: int
    resident_bytes: int
    mapped_bytes: int
    open_seconds: float
    recall_at_10: float

    @property
    def recall_ratio(self) -> float:
        """Recall p50 over one query embedding alone."""
        return self.recall.p50 / self.embedding.p50

    @property
    def target(self) -> float | None:
        """The most that the recall ratio should be, None where nothing is set."""
        return next((most for size, most in _RECALL_TARGETS if self.memories <= size), None)

    @property
    def rebuild_ratio(self) -> float:
        """The rate of rebuilding three views over that of Whoosh alone."""
        return self.rebuilt_per_second / self.whoosh_per_second

    @property
    def disk_ratio(self) -> float:
        """Bytes on disk over texts and vectors."""
        return self.disk_bytes / (self.text_bytes + self.vector_bytes)


class ProfilesReport(msgspec.Struct, frozen=True, kw_only=True):
    """``profiles`` of ``memories`` each, opened one after the other, with a recall; milliseconds of wall clock."""

    profiles: int
    memories: int
    cold_recall: Figure
    descriptors_left: int


class ScaleReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run: what the log was made of, which vectors it had, and what was found."""

    version: str
    vectors: str
    sizes: list[ScaleSize]
    profiles: list[ProfilesReport]

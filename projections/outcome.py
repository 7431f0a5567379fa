"""What became of a batch that a view was given."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Outcome"]


class Outcome(StrEnum):
    """Applied, seen before (nothing changed), or a mismatch: another log than the one seen so far."""

    APPLIED = "applied"
    SEEN = "seen"
    MISMATCH = "mismatch"

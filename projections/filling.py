"""What fills the remainder of a budget: memories used lately or often (U24)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from projections.fusion import Candidate
from projections.ledger import Filler

__all__ = ["fill_score", "ranked"]

_SECONDS_PER_DAY = 86_400.0
_MEMORY_DAYS = 30.0


def fill_score(last: datetime, accesses: int, now: datetime) -> float:
    """Return 0.7 × exp(-days / 30) + 0.3 × ln(accesses + 1), with the days since the last access or write."""
    days = max(0.0, (now - last).total_seconds() / _SECONDS_PER_DAY)
    return 0.7 * math.exp(-days / _MEMORY_DAYS) + 0.3 * math.log1p(accesses)


def ranked(fillers: Sequence[Filler], now: datetime) -> list[Candidate]:
    """Return the fillers best first; ties go to the newer, then to the id."""
    scored = [(fill_score(one.last, one.accesses, now), one) for one in fillers]
    scored.sort(key=lambda pair: (-pair[0], -pair[1].position, pair[1].id))
    return [Candidate(one.id, score) for score, one in scored]

"""One hit of an index: what both index views answer with."""

from __future__ import annotations

import msgspec

__all__ = ["Hit", "ranked"]


class Hit(msgspec.Struct, frozen=True):
    """An item with its channel's own score; ``order`` is the position at which it was added."""

    id: str
    score: float
    order: int


def ranked(hits: list[Hit], k: int) -> list[Hit]:
    """Return the best ``k`` hits: by score, then the newer, then by id. ``hits`` must hold every tie at the cut."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.order, hit.id))[:k]

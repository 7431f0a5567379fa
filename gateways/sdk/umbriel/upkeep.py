"""Wire types of the daily passes."""

from __future__ import annotations

from datetime import datetime

import msgspec

from umbriel._wire import Reply

__all__ = ["PassStatus"]


class PassStatus(Reply, frozen=True):
    """A daily pass: when it came ``due`` last, and for how many profiles it is ``done`` and still ``waiting`` since.

    ``day`` is the UTC day of the last one, the earliest of several profiles; ``counts`` is what it did in a profile.
    """

    name: str
    due: datetime
    day: str = ""
    done: int = 0
    waiting: int = 0
    counts: dict[str, int] = msgspec.field(default_factory=dict)

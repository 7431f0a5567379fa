"""The numbers and the switch of the daily reflection; part of `domain.settings`."""

from __future__ import annotations

import msgspec

__all__ = ["ReflectionLimits", "ReflectionPreferences"]


class ReflectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a day is looked at and what may come of it (U13)."""

    #: days that were missed and are made up for, the last ones
    make_up_days: int = 7
    #: tokens of what was said on a day with one contact, the newest, and memories written on it, the most trusted
    tokens: int = 12_000
    notes: int = 60
    #: topics of one day with one contact, and characters of what it came to on each
    topics: int = 8
    chars: int = 2_000
    #: days after which what was still open is not recalled any more
    open_days: int = 14
    #: seconds that thinking about one day may take a model
    seconds: float = 120.0


class ReflectionPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a profile's days are thought about, and what they came to is remembered."""

    enabled: bool = True

"""Events of copies: an original that has one, what a copy was told, and what it heard."""

from __future__ import annotations

from typing import Literal

import msgspec

from domain.events.base import Event

__all__ = ["CopyFollowed", "Followed", "MemoryCopied", "Origin", "OriginChanged"]

#: What became of an original.
Followed = Literal["forgotten", "retracted", "rejected", "superseded", "expired", "live"]


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a copy comes from: the original's profile, id, position and author."""

    profile: str
    memory: str
    position: str = ""
    author: str = ""
    author_type: str = ""


class MemoryCopied(Event, frozen=True):
    """A version was copied to another profile, in one append with what that wrote there."""

    TOPIC = "memory.copied"
    memory: str
    profile: str
    copy: str


class CopyFollowed(Event, frozen=True):
    """A copy was told of an event of its original, in one append with what followed there."""

    TOPIC = "memory.copy_followed"
    memory: str
    profile: str
    copy: str
    how: Followed
    event: str


class OriginChanged(Event, frozen=True):
    """A copy's original is not what it was; ``status`` is its new one."""

    TOPIC = "memory.origin_changed"
    memory: str
    status: Followed

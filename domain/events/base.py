"""The base of every event."""

from __future__ import annotations

from typing import ClassVar

import msgspec

__all__ = ["Event"]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of every event payload."""

    TOPIC: ClassVar[str] = ""
    SCHEMA: ClassVar[int] = 1

    def blob(self) -> bytes | None:
        """Binary content stored beside the JSON, or None."""
        return None

    def without_blob(self) -> Event:
        """The event as its JSON shows it."""
        return self

    @classmethod
    def category(cls) -> str:
        """The subject category, the topic's first part."""
        return cls.TOPIC.split(".", 1)[0]

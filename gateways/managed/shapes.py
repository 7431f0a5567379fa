"""What is sent to the managed memory and what it answers, as its HTTP interface spells it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from domain.settings import Reaches

__all__ = [
    "Candidate",
    "Envelope",
    "ManagedSettings",
    "RemoteMemory",
    "RemoteMessage",
    "RemoteRecall",
]


class ManagedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the managed memory is and how it is spoken to.

    ``base_url`` is what comes before ``/namespaces``; a remote profile is ``prefix`` and a hash of the local name.
    Times are in seconds; ``retry_after`` is the longest that one call waits because the service asks for it.
    """

    base_url: str
    namespace: str
    key: str
    reaches: Reaches = "partner"
    name: str = "managed"
    prefix: str = ""
    timeout: float = 30.0
    tries: int = 3
    pause: float = 0.5
    retry_after: float = 10.0

    def __repr__(self) -> str:
        """Show where, never the key."""
        return f"ManagedSettings({self.base_url!r}, namespace={self.namespace!r}, reaches={self.reaches!r})"

    @property
    def destination(self) -> str:
        """What tells one place that content is sent to from another."""
        return f"{self.base_url.rstrip('/')}#{self.namespace}#{self.prefix}"


class RemoteMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation to be read for memories."""

    role: str
    content: str
    timestamp: datetime | None = None


class RemoteMemory(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A memory as the service keeps it; ``content`` is left out of lists."""

    id: str
    type: str = ""
    summary: str = ""
    content: str = ""
    session_id: str | None = None


class Candidate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A memory that recall found."""

    id: str
    summary: str
    session_id: str | None = None
    score: float = 0.0


class RemoteRecall(msgspec.Struct, frozen=True, kw_only=True):
    """What recall found, and the prose made from it."""

    count: int = 0
    answer: str | None = None
    candidates: list[Candidate] = []


class Problem(msgspec.Struct, frozen=True):
    """One of the errors in an answer."""

    code: int | str = ""
    message: str = ""


class ResultInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Where a list goes on."""

    cursor: str | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What every answer is wrapped in."""

    success: bool
    result: Any = None
    errors: list[Problem] = []
    messages: list[Any] = []
    result_info: ResultInfo | None = None

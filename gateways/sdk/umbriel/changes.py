"""Wire types of the verbs that change or end a memory that exists."""

from __future__ import annotations

from datetime import datetime

from umbriel._wire import Reply, Request

__all__ = ["ChangeRequest", "CorrectRequest", "ExpireRequest", "ForgetRequest", "TouchedReply"]


class ForgetRequest(Request, frozen=True):
    """By id or key; ``preview`` lists what would be touched and touches nothing."""

    id: str = ""
    key: str = ""
    contact: str = ""
    with_sources: bool = False
    preview: bool = False
    request_id: str = ""


class ChangeRequest(Request, frozen=True):
    """One memory by id, or the live one under a key (for restore: the one that was live last)."""

    id: str = ""
    key: str = ""
    contact: str = ""
    preview: bool = False
    request_id: str = ""


class CorrectRequest(Request, frozen=True):
    """What a memory is to say instead; a time that is not given stays as it was."""

    content: str
    id: str = ""
    key: str = ""
    contact: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    preview: bool = False
    request_id: str = ""


class ExpireRequest(Request, frozen=True):
    """When a memory stops being live: ``at`` a time, or ``never``."""

    id: str = ""
    key: str = ""
    contact: str = ""
    at: datetime | None = None
    never: bool = False
    preview: bool = False
    request_id: str = ""


class TouchedReply(Reply, frozen=True):
    """The ids that were (or, in a preview, would be) touched; ``memory`` is the version a correction left live.

    ``kept`` are memories that rested on a message that was forgotten too, and stay.
    """

    touched: list[str]
    position: str
    preview: bool = False
    memory: str = ""
    kept: list[str] = []

"""Wire types of the verbs that change or end a memory that exists.

``expected`` is the id of the version that must be the newest at its address; another one is a ConflictError.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request

__all__ = ["ChangeRequest", "CorrectRequest", "ExpireRequest", "ForgetRequest", "Touched", "TouchedReply"]


class ForgetRequest(Request, frozen=True):
    """By id, key or description; ``preview`` lists what would be touched and touches nothing."""

    id: str = ""
    key: str = ""
    description: str = ""
    all: bool = False
    contact: str = ""
    with_sources: bool = False
    preview: bool = False
    request_id: str = ""
    expected: str = ""


class ChangeRequest(Request, frozen=True):
    """One memory by id, the live one under a key (for restore: the one that was live last), or a described one.

    Where a description fits several equally well, ``all`` means all of them.
    """

    id: str = ""
    key: str = ""
    description: str = ""
    all: bool = False
    contact: str = ""
    preview: bool = False
    request_id: str = ""
    expected: str = ""


class CorrectRequest(Request, frozen=True):
    """What a memory is to say instead; a time that is not given stays as it was."""

    content: str
    id: str = ""
    key: str = ""
    description: str = ""
    all: bool = False
    contact: str = ""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    preview: bool = False
    request_id: str = ""
    expected: str = ""


class ExpireRequest(Request, frozen=True):
    """When a memory stops being live: ``at`` a time, or ``never``."""

    id: str = ""
    key: str = ""
    description: str = ""
    all: bool = False
    contact: str = ""
    at: datetime | None = None
    never: bool = False
    preview: bool = False
    request_id: str = ""
    expected: str = ""


class Touched(Reply, frozen=True):
    """Why a description meant a memory: by its key, by an identifier of some ``form``, or by its text.

    ``score`` is how much of what it says was described, in [0, 1]; ``left`` is what it goes on saying.
    """

    id: str
    text: str
    by: Literal["key", "identifier", "text"]
    form: str = ""
    score: float = 1.0
    left: str = ""


class TouchedReply(Reply, frozen=True):
    """The ids that were (or, in a preview, would be) touched; ``memory`` is the version a correction left live.

    ``kept`` are memories that rested on a message that was forgotten too, and stay. Of a description ``why`` says what
    it meant, and ``messages`` which ones hold the identifier that it names.
    """

    touched: list[str]
    position: str
    preview: bool = False
    memory: str = ""
    kept: list[str] = []
    why: list[Touched] = []
    messages: list[str] = []

"""The wire types of conversations: messages looked for where they were said."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request
from umbriel.recalling import RecallResult, Visibility

__all__ = ["RecallConversationReply", "RecallConversationRequest", "SummaryReply", "SummaryRequest"]


class RecallConversationRequest(Request, frozen=True):
    """A question to messages: of one ``session`` (scope ``conversation``), of a contact's sessions, or of all.

    Without a scope it is ``conversation`` where a session is named, else ``contact``; the empty contact has the
    sessions without one. ``semantic`` asks vectors, ``keyword`` full text, ``hybrid`` both and what stands beside.
    """

    query: str
    mode: Literal["semantic", "keyword", "hybrid"] = "semantic"
    limit: int = 10
    role: Literal["", "user", "assistant", "system", "tool"] = ""
    scope: Literal["", "contact", "conversation", "all"] = ""
    session: str = ""
    contact: str = ""
    since: datetime | None = None
    until: datetime | None = None
    at_least: str = ""
    visibility: Visibility = "complete"


class RecallConversationReply(Reply, frozen=True):
    """Messages best first; ``off`` are channels that cannot be asked now, and why."""

    messages: list[RecallResult]
    position: str
    truncated: bool = False
    off: dict[str, str] = {}


class SummaryRequest(Request, frozen=True):
    """One session, to be told in a page."""

    session: str
    at_least: str = ""


class SummaryReply(Reply, frozen=True):
    """What a session was about, in Markdown, with a part on the one before it with the same contact.

    ``model`` wrote the words on what was said; ``last_session`` is empty where there was none.
    """

    session: str
    markdown: str
    model: str
    position: str
    last_session: str = ""

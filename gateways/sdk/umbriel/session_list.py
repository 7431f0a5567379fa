"""Wire types of the verb that lists a profile's conversations."""

from __future__ import annotations

from datetime import datetime

from umbriel._wire import Reply, Request

__all__ = ["SessionInfo", "SessionsReply", "SessionsRequest"]


class SessionsRequest(Request, frozen=True):
    """Conversations, the one heard last first: those without a contact, of a contact, or with ``*`` of everybody."""

    contact: str = ""
    cursor: str = ""
    limit: int = 50
    at_least: str = ""


class SessionInfo(Reply, frozen=True):
    """A conversation, with how many messages it has that are not forgotten, and when the first and last was said."""

    session: str
    messages: int
    first_at: datetime
    last_at: datetime
    contact: str = ""
    channel: str = ""


class SessionsReply(Reply, frozen=True):
    """One page; an empty ``cursor`` is the last page."""

    sessions: list[SessionInfo]
    position: str
    cursor: str = ""

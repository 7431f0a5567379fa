"""Wire types of the verb that reads a session message by message."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request

__all__ = ["MessagesReply", "MessagesRequest", "SaidMessage"]


class MessagesRequest(Request, frozen=True):
    """The messages of one session in the order in which they were recorded, from either end.

    ``after`` is a position: only what was recorded after it. ``limit`` is at most 500.
    """

    session: str
    order: Literal["oldest", "newest"] = "oldest"
    after: str = ""
    cursor: str = ""
    limit: int = 50
    at_least: str = ""


class SaidMessage(Reply, frozen=True):
    """A message as it was said; ``client_id`` is its writer's own id, ``attachment`` what was kept beside it.

    ``at`` is when it was said, where that is known. ``occurrence`` counts equal messages of a session.
    """

    id: str
    role: str
    content: str
    recorded_at: datetime
    position: str
    at: datetime | None = None
    name: str = ""
    occurrence: int = 1
    client_id: str = ""
    turn_id: str = ""
    attachment: str = ""
    author: str = ""
    author_type: str = ""


class MessagesReply(Reply, frozen=True):
    """One page, first the one asked for first; an empty ``cursor`` is the last page.

    A session that does not exist, or is out of reach, has no messages. What was forgotten is not among them.
    """

    session: str
    messages: list[SaidMessage]
    position: str
    contact: str = ""
    cursor: str = ""

"""Wire types of copies."""

from __future__ import annotations

from umbriel._wire import Reply, Request

__all__ = ["CopyRequest", "Origin"]


class Origin(Reply, frozen=True):
    """Where a copy comes from: the original's profile, id, position, author, and what has become of it."""

    profile: str
    memory: str
    position: str
    author: str
    author_type: str
    status: str = "live"


class CopyRequest(Request, frozen=True):
    """A live memory by id, and the profile that is to have it too."""

    id: str
    target: str
    request_id: str = ""

"""The wire types of the web inspector: where it is, and who is let in."""

from __future__ import annotations

from datetime import datetime

from umbriel._wire import Reply, Request

__all__ = ["InspectReply", "InspectRequest", "LoginReply", "LoginRequest"]


class InspectRequest(Request, frozen=True):
    """A way into the inspector for the principal ``name``, by default the caller; HTTP is served if it is not yet."""

    name: str = ""


class InspectReply(Reply, frozen=True):
    """Where the inspector is, and a code that logs the principal in once, until ``expires_at``.

    ``link`` is both in one: the code is behind its ``#``, which no browser sends anywhere.
    """

    url: str
    link: str
    code: str
    principal: str
    expires_at: datetime


class LoginRequest(Request, frozen=True):
    """A code, to be changed for a token."""

    code: str


class LoginReply(Reply, frozen=True):
    """A principal's token, shown this once, which counts until ``expires_at``."""

    principal: str
    token: str
    expires_at: datetime

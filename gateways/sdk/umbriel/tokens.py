"""The wire types of bearer tokens: what a principal speaks over HTTP with."""

from __future__ import annotations

from datetime import datetime

from umbriel._wire import Reply, Request

__all__ = ["PrincipalToken", "TokenInfo", "TokenRequest", "TokenRevokeRequest"]


class TokenRequest(Request, frozen=True):
    """A token for the principal ``name``; ``label`` says what it is for, ``expires_at`` until when it counts."""

    name: str
    label: str = ""
    expires_at: datetime | None = None


class TokenRevokeRequest(Request, frozen=True):
    """A token by its id, which the list of principals shows."""

    id: str


class TokenInfo(Reply, frozen=True):
    """A token that a principal has; never what it is."""

    id: str
    made_at: datetime
    label: str = ""
    expires_at: datetime | None = None


class PrincipalToken(Reply, frozen=True):
    """A principal's new token, shown this once; empty where one was revoked."""

    principal: str
    info: TokenInfo
    token: str = ""

"""The wire types of principals and grants, as strict in replies as in requests: a grant is never half understood."""

from __future__ import annotations

from typing import Literal

import msgspec

from umbriel._wire import Reply, Request
from umbriel.tokens import TokenInfo

__all__ = [
    "Access",
    "GrantSpec",
    "PrincipalAddRequest",
    "PrincipalInfo",
    "PrincipalListRequest",
    "PrincipalNameRequest",
    "PrincipalRotateRequest",
    "PrincipalSecret",
    "PrincipalsReply",
]

Access = Literal["read", "write", "admin"]


class GrantSpec(Request, frozen=True):
    """One access to one profile (``*``: every one), for the contacts named (``["*"]``: all of them)."""

    profile: str
    access: Access
    contacts: list[str] = msgspec.field(default_factory=lambda: ["*"])


class PrincipalAddRequest(Request, frozen=True):
    """A new principal. With ``nkey`` (a public user key, ``U…``) it signs instead of sending a password."""

    name: str
    type: Literal["person", "agent"] = "agent"
    grants: list[GrantSpec] = msgspec.field(default_factory=list)
    nkey: str = ""


class PrincipalNameRequest(Request, frozen=True):
    """An existing principal."""

    name: str


class PrincipalRotateRequest(Request, frozen=True):
    """An existing principal, which gets a new password, or a new ``nkey``."""

    name: str
    nkey: str = ""


class PrincipalListRequest(Request, frozen=True):
    """Every principal, the revoked ones too."""


class PrincipalInfo(Reply, frozen=True):
    """One principal; ``credential`` says how it authenticates, never with what; ``tokens`` are for HTTP."""

    name: str
    type: str
    grants: list[GrantSpec]
    credential: Literal["password", "nkey"] = "password"
    revoked: bool = False
    tokens: list[TokenInfo] = msgspec.field(default_factory=list)


class PrincipalSecret(Reply, frozen=True):
    """A principal and its new password, shown this once; empty where it signs with an nkey.

    ``applied`` is false where the NATS server is not ours: it takes over the change with its own configuration.
    """

    principal: PrincipalInfo
    secret: str = ""
    applied: bool = True


class PrincipalsReply(Reply, frozen=True):
    """Principals in order of their names."""

    principals: list[PrincipalInfo]

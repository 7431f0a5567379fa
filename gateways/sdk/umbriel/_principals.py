"""The client's verbs of administration: principals and their grants."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from umbriel import grants as wire
from umbriel import inspecting, tokens
from umbriel._transport import Transport

__all__ = ["PrincipalVerbs"]

_SECONDS = 30.0
_SERVICE = "_"


class PrincipalVerbs:
    """Part of `Umbriel`; every verb needs a person with admin on ``*``."""

    _transport: Transport

    async def principal_add(
        self,
        name: str,
        *,
        type: Literal["person", "agent"] = "agent",
        grants: Iterable[wire.GrantSpec] = (),
        nkey: str = "",
        timeout: float = _SECONDS,
    ) -> wire.PrincipalSecret:
        """Add a principal; the reply holds its password, which nothing can show again."""
        request = wire.PrincipalAddRequest(name=name, type=type, grants=list(grants), nkey=nkey)
        return await self._transport.call(
            _SERVICE, "principal_add", request, wire.PrincipalSecret, timeout=timeout, idempotent=False
        )

    async def principal_list(self, *, timeout: float = _SECONDS) -> wire.PrincipalsReply:
        """Return every principal with its grants, the revoked ones too."""
        return await self._transport.call(
            _SERVICE, "principal_list", wire.PrincipalListRequest(), wire.PrincipalsReply, timeout=timeout
        )

    async def principal_revoke(self, name: str, *, timeout: float = _SECONDS) -> wire.PrincipalSecret:
        """Take everything from a principal for good: it is disconnected, refused, and its name stays taken."""
        request = wire.PrincipalNameRequest(name=name)
        return await self._transport.call(_SERVICE, "principal_revoke", request, wire.PrincipalSecret, timeout=timeout)

    async def principal_rotate(self, name: str, *, nkey: str = "", timeout: float = _SECONDS) -> wire.PrincipalSecret:
        """Replace a principal's password (or its ``nkey``); whoever uses the old one is disconnected."""
        request = wire.PrincipalRotateRequest(name=name, nkey=nkey)
        return await self._transport.call(
            _SERVICE, "principal_rotate", request, wire.PrincipalSecret, timeout=timeout, idempotent=False
        )

    async def principal_token(
        self, name: str, *, label: str = "", expires_at: datetime | None = None, timeout: float = _SECONDS
    ) -> tokens.PrincipalToken:
        """Make a bearer token with which a principal speaks over HTTP; nothing can show it again."""
        request = tokens.TokenRequest(name=name, label=label, expires_at=expires_at)
        return await self._transport.call(
            _SERVICE, "principal_token", request, tokens.PrincipalToken, timeout=timeout, idempotent=False
        )

    async def inspect(self, name: str = "", *, timeout: float = _SECONDS) -> inspecting.InspectReply:
        """Return where the web inspector is, and a code that logs a principal (by default the caller) in there once."""
        request = inspecting.InspectRequest(name=name)
        return await self._transport.call(
            _SERVICE, "inspect", request, inspecting.InspectReply, timeout=timeout, idempotent=False
        )

    async def principal_token_revoke(self, id: str, *, timeout: float = _SECONDS) -> tokens.PrincipalToken:
        """Take a bearer token away by its id, which `principal_list` shows."""
        request = tokens.TokenRevokeRequest(id=id)
        return await self._transport.call(
            _SERVICE, "principal_token_revoke", request, tokens.PrincipalToken, timeout=timeout, idempotent=False
        )

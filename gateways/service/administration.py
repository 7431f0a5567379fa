"""The verbs about principals: add, list, revoke, rotate; each change is on disk, then in the NATS server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import structlog

from domain.errors import InvalidInputError
from domain.events.principal import PrincipalChange
from domain.grants import Grant, Principal, check_grant
from domain.text import check_name
from gateways.jetstream.principals import Principals, Stored
from gateways.jetstream.tokens import Token
from gateways.service.context import Caller
from gateways.service.validate import check_time
from umbriel.grants import (
    GrantSpec,
    PrincipalAddRequest,
    PrincipalInfo,
    PrincipalNameRequest,
    PrincipalRotateRequest,
    PrincipalSecret,
    PrincipalsReply,
)
from umbriel.tokens import PrincipalToken, TokenInfo, TokenRequest, TokenRevokeRequest

__all__ = ["Administration", "granted"]

_log = structlog.get_logger(__name__)
#: How long a principal that replaced its own secret has to receive it before its connection ends.
_FAREWELL_SECONDS = 0.5
_LABEL_CHARS = 256


async def _untold(_: Caller, __: Principal, ___: PrincipalChange) -> None:
    return


class Administration:
    """Changes principals; ``apply`` makes the NATS server take a change over and says whether it is ours to tell."""

    def __init__(self, principals: Principals, apply: Callable[[], Awaitable[bool]]) -> None:
        self._principals = principals
        self._apply = apply
        #: told of every change, after it is on disk
        self.changed: Callable[[Caller, Principal, PrincipalChange], Awaitable[None]] = _untold
        self._lock = asyncio.Lock()
        self._later: set[asyncio.Task[None]] = set()

    async def add(self, caller: Caller, request: PrincipalAddRequest) -> PrincipalSecret:
        """Add a principal."""
        grants = tuple(check_grant(one.profile, one.access, one.contacts) for one in request.grants)
        async with self._lock:
            stored, secret = self._principals.add(Principal(request.name, request.type, grants), nkey=request.nkey)
            _log.info("principal_added", principal=request.name, by=caller.principal)
            await self.changed(caller, stored.principal, "added")
            return PrincipalSecret(principal=_info(stored), secret=secret, applied=await self._apply())

    def list(self) -> PrincipalsReply:
        """Return every principal."""
        tokens = self._principals.tokens
        found = [_info(one, tokens.of(one.principal.name)) for one in self._principals.all()]
        return PrincipalsReply(principals=found)

    async def revoke(self, caller: Caller, request: PrincipalNameRequest) -> PrincipalSecret:
        """Take everything from a principal; from here on it is refused, and then disconnected."""
        async with self._lock:
            stored = self._principals.revoke(request.name)
            _log.info("principal_revoked", principal=request.name, by=caller.principal)
            await self.changed(caller, stored.principal, "revoked")
            return PrincipalSecret(principal=_info(stored), applied=await self._apply())

    async def rotate(self, caller: Caller, request: PrincipalRotateRequest) -> PrincipalSecret:
        """Replace what proves a principal."""
        async with self._lock:
            stored, secret = self._principals.rotate(request.name, nkey=request.nkey)
            _log.info("principal_rotated", principal=request.name, by=caller.principal)
            await self.changed(caller, stored.principal, "rotated")
            if caller.principal == request.name:
                # The server would end the connection that the reply has to go through.
                task = asyncio.create_task(self._apply_later())
                self._later.add(task)
                task.add_done_callback(self._later.discard)
                return PrincipalSecret(principal=_info(stored), secret=secret)
            return PrincipalSecret(principal=_info(stored), secret=secret, applied=await self._apply())

    def check_speaking(self, name: str) -> None:
        """Raise NotFoundError or RefusedError unless this is a principal that may speak."""
        self._principals.speaking(name)

    async def token(self, caller: Caller, request: TokenRequest) -> PrincipalToken:
        """Make a bearer token for a principal."""
        now, expires_at = datetime.now(UTC), check_time(request.expires_at, "expires_at")
        if request.label:
            check_name(request.label, field="label", max_chars=_LABEL_CHARS)
        if expires_at is not None and expires_at <= now:
            raise InvalidInputError(
                "expires_at is in the past", expected="a time to come", found=expires_at.isoformat()
            )
        async with self._lock:
            stored = self._principals.speaking(request.name)
            token, text = self._principals.tokens.add(request.name, now=now, label=request.label, expires_at=expires_at)
            _log.info("token_made", principal=request.name, token=token.id, by=caller.principal)
            await self.changed(caller, stored.principal, "token made")
        return PrincipalToken(principal=token.principal, info=_token(token), token=text)

    async def revoke_token(self, caller: Caller, request: TokenRevokeRequest) -> PrincipalToken:
        """Take a bearer token away."""
        async with self._lock:
            token = self._principals.tokens.revoke(request.id)
            _log.info("token_revoked", principal=token.principal, token=token.id, by=caller.principal)
            if (whose := self._principals.get(token.principal)) is not None:
                await self.changed(caller, whose, "token revoked")
        return PrincipalToken(principal=token.principal, info=_token(token))

    async def _apply_later(self) -> None:
        await asyncio.sleep(_FAREWELL_SECONDS)
        async with self._lock:
            await self._apply()

    async def close(self) -> None:
        """Let what is under way finish."""
        await asyncio.gather(*self._later, return_exceptions=True)


def granted(grants: Sequence[Grant]) -> list[GrantSpec]:
    """Return grants as they go over the wire."""
    return [GrantSpec(profile=one.profile, access=one.access, contacts=list(one.contacts)) for one in grants]


def _info(stored: Stored, tokens: Sequence[Token] = ()) -> PrincipalInfo:
    principal = stored.principal
    return PrincipalInfo(
        name=principal.name,
        type=principal.type,
        grants=granted(principal.grants),
        credential="nkey" if stored.nkey else "password",
        revoked=principal.revoked,
        tokens=[_token(one) for one in tokens],
    )


def _token(token: Token) -> TokenInfo:
    return TokenInfo(id=token.id, made_at=token.made_at, label=token.label, expires_at=token.expires_at)

"""The web inspector's way in, and how what it asks differs from what an agent asks.

A code is 256 random bits, kept as its hash in memory, good for one login within minutes. What it is changed for is a
token like any other: it ends by itself, shows in the list of principals, and can be revoked there.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from domain.errors import RefusedError, UnavailableError
from domain.tokens import estimated_tokens
from gateways.provenance import fenced
from gateways.service.administration import Administration
from gateways.service.context import Caller
from umbriel.inspecting import InspectReply, InspectRequest, LoginReply
from umbriel.tokens import TokenRequest
from umbriel.types import RecallReply, RecallRequest

__all__ = ["LABEL", "Inspector", "invite", "noted_as", "with_prompt"]

#: What the list of principals shows of a token that a login made.
LABEL = "inspector"
_CODE_BYTES = 32
_CODE_SECONDS = 300
_LOGIN_HOURS = 12
#: Codes that wait to be used; more would be somebody who asks without end, and the oldest go.
_MOST = 32


class _Code(msgspec.Struct, frozen=True):
    caller: Caller
    principal: str
    expires_at: datetime


class Inspector:
    """Lets principals into the inspector; ``place`` says where it is served, or serves it, None where nothing can."""

    def __init__(self, administration: Administration) -> None:
        self._administration = administration
        self._codes: dict[str, _Code] = {}
        self.place: Callable[[], Awaitable[str]] | None = None

    async def invite(self, caller: Caller, request: InspectRequest) -> InspectReply:
        """Return where the inspector is with a code for a principal. Raises UnavailableError where none is served."""
        if self.place is None:
            raise UnavailableError("no inspector is served here", expected="a running service", found="none")
        name = request.name or caller.principal
        self._administration.check_speaking(name)
        url = await self.place()
        code, expires_at = secrets.token_urlsafe(_CODE_BYTES), datetime.now(UTC) + timedelta(seconds=_CODE_SECONDS)
        self._codes[_hash(code)] = _Code(caller, name, expires_at)
        while len(self._codes) > _MOST:
            del self._codes[next(iter(self._codes))]
        return InspectReply(url=url, link=f"{url}/#code={code}", code=code, principal=name, expires_at=expires_at)

    async def login(self, code: str) -> LoginReply:
        """Change a code for a token. Raises RefusedError for one that is none, was used, or is too old."""
        found, now = self._codes.pop(_hash(code), None), datetime.now(UTC)
        if found is None or now >= found.expires_at:
            raise RefusedError(
                "the link was used already, or is too old",
                expected="a link of `umbriel inspect`, used once and within five minutes",
                found="a code that lets nobody in",
            )
        expires_at = now + timedelta(hours=_LOGIN_HOURS)
        asked = TokenRequest(name=found.principal, label=LABEL, expires_at=expires_at)
        made = await self._administration.token(found.caller, asked)
        return LoginReply(principal=made.principal, token=made.token, expires_at=expires_at)


async def invite(service: Any, caller: Caller, _: str, request: InspectRequest) -> msgspec.Struct:
    """Carry out the verb ``inspect`` of a service."""
    reply: InspectReply = await service.inspector.invite(caller, request)
    return reply


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def noted_as(request: RecallRequest) -> str:
    """Return the verb that a question is on record as."""
    return "inspect" if request.inspect else "recall"


def with_prompt(reply: RecallReply) -> RecallReply:
    """Return a reply with what a prompt would hold of it."""
    prompt = fenced([*reply.suppressions, *reply.results])
    return msgspec.structs.replace(reply, prompt=prompt, prompt_tokens=estimated_tokens(prompt))

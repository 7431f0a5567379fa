"""The verbs about the log itself; a part of the client."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._transport import Transport
from umbriel.auditing import AuditReply, AuditRequest
from umbriel.proofs import ProofReply, ProofRequest
from umbriel.verifying import VerifyReply, VerifyRequest

__all__ = ["VerifyVerbs"]

_SERVICE = "_"
_ASK = 30.0


class VerifyVerbs:
    """The whole log, recomputed, and proofs of what is in it."""

    _transport: Transport
    _profile: str

    async def verify(
        self, action: Literal["start", "status", "cancel"] = "start", *, timeout: float = _ASK
    ) -> VerifyReply:
        """Begin to verify the whole log in the service, ask how far that is, or give it up.

        For persons who administer every profile; ask again with ``status`` until the state is not ``running``.
        """
        request = VerifyRequest(action=action)
        return await self._transport.call(_SERVICE, "verify", request, VerifyReply, timeout=timeout)

    async def proof(self, id: str, *, timeout: float = _ASK) -> ProofReply:
        """Return the proof that a memory, a message or an event (by position or id) was in the log when it was sealed.

        It holds all that is needed to check it: ``umbriel verify --proof`` asks nobody.
        """
        return await self._transport.call(self._profile, "proof", ProofRequest(id=id), ProofReply, timeout=timeout)

    async def audit(
        self,
        *,
        principal: str = "",
        action: str = "",
        contact: str = "",
        memory: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        cursor: str = "",
        limit: int = 100,
        service: bool = False,
        timeout: float = _ASK,
    ) -> AuditReply:
        """Return a page of who did what in the profile, newest first; ask again with the reply's ``cursor``.

        With ``service`` it is what happened to the service itself: principals and refusals, for administrators.
        """
        request = AuditRequest(
            principal=principal,
            action=action,
            contact=contact,
            memory=memory,
            since=since,
            until=until,
            cursor=cursor,
            limit=limit,
        )
        profile = _SERVICE if service else self._profile
        return await self._transport.call(profile, "audit", request, AuditReply, timeout=timeout)

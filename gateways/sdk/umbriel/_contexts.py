"""The one call of an agent loop; a part of the client."""

from __future__ import annotations

import uuid
from datetime import datetime

from umbriel import contexts as wire
from umbriel._transport import Transport

__all__ = ["ContextVerbs"]

_READ = 30.0


class ContextVerbs:
    """What a model is to see, each turn."""

    _transport: Transport
    _profile: str

    async def context(
        self,
        session: str,
        *,
        query: str = "",
        budget: int = 8_000,
        format: wire.ContextFormat = "parts",
        contact: str = "",
        limit: int = 20,
        resume: bool = False,
        reference_date: datetime | None = None,
        at_least: str = "",
        timeout: float = _READ,
    ) -> wire.ContextReply:
        """Return notes, task, recalled memories and the conversation, all within ``budget`` tokens.

        ``format="openai"`` and ``"anthropic"`` shape ``messages`` for those APIs. ``query`` is what is recalled for,
        the last thing the user said when empty. With ``resume`` a turn that stopped is taken over.
        """
        request = wire.ContextRequest(
            session=session,
            query=query,
            budget=budget,
            format=format,
            contact=contact,
            limit=limit,
            resume=resume,
            request_id=uuid.uuid4().hex if resume else "",
            reference_date=reference_date,
            at_least=at_least,
        )
        return await self._transport.call(self._profile, "context", request, wire.ContextReply, timeout=timeout)

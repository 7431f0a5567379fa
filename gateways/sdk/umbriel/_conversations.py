"""The verbs about conversations; a part of the client."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel import conversations as wire
from umbriel._transport import Transport
from umbriel.recalling import Visibility

__all__ = ["ConversationVerbs"]

_READ = 30.0


class ConversationVerbs:
    """Messages as they were said; what was made of them is a memory, and `recall` finds both."""

    _transport: Transport
    _profile: str

    async def recall_conversation(
        self,
        query: str,
        *,
        mode: Literal["semantic", "keyword", "hybrid"] = "semantic",
        limit: int = 10,
        role: Literal["", "user", "assistant", "system", "tool"] = "",
        scope: Literal["", "contact", "conversation", "all"] = "",
        session: str = "",
        contact: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        at_least: str = "",
        visibility: Visibility = "complete",
        timeout: float = _READ,
    ) -> wire.RecallConversationReply:
        """Return the messages that answer ``query``, best first: of a session, of a contact's sessions, or of all.

        ``since`` and ``until`` are about when a message was said.
        """
        request = wire.RecallConversationRequest(
            query=query,
            mode=mode,
            limit=limit,
            role=role,
            scope=scope,
            session=session,
            contact=contact,
            since=since,
            until=until,
            at_least=at_least,
            visibility=visibility,
        )
        return await self._transport.call(
            self._profile, "recall_conversation", request, wire.RecallConversationReply, timeout=timeout
        )

    async def summary(self, session: str, *, at_least: str = "", timeout: float = _READ) -> wire.SummaryReply:
        """Return a session in Markdown: what was said and learnt, what is open, and the session before it."""
        request = wire.SummaryRequest(session=session, at_least=at_least)
        return await self._transport.call(self._profile, "summary", request, wire.SummaryReply, timeout=timeout)

"""The verbs of sessions; a part of the client."""

from __future__ import annotations

from umbriel import sessions as wire
from umbriel._transport import Transport

__all__ = ["SessionVerbs"]

_WRITE = 60.0
_DELETE = 600.0


class SessionVerbs:
    """End or delete a session of the client's profile."""

    _transport: Transport
    _profile: str

    async def end_session(self, session: str, *, wait: bool = False, timeout: float = _WRITE) -> wire.EndSessionReply:
        """Say that a session is over: what was said last is read at once, and its tasks end.

        What is said in it later begins anew. Raises NotFoundError for a session that does not exist.
        """
        request = wire.EndSessionRequest(session=session, wait=wait)
        return await self._transport.call(self._profile, "end_session", request, wire.EndSessionReply, timeout=timeout)

    async def delete_session(
        self, session: str, *, preview: bool = False, timeout: float = _DELETE
    ) -> wire.DeleteSessionReply:
        """Forget every message of a session, what was drawn from them alone, and its tasks.

        Its messages are ``blocked`` when they are ingested again; new ones are recorded.
        """
        request = wire.DeleteSessionRequest(session=session, preview=preview)
        return await self._transport.call(
            self._profile, "delete_session", request, wire.DeleteSessionReply, timeout=timeout
        )

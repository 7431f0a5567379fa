"""The verb that lists a profile's conversations; a part of the client."""

from __future__ import annotations

from umbriel import session_list as wire
from umbriel._transport import Transport

__all__ = ["SessionListVerbs"]

_READ = 30.0


class SessionListVerbs:
    """Which conversations there are."""

    _transport: Transport
    _profile: str

    async def list_sessions(
        self, *, contact: str = "", cursor: str = "", limit: int = 50, at_least: str = "", timeout: float = _READ
    ) -> wire.SessionsReply:
        """Return one page of conversations, the one heard last first; ask again with the reply's ``cursor``.

        Those without a contact, of a ``contact`` and all it is linked with, or with ``*`` of everybody.
        """
        request = wire.SessionsRequest(contact=contact, cursor=cursor, limit=limit, at_least=at_least)
        return await self._transport.call(self._profile, "list_sessions", request, wire.SessionsReply, timeout=timeout)

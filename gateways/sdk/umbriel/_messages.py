"""The verb that reads a session message by message; a part of the client."""

from __future__ import annotations

from typing import Literal

from umbriel import messages as wire
from umbriel._transport import Transport

__all__ = ["MessageVerbs"]

_READ = 30.0


class MessageVerbs:
    """What was said, word for word and in order."""

    _transport: Transport
    _profile: str

    async def messages(
        self,
        session: str,
        *,
        order: Literal["oldest", "newest"] = "oldest",
        after: str = "",
        cursor: str = "",
        limit: int = 50,
        at_least: str = "",
        timeout: float = _READ,
    ) -> wire.MessagesReply:
        """Return one page of a session's messages as they were said; ask again with the reply's ``cursor``.

        From the ``oldest`` or the ``newest`` on, those recorded after the position ``after``. Forgotten ones are
        absent; a session that does not exist has none.
        """
        request = wire.MessagesRequest(
            session=session, order=order, after=after, cursor=cursor, limit=limit, at_least=at_least
        )
        return await self._transport.call(self._profile, "messages", request, wire.MessagesReply, timeout=timeout)

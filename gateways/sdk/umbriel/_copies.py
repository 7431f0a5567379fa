"""The verb that copies a memory to another profile; a part of the client."""

from __future__ import annotations

import uuid

from umbriel import copies as wire
from umbriel._transport import Transport
from umbriel.types import RememberReply

__all__ = ["CopyVerbs"]

_WRITE = 60.0


class CopyVerbs:
    """Copy memories of the client's profile."""

    _transport: Transport
    _profile: str

    async def copy(self, id: str, target: str, *, request_id: str = "", timeout: float = _WRITE) -> RememberReply:
        """Copy a live memory to the profile ``target``; the reply's memory is the copy, with its ``origin``.

        The copy is the caller's statement there. It is forgotten, retracted and rejected with the original; when that
        is superseded it stays, and its origin says so. Raises RefusedError without a grant to write there.
        """
        request = wire.CopyRequest(id=id, target=target, request_id=request_id or uuid.uuid4().hex)
        return await self._transport.call(self._profile, "copy", request, RememberReply, timeout=timeout)

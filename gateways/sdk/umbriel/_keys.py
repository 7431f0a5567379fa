"""The verbs about keys; a part of the client."""

from __future__ import annotations

from umbriel import keys as wire
from umbriel._transport import Transport

__all__ = ["KeyVerbs"]

_READ = 60.0
_LONG = 3600.0
_SERVICE = "_"


class KeyVerbs:
    """Listing keys and rotating the master key; for persons who administer every profile."""

    _transport: Transport

    async def keys(self, profile: str = "", *, timeout: float = _READ) -> wire.KeysReply:
        """Return how many keys there are, of a profile or of all, and under which master key; never a key."""
        request = wire.KeysRequest(profile=profile)
        return await self._transport.call(_SERVICE, "keys", request, wire.KeysReply, timeout=timeout)

    async def rotate_keys(self, *, timeout: float = _LONG) -> wire.RotateKeysReply:
        """Wrap every key under a new master key; returns when the old one is of no use any more."""
        request = wire.RotateKeysRequest()
        return await self._transport.call(
            _SERVICE, "rotate_keys", request, wire.RotateKeysReply, timeout=timeout, idempotent=False
        )

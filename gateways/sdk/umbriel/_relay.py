"""Speaking for whoever has a bearer token, over a connection of one's own: what a gateway does for its callers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from umbriel._transport import Transport
from umbriel.client import Umbriel

__all__ = ["speaking"]

Reply = TypeVar("Reply", bound=msgspec.Struct)


def speaking(client: Umbriel, token: str, profile: str = "") -> Umbriel:
    """Return a client on the same connection that speaks as the principal of a token, for a profile.

    The service looks at the token with every request; what it may do is what that principal was granted, whatever
    the connection's own principal may. Closing either client closes both.
    """
    return Umbriel(_Spoken(client._transport, token), profile=profile or client.profile)  # noqa: SLF001


class _Spoken(Transport):
    """Another's connection, and the token that goes with each request on it."""

    def __init__(self, carrier: Transport, token: str) -> None:
        self.principal = carrier.principal
        self._carrier = carrier
        self._token = token

    @property
    def connected(self) -> bool:
        return self._carrier.connected

    async def close(self) -> None:
        await self._carrier.close()

    async def call(
        self,
        profile: str,
        verb: str,
        request: msgspec.Struct | Mapping[str, Any],
        reply: type[Reply],
        *,
        timeout: float,
        idempotent: bool = True,
        retry: bool = True,
        token: str = "",
    ) -> Reply:
        return await self._carrier.call(
            profile,
            verb,
            request,
            reply,
            timeout=timeout,
            idempotent=idempotent,
            retry=retry,
            token=token or self._token,
        )

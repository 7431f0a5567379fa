"""Any verb by its name, for what stands between the client and somebody else; a part of the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from umbriel._transport import Transport

__all__ = ["Calls"]

_SECONDS = 30.0

Answer = TypeVar("Answer", bound=msgspec.Struct)


class Calls:
    """The client below its methods."""

    _transport: Transport
    _profile: str

    @property
    def connected(self) -> bool:
        """Whether the connection stands; it reconnects by itself to the same address, not to a service moved on."""
        return self._transport.connected

    async def call(
        self, verb: str, request: msgspec.Struct | Mapping[str, Any], reply: type[Answer], *, timeout: float = _SECONDS
    ) -> Answer:
        """Send a request of the operations table, or its fields, to this client's profile, and return the reply."""
        return await self._transport.call(self._profile, verb, request, reply, timeout=timeout)

"""Who calls the tools over HTTP: the token decides the principal, its grants and the profile."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict

import msgspec

from gateways.agents import check_agent
from gateways.mcp.server import Connection
from umbriel import Umbriel
from umbriel._relay import speaking
from umbriel.grants import GrantSpec

__all__ = ["Speakers"]

#: seconds after which a token is asked about again before a request is let in; every call asks by itself
_KNOWN_SECONDS = 30.0
#: callers that are remembered; who comes back after that many others waits for nothing that it wrote before
_MOST = 1_000
_EVERY = "*"


class _Known(msgspec.Struct, frozen=True):
    connection: Connection
    until: float


class Speakers:
    """Callers by their token, each with what it wrote last; ``own`` is the connection that carries all of them."""

    def __init__(self, own: Connection, profile: str) -> None:
        self.own = own
        self._profile = profile
        self._known: OrderedDict[bytes, _Known] = OrderedDict()

    async def of(self, token: str, profile: str = "") -> Connection:
        """Return the connection of whoever has a token, for the profile that it names or was granted.

        Raises RefusedError for a token that is none, or a person's: what a model writes is no person's statement.
        """
        key = hashlib.sha256(f"{profile}\0{token}".encode("utf-8", "surrogatepass")).digest()
        known = self._known.pop(key, None)
        if known is None or known.until < time.monotonic():
            known = await self._ask(token, profile, known)
        self._known[key] = known
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return known.connection

    async def _ask(self, token: str, profile: str, known: _Known | None) -> _Known:
        client = speaking(await self.own.client(), token)
        who = await check_agent(client)
        connection = known.connection if known else self._spoken(token, profile or self._granted(who.grants))
        return _Known(connection, time.monotonic() + _KNOWN_SECONDS)

    def _granted(self, grants: list[GrantSpec]) -> str:
        """Return the one profile that was granted; the server's own where that leaves a choice."""
        named = {one.profile for one in grants}
        return named.pop() if len(named) == 1 and _EVERY not in named else self._profile

    def _spoken(self, token: str, profile: str) -> Connection:
        async def connect() -> Umbriel:
            return speaking(await self.own.client(), token, profile)

        return Connection(connect)

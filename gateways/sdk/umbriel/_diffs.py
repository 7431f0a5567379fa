"""The verb that compares two points of a profile's past; a part of the client."""

from __future__ import annotations

from umbriel import diffs as wire
from umbriel._past import Point, wire_point
from umbriel._transport import Transport
from umbriel.types import Kind

__all__ = ["DiffVerbs"]

_READ = 60.0


class DiffVerbs:
    """Compare what the client's profile knew at two points."""

    _transport: Transport
    _profile: str

    async def diff(
        self,
        start: Point = "",
        end: Point = "",
        *,
        contact: str = "",
        kind: Kind | None = None,
        cursor: str = "",
        limit: int = 100,
        at_least: str = "",
        timeout: float = _READ,
    ) -> wire.DiffReply:
        """Return a page of what was learned, changed, ended, forgotten and adjusted between two points.

        ``start`` empty is before the first event, ``end`` empty is now; each is a time of recording or a position. Ask
        again with the same points and the reply's ``cursor``.
        """
        request = wire.DiffRequest(
            start=wire_point(start),
            end=wire_point(end),
            contact=contact,
            kind=kind,
            cursor=cursor,
            limit=limit,
            at_least=at_least,
        )
        return await self._transport.call(self._profile, "diff", request, wire.DiffReply, timeout=timeout)

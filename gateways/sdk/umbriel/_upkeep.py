"""The verb of upkeep; a part of the client."""

from __future__ import annotations

from umbriel import reflecting
from umbriel import upkeep as wire
from umbriel._transport import Transport

__all__ = ["UpkeepVerbs"]

_LONG = 600.0


class UpkeepVerbs:
    """Decay, consolidation and reflection of the client's profile, beside the daily passes."""

    _transport: Transport
    _profile: str

    async def consolidate(
        self, *, dry_run: bool = False, day: str = "", timeout: float = _LONG
    ) -> wire.ConsolidateReply:
        """Let decay what nobody used, and merge what says the same; with ``dry_run`` only say what would be done.

        A dry run may be as of another UTC ``day``, as ``2026-01-31``.
        """
        request = wire.ConsolidateRequest(dry_run=dry_run, day=day)
        return await self._transport.call(
            self._profile, "consolidate", request, wire.ConsolidateReply, timeout=timeout, idempotent=dry_run
        )

    async def reflect_day(
        self, day: str = "", *, dry_run: bool = False, timeout: float = _LONG
    ) -> reflecting.ReflectDayReply:
        """Think about a UTC day that is over (``2026-01-31``; empty: yesterday), with each contact by itself.

        Thought about before, it stays as it was. With ``dry_run`` any day is shown as it is now, and nothing written.
        """
        request = reflecting.ReflectDayRequest(day=day, dry_run=dry_run)
        return await self._transport.call(
            self._profile, "reflect_day", request, reflecting.ReflectDayReply, timeout=timeout, idempotent=True
        )

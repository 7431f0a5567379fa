"""The verb of upkeep; a part of the client."""

from __future__ import annotations

from umbriel import upkeep as wire
from umbriel._transport import Transport

__all__ = ["UpkeepVerbs"]

_LONG = 600.0


class UpkeepVerbs:
    """Decay and consolidation of the client's profile, beside the daily pass."""

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

"""The feed of a profile's events, page by page or for ever; a part of the client."""

from __future__ import annotations

from collections.abc import Iterable

from umbriel import types as wire
from umbriel._subscription import Subscription
from umbriel._transport import Transport

__all__ = ["FeedVerbs"]

_READ = 30.0
_POLL = 20.0
#: a poll unanswered so long after its time was lost with whoever should answer it
_POLL_GRACE = 5.0


class FeedVerbs:
    """Follow what happens in the client's profile."""

    _transport: Transport
    _profile: str

    async def feed(
        self,
        *,
        after: str = "",
        kinds: Iterable[str] = (),
        contact: str = "",
        limit: int = 100,
        wait: float = 0.0,
        timeout: float = _READ,
    ) -> wire.FeedReply:
        """Return events after a position, waiting up to ``wait`` seconds (at most 30) for the first.

        Without ``after`` from the first event; ``after="new"`` returns no event but the position of the log's end.
        """
        request = wire.FeedRequest(after=after, kinds=list(kinds), contact=contact, limit=limit, wait=wait)
        return await self._transport.call(self._profile, "feed", request, wire.FeedReply, timeout=timeout + wait)

    def subscribe(
        self, *, after: str | None = None, kinds: Iterable[str] = (), contact: str = "", limit: int = 100
    ) -> Subscription:
        """Yield every event after a position, for ever, in order: ``async for event in memory.subscribe()``.

        ``after`` is the position of the last event handled, as from another process; None begins with the first
        event of the log, ``"new"`` with the first one from now on. ``kinds`` are event categories (without them all
        but embedding, access, usage and recall), ``contact`` leaves only what is about one contact. Nothing is missed
        or repeated across reconnects and restarts of the service.
        """
        wanted = tuple(kinds)

        async def poll(position: str) -> wire.FeedReply:
            return await self.feed(
                after=position, kinds=wanted, contact=contact, limit=limit, wait=_POLL, timeout=_POLL_GRACE
            )

        return Subscription(poll, after or "")

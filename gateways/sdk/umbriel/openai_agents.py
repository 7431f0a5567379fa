"""A session of the OpenAI Agents SDK, kept in Umbriel: ``pip install 'umbriel[openai-agents]'``.

session = UmbrielSession("mara-1", memory, contact="mara")
await Runner.run(agent, "I moved to Porto.", session=session)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar, cast

from agents import SessionSettings, TResponseInputItem
from agents.memory.session_settings import resolve_session_limit

from umbriel._agent_items import StoredItem, items_newest_first, items_oldest_first, messages_of
from umbriel._errors import NotFoundError
from umbriel.client import Umbriel
from umbriel.messages import SaidMessage

__all__ = ["UmbrielSession"]

_PAGE = 500
#: messages read at first for each item wanted from the end; a few of them belong to one item
_FEW = 4
T = TypeVar("T")


class UmbrielSession:
    """A conversation of agents (the SDK's `Session` protocol) that outlives its process.

    Every item comes back exactly as it was added. What the user and the assistant say in words is read for memories,
    of ``contact`` where one is given; tool calls, reasoning and images are kept beside. Any number of processes may
    use one session: whoever reads sees all that was acknowledged before. What was said in the session by other ways
    (`Umbriel.ingest`, an importer) is part of it. Use it in the event loop that ``memory`` was opened in.

    ``session_id`` has at most 64 characters. `pop_item` forgets the last item's messages, `clear_session` deletes the
    session, and with them goes what was read from them alone.
    """

    def __init__(
        self,
        session_id: str,
        memory: Umbriel,
        *,
        contact: str = "",
        channel: str = "",
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._memory = memory
        self._contact = contact
        self._channel = channel

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the conversation, oldest first: all of it, or the latest ``limit`` items (of the settings if None)."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is None or most < 0:
            found = items_oldest_first([one async for one in self._said()])
        else:
            found = [one async for one in self._latest(most)][::-1]
        return [cast("TResponseInputItem", one.item) for one in found]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the end of the conversation, all of them or, where one is no JSON, none.

        Equal items are items of their own.
        """
        messages = [one for item in items for one in messages_of(cast("dict[str, Any]", item))]
        if messages:
            adding = self._memory.ingest(
                messages, session=self.session_id, contact=self._contact, channel=self._channel
            )
            await _to_its_end(adding)

    async def pop_item(self) -> TResponseInputItem | None:
        """Forget the last item and return it, None where there is none; of two who ask at once each gets another."""
        return await _to_its_end(self._pop())

    async def clear_session(self) -> None:
        """Delete the session: every item is forgotten."""
        await _to_its_end(self._clear())

    async def _pop(self) -> TResponseInputItem | None:
        while True:
            last = [one async for one in self._latest(1)]
            if not last:
                return None
            first, *more = last[0].messages
            # Who forgets the first message has the item.
            if first in (await self._memory.forget(first)).touched:
                for one in more:
                    await self._memory.forget(one)
                return cast("TResponseInputItem", last[0].item)

    async def _clear(self) -> None:
        try:
            await self._memory.delete_session(self.session_id)
        except NotFoundError:
            return

    async def _now(self) -> str:
        """Return how far the log is, so that what another process added is not missed."""
        return (await self._memory.feed(after="new", limit=1)).position

    async def _said(self) -> AsyncIterator[SaidMessage]:
        """Yield all messages, oldest first."""
        at_least, cursor = await self._now(), ""
        while True:
            page = await self._memory.messages(self.session_id, cursor=cursor, limit=_PAGE, at_least=at_least)
            for one in page.messages:
                yield one
            cursor = page.cursor
            if not cursor:
                return

    async def _latest(self, most: int) -> AsyncIterator[StoredItem]:
        """Yield the latest items, newest first."""
        if not most:
            return
        at_least, cursor, kept, left = await self._now(), "", dict[str, Any](), most
        while True:
            page = await self._memory.messages(
                self.session_id, order="newest", cursor=cursor, limit=min(_PAGE, left * _FEW), at_least=at_least
            )
            for one in items_newest_first(page.messages, kept):
                yield one
                left -= 1
                if not left:
                    return
            cursor = page.cursor
            if not cursor:
                return


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for a change even where the caller is cancelled: what became of it is known then."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            # Who cancelled hears of the cancellation, not of this.
            task.exception()
        raise

"""What a key-value store asks of Umbriel; the store itself adds its framework's words. Asynchronous, of one profile.

Every read asks for the end of the log first, so that what another process wrote is not missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from umbriel._errors import NotFoundError, RefusedError, UnavailableError
from umbriel._split import sequence_of
from umbriel._store_filters import below
from umbriel._store_items import FACT_TYPE, Packed, Stored, contact_of, contacts_below, key_of, marked, pack, unpack
from umbriel.client import Umbriel
from umbriel.recalling import RecallReply

__all__ = ["StoreVerbs"]

_PAGE = 500
_MOST_RESULTS = 200
_QUERY_BYTES = 1_024
#: namespaces that are read one by one; above, all are read and the others left out
_ONE_BY_ONE = 8
#: namespaces that are asked one by one where a question to all of them found too little
_ASKED = 32
_AT_ONCE = 8
_ALL = "*"
#: how much of an item's time must be over before a read begins it anew, and the seconds that are enough
_USED, _USED_SECONDS = 0.01, 60.0

Wanted = Callable[[Stored], bool]


class StoreVerbs:
    """Items in one profile: read, written, looked for."""

    def __init__(self, memory: Umbriel) -> None:
        self._memory = memory
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def now(self) -> str:
        """Return the position of the log's end."""
        return (await self._memory.feed(after="new", limit=1)).position

    async def get(self, namespace: Sequence[str], key: str, at_least: str) -> Stored | None:
        """Return one item, None where it is not there."""
        async with self._room:
            try:
                found = await self._memory.get(
                    key=key_of(key), contact=contact_of(namespace), kind="fact", at_least=at_least
                )
            except NotFoundError:
                return None
        stored = unpack(found)
        # A contact that is linked with this one may have a key of the same name.
        same = stored is not None and (stored.namespace, stored.key) == (tuple(namespace), key)
        return stored if same else None

    async def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        texts: Sequence[str] | None,
        ttl: float | None,
    ) -> None:
        """Write an item; the one before it under this key is superseded, and keeps when it began."""
        before = await self.get(namespace, key, await self.now())
        packed = pack(namespace, key, value, texts=texts, ttl=ttl, since=before.created_at if before else None)
        async with self._room:
            if await self._write(packed, _until(ttl)):
                return
            # Its words are those of the item before it, as words are compared; the value is another.
            await self._write(marked(packed), _until(ttl))

    async def _write(self, packed: Packed, until: datetime | None) -> bool:
        """State an item; False where another one counts as equal to it."""
        reply = await self._memory.remember(
            packed.content,
            key=packed.key,
            kind="fact",
            fact_type=FACT_TYPE,
            contact=packed.contact,
            expires_at=until,
            metadata=packed.metadata,
        )
        if reply.outcome in ("remembered", "superseded", "repeated"):
            return True
        if reply.outcome != "duplicate":
            raise RefusedError(
                "the item cannot be replaced", expected="one that an agent wrote", found=f"{reply.outcome}: a person's"
            )
        if not packed.says(reply.memory):
            return False
        if reply.memory.expires_at != until:
            await self._memory.expire(reply.memory.id, at=until, never=until is None)
        return True

    async def delete(self, namespace: Sequence[str], key: str) -> None:
        """Forget an item, in every version; one that is not there is no error."""
        async with self._room:
            try:
                await self._memory.forget(key=key_of(key), contact=contact_of(namespace))
            except NotFoundError:
                return

    async def refresh(self, items: Sequence[Stored]) -> None:
        """Begin the time anew of those items that expire, where enough of it is over to be worth an event."""
        due = [(one.id, until) for one in items if (until := _until(one.ttl)) and _is_due(one, until)]

        async def prolong(id_: str, until: datetime) -> None:
            async with self._room:
                try:
                    await self._memory.expire(id_, at=until)
                except NotFoundError:
                    return  # somebody deleted it

        await asyncio.gather(*(prolong(*one) for one in due))

    async def items(self, prefix: Sequence[str], wanted: Wanted, most: int | None, at_least: str) -> list[Stored]:
        """Return the items below a prefix that are ``wanted``, the one written last first; ``most`` None is all."""

        def is_meant(one: Stored) -> bool:
            return below(one.namespace, prefix) and wanted(one)

        contacts = await self._contacts(prefix, at_least)
        lists = [await self._listed(contact, is_meant, most, at_least) for contact in contacts]
        by_id = {one.id: one for found in lists for one in found}
        return sorted(by_id.values(), key=lambda one: -sequence_of(one.position))[:most]

    async def expired(self) -> list[Stored]:
        """Return the items whose time is over and that are still kept."""
        return await self._listed(_ALL, lambda _: True, None, await self.now(), status="expired")

    async def _contacts(self, prefix: Sequence[str], at_least: str) -> list[str]:
        """Return the contacts to read for a prefix: those of its namespaces, or all where they are too many."""
        if not prefix:
            return [_ALL]
        known: list[str] = []
        cursor = ""
        try:
            while True:
                page = await self._memory.list_contacts(cursor=cursor, limit=_PAGE, at_least=at_least)
                known += [one.contact for one in page.contacts if one.memories]
                cursor = page.cursor
                if not cursor:
                    break
        except RefusedError:
            # Who may not know who else there is reads the namespace that is named.
            return [contact_of(prefix)]
        found = contacts_below(prefix, known)
        return found if len(found) <= _ONE_BY_ONE else [_ALL]

    async def _listed(
        self, contact: str, wanted: Wanted, most: int | None, at_least: str, status: str = "live"
    ) -> list[Stored]:
        found: list[Stored] = []
        cursor = ""
        while most is None or len(found) < most:
            page = await self._memory.list(
                contact=contact, kind="fact", status=status, cursor=cursor, limit=_PAGE, at_least=at_least
            )
            found += [one for entry in page.entries if (one := unpack(entry)) is not None and wanted(one)]
            cursor = page.cursor
            if not cursor:
                break
        return found[:most]

    async def scores(self, query: str, items: Sequence[Stored], most: int, at_least: str) -> dict[str, float]:
        """Return how relevant a query finds these items, by id, for ``most`` of them at least where so many are."""
        text = query.replace("\0", " ").encode("utf-8", "replace")[:_QUERY_BYTES].decode("utf-8", "ignore")
        open_items = [one for one in items if one.indexed]
        if not text.strip() or not open_items:
            return {}
        contacts = list(dict.fromkeys(one.contact for one in open_items))
        found: dict[str, float] = {}
        if len(contacts) > 1:
            found = await self._asked(text, _ALL, open_items, at_least)
        if len(found) < min(most, len(open_items)):
            asked = (self._asked(text, one, open_items, at_least) for one in contacts[:_ASKED])
            for more in await asyncio.gather(*asked):
                found.update(more)
        return found

    async def _asked(self, text: str, contact: str, items: Sequence[Stored], at_least: str) -> dict[str, float]:
        async with self._room:
            try:
                reply = await self._recall(text, contact, at_least, whole=True)
            except (UnavailableError, RefusedError) as error:
                if isinstance(error, RefusedError) and contact == _ALL:
                    return {}
                if not error.retryable:
                    raise
                # Vectors that are still being made are not waited for for ever.
                reply = await self._recall(text, contact, at_least, whole=False)
        # Of items with the same words recall hands out one.
        by_words = {(one.contact, one.text): one.relevance for one in reply.results}
        return {one.id: by_words[place] for one in items if (place := (one.contact, one.text)) in by_words}

    async def _recall(self, text: str, contact: str, at_least: str, *, whole: bool) -> RecallReply:
        return await self._memory.recall(
            text,
            contact=contact,
            kinds=["fact"],
            limit=_MOST_RESULTS,
            at_least=at_least,
            visibility="complete" if whole else "keyword",
        )


def _until(ttl: float | None) -> datetime | None:
    return None if ttl is None else datetime.now(UTC) + timedelta(minutes=ttl)


def _is_due(item: Stored, until: datetime) -> bool:
    if item.expires_at is None or item.ttl is None:
        return item.expires_at is None
    over = (until - item.expires_at).total_seconds()
    return over >= min(item.ttl * 60 * _USED, _USED_SECONDS)

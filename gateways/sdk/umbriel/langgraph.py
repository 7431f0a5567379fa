"""A store of LangGraph, kept in Umbriel: ``pip install 'umbriel[langgraph]'``.

with UmbrielStore.embedded("./memory", profile="agent") as store:
    graph = builder.compile(store=store)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    validate_op_namespace,
)

from umbriel._errors import InvalidInputError
from umbriel._store_filters import matches, path_matches
from umbriel._store_items import Stored, exact_json, leaves, pack
from umbriel._store_verbs import StoreVerbs
from umbriel.client import Umbriel

__all__ = ["UmbrielStore"]

#: minutes of the longest time to live, a thousand years
_LONGEST = 525_600_000
T = TypeVar("T")
Open = Callable[[], Awaitable[Umbriel]]


class UmbrielStore(BaseStore):
    """LangGraph's `BaseStore` over a profile of Umbriel, for any number of threads, event loops and processes.

    Every item is a memory: its namespace is a contact, its versions are its history, a deleted one is forgotten. Give
    the store a profile of its own. ``fields`` are the paths that items are found by (the whole value when None);
    ``index=False`` at a put keeps an item out of searches by words. A search with a query orders by relevance, one
    without it by what was written last. Values are JSON, up to about 32 KB each; a put that changes nothing writes
    nothing. Expired items are gone at once; `sweep_ttl` forgets them as well.

    The store has a connection and a thread of its own, opened by the first operation and ended by `close`.
    """

    supports_ttl = True

    def __init__(self, open: Open, *, fields: Sequence[str] | None = None, ttl: TTLConfig | None = None) -> None:
        """``open`` returns a client for the store alone, as ``lambda: Umbriel.connect(url, …)``."""
        self._open = open
        self._fields = None if fields is None else list(fields)
        self.ttl_config = ttl
        self._loop = asyncio.new_event_loop()
        self._opening = asyncio.Lock()
        self._memory: Umbriel | None = None
        self._verbs: StoreVerbs | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="umbriel-store", daemon=True)
        self._thread.start()

    @classmethod
    def embedded(
        cls,
        data_dir: str | Path | None = None,
        *,
        profile: str = "default",
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> Self:
        """Return a store on the service of a data directory, which is started where none runs."""
        return cls(lambda: Umbriel.embedded(data_dir, profile=profile), fields=fields, ttl=ttl)

    # -- what a store is asked ------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: the reads see what was there before, then of several puts to a key the last counts."""
        return self._start(lambda: self._batch(list(ops))).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, from any event loop."""
        return await asyncio.wrap_future(self._start(lambda: self._batch(list(ops))))

    def sweep_ttl(self) -> int:
        """Forget the items whose time is over, and return how many they were."""
        return self._start(self._sweep).result()

    async def asweep_ttl(self) -> int:
        """As `sweep_ttl`, from any event loop."""
        return await asyncio.wrap_future(self._start(self._sweep))

    def close(self) -> None:
        """End the connection and the thread; closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    # -- in the store's own thread --------------------------------------------------------------

    def _start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        if self._closed:
            raise InvalidInputError("the store is closed", expected="an open store", found="closed")
        return asyncio.run_coroutine_threadsafe(work(), self._loop)

    async def _ready(self) -> StoreVerbs:
        async with self._opening:
            if self._verbs is None:
                self._memory = await self._open()
                self._verbs = StoreVerbs(self._memory)
        return self._verbs

    async def _end(self) -> None:
        if self._memory is not None:
            await self._memory.close()

    async def _sweep(self) -> int:
        verbs = await self._ready()
        over = await verbs.expired()
        for one in over:
            await cast("Umbriel", self._memory).forget(one.id)
        return len(over)

    async def _batch(self, ops: Sequence[Op]) -> list[Result]:
        puts = _last_puts(ops)
        for put in puts:
            # All of them, before anything is written.
            self._check(put)
        verbs = await self._ready()
        at = "" if len(puts) == len(ops) else await verbs.now()
        results = [await self._read(verbs, one, at) for one in ops]
        await asyncio.gather(*(self._write(verbs, put) for put in puts))
        return results

    def _check(self, put: PutOp) -> None:
        if put.value is None:
            return
        exact_json(put.value)
        if put.ttl is not None and not 0 < put.ttl <= _LONGEST:
            raise InvalidInputError("the ttl is out of range", expected=f"above 0, to {_LONGEST}", found=str(put.ttl))
        # As large as it can become: with the time at which it began.
        pack(put.namespace, put.key, put.value, texts=self._texts(put), ttl=put.ttl, since=datetime.now(UTC))

    async def _write(self, verbs: StoreVerbs, put: PutOp) -> None:
        if put.value is None:
            await verbs.delete(put.namespace, put.key)
        else:
            await verbs.put(put.namespace, put.key, put.value, self._texts(put), put.ttl)

    def _texts(self, put: PutOp) -> list[str] | None:
        """Return what an item is found by, None where it is not to be found by words."""
        if put.value is None or put.index is False:
            return None
        fields = self._fields if put.index is None else put.index
        if fields is None or "$" in fields:
            return leaves(put.value)
        return [text for field in fields for text in get_text_at_path(dict(put.value), field)] or None

    async def _read(self, verbs: StoreVerbs, op: Op, at: str) -> Result:
        match op:
            case GetOp():
                found = await verbs.get(op.namespace, op.key, at)
                await verbs.refresh([found] if found and op.refresh_ttl else [])
                return None if found is None else Item(**_shown(found))
            case SearchOp():
                hits = await _search(verbs, op, at)
                await verbs.refresh([one for one, _ in hits] if op.refresh_ttl else [])
                return [SearchItem(**_shown(one), score=score) for one, score in hits]
            case ListNamespacesOp():
                return _page(op, await verbs.items((), lambda _: True, None, at))
            case _:
                return None


async def _search(verbs: StoreVerbs, op: SearchOp, at: str) -> list[tuple[Stored, float | None]]:
    """Return a page of what is found: with a query what it finds first, then what it says nothing about."""
    most = max(op.offset, 0) + max(op.limit, 0)
    plain = not op.query
    found = await verbs.items(
        op.namespace_prefix, lambda one: matches(one.value, op.filter), most if plain else None, at
    )
    scores = {} if plain else await verbs.scores(op.query or "", found, most, at)
    # Sorting keeps the order of equals: the one written last first.
    ordered = sorted(found, key=lambda one: -scores.get(one.id, -1.0))
    return [(one, scores.get(one.id)) for one in ordered[max(op.offset, 0) : most]]


def _page(op: ListNamespacesOp, items: Iterable[Stored]) -> list[tuple[str, ...]]:
    conditions = op.match_conditions or ()
    spaces = {one.namespace for one in items}
    found = {
        space[: op.max_depth]
        for space in spaces
        if all(path_matches(space, one.match_type, one.path) for one in conditions)
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def _shown(stored: Stored) -> dict[str, Any]:
    return {
        "value": stored.value,
        "key": stored.key,
        "namespace": stored.namespace,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }


def _last_puts(ops: Sequence[Op]) -> list[PutOp]:
    """Return the puts that count; raises for an operation that is none, or whose namespace is none."""
    last: dict[tuple[tuple[str, ...], str], PutOp] = {}
    for op in ops:
        if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
            raise TypeError(f"Unknown operation type: {type(op)}")
        validate_op_namespace(op)
        if isinstance(op, PutOp):
            last[op.namespace, op.key] = op
    return list(last.values())

"""How long ``context`` takes over a long conversation, beside its limit and one over an empty conversation.

The three take turns in one run, so that what else the machine does slows all of them. What is shown depends on
summaries that are made in the background: they are waited for first, for a turn of a conversation sees a warm context.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec

from gateways.bench.context_texts import conversation, questions_about
from gateways.bench.speed import EmbedsQueries
from gateways.bench.speed_report import Figure, figure
from gateways.bench.waiting import wait_complete
from umbriel import Umbriel, UnavailableError

__all__ = ["TARGET", "ContextReport", "measure_context"]

#: milliseconds that a warm context over 2,000 messages may take
TARGET = 100.0
_LONG, _EMPTY = "long", "empty"
_PART = 100
_TURN = 5
_PAUSE_SECONDS = 0.05
_COVER_SECONDS = 600.0


class ContextReport(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of a context over ``messages`` and over none, and of the embedding of its query alone.

    ``tokens`` is how long the context was, ``parts`` how many parts of each kind it had.
    """

    version: str
    model: str
    messages: int
    budget: int
    tokens: int
    parts: dict[str, int]
    context: Figure
    empty: Figure
    embedding: Figure

    @property
    def met(self) -> bool:
        """Whether the middle one of the contexts took no longer than it should."""
        return self.context.p50 <= TARGET


async def measure_context(
    client: Umbriel,
    embedder: EmbedsQueries,
    *,
    version: str,
    model: str,
    messages: int,
    budget: int,
    queries: int,
    loaded: Callable[[int], None],
    measured: Callable[[int], None],
) -> ContextReport:
    """Write a conversation into the client's profile and measure there."""
    # What is measured is showing, not what else is made of it.
    await client.settings({"extraction.enabled": False, "verifier.enabled": False})
    said, position = conversation(messages), ""
    for start in range(0, messages, _PART):
        part = said[start : start + _PART]
        position = (await client.ingest(part, session=_LONG)).position
        loaded(len(part))
    await wait_complete(client, position, messages, loaded)
    await _covered(client, budget)
    asked = questions_about(queries + _TURN)
    for text in asked[:_TURN]:
        embedder.embed_query(text)
        await _context(client, _EMPTY, text, budget)
        await _context(client, _LONG, text, budget)
    embeddings: list[float] = []
    empty: list[float] = []
    long: list[float] = []
    for start in range(_TURN, len(asked), _TURN):
        turn = asked[start : start + _TURN]
        await asyncio.sleep(_PAUSE_SECONDS)
        for text in turn:
            started = time.perf_counter()
            embedder.embed_query(text)
            embeddings.append(time.perf_counter() - started)
        await asyncio.sleep(_PAUSE_SECONDS)
        empty += [await _timed(_context(client, _EMPTY, text, budget)) for text in turn]
        long += [await _timed(_context(client, _LONG, text, budget)) for text in turn]
        measured(len(turn))
    shown = await client.context(_LONG, query=asked[0], budget=budget)
    kinds = [part.kind for part in shown.parts]
    return ContextReport(
        version=version,
        model=model,
        messages=messages,
        budget=budget,
        tokens=shown.total,
        parts={kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        context=figure(long),
        empty=figure(empty),
        embedding=figure(embeddings),
    )


async def _covered(client: Umbriel, budget: int) -> None:
    """Ask until every summary that the conversation needs is made."""
    ends = time.monotonic() + _COVER_SECONDS
    while (await client.context(_LONG, query="-", budget=budget)).covering:
        if time.monotonic() > ends:
            raise UnavailableError("the summaries do not come to an end", expected="within ten minutes", found="more")
        await asyncio.sleep(_PAUSE_SECONDS)


async def _context(client: Umbriel, session: str, query: str, budget: int) -> None:
    await client.context(session, query=query, budget=budget, format="openai")


async def _timed(work: Awaitable[object]) -> float:
    started = time.perf_counter()
    await work
    return time.perf_counter() - started

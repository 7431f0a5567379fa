"""Speed at one size: what is written, found and waited for, one profile each, through the public API.

The embedding of a query is the least that a recall can take; it is measured here in turns with recall, so that what
else the machine does slows both.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Protocol

import msgspec

from gateways.bench.speed_report import SizeReport, figure
from gateways.bench.speed_texts import Note, notes, questions
from gateways.bench.waiting import sequence, wait_complete
from umbriel import Umbriel, UnavailableError

__all__ = ["Effort", "EmbedsQueries", "SpeedWatcher", "measure_size"]

_AT_ONCE = 32
#: Queries asked in a row before the embedding has its turn; the pause lets the other one's threads come to rest.
_TURN = 10
_PAUSE_SECONDS = 0.05
_WRITES_PER_SECOND = 50.0
#: A write's own text is what is asked for; others that share all its rare words may stand before it.
_LOOK_AT = 20


class EmbedsQueries(Protocol):
    """The model whose one call is the limit."""

    def embed_query(self, text: str) -> bytes:
        """Return the vector of a query."""


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How often each figure is measured."""

    queries: int = 200
    writes: int = 200
    visible: int = 200


class SpeedWatcher(msgspec.Struct, frozen=True):
    """What to call as work gets done: memories loaded, and measurements taken."""

    loaded: Callable[[int], None]
    measured: Callable[[int], None]


async def measure_size(
    client: Umbriel, size: int, embedder: EmbedsQueries, effort: Effort, watcher: SpeedWatcher
) -> SizeReport:
    """Load ``size`` memories into the client's profile and measure there; the peer and the ratios come later."""
    # What is measured is keeping and finding, not what else is made of it.
    await client.settings({"extraction.enabled": False, "verifier.enabled": False})
    own = notes(size + effort.writes + effort.visible)
    loaded, single, paced = own[:size], own[size : size + effort.writes], own[size + effort.writes :]
    started = time.perf_counter()
    await _load(client, loaded, watcher)
    seconds = time.perf_counter() - started
    recalls, embeddings = await _find(client, questions(loaded, effort.queries), embedder, watcher)
    writes = await _write(client, single, watcher)
    words, meaning = await _until_found(client, paced, watcher)
    return SizeReport(
        size=size,
        loaded_per_second=round(size / seconds, 1),
        remember=figure(writes),
        recall=figure(recalls),
        embedding=figure(embeddings),
        found_by_words=figure(words),
        found_by_meaning=figure(meaning),
    )


async def _load(client: Umbriel, loaded: Sequence[Note], watcher: SpeedWatcher) -> None:
    """Write several at once, and wait until all of it can be found by meaning as well."""
    waiting = iter(loaded)
    positions: list[str] = []

    async def write() -> None:
        for note in waiting:
            positions.append((await client.remember(note.text, key=note.key)).position)
            watcher.loaded(1)

    await _together(write() for _ in range(_AT_ONCE))
    await wait_complete(client, max(positions, key=sequence), len(loaded), watcher.loaded)


async def _find(
    client: Umbriel, asked: Sequence[str], embedder: EmbedsQueries, watcher: SpeedWatcher
) -> tuple[list[float], list[float]]:
    """Return the seconds of each recall and of each embedding alone; what is cold at first is warmed before."""
    recalls: list[float] = []
    embeddings: list[float] = []
    for text in asked[:_TURN]:
        embedder.embed_query(text)
        await client.recall(text)
    for start in range(0, len(asked), _TURN):
        turn = asked[start : start + _TURN]
        await asyncio.sleep(_PAUSE_SECONDS)
        for text in turn:
            started = time.perf_counter()
            embedder.embed_query(text)
            embeddings.append(time.perf_counter() - started)
        await asyncio.sleep(_PAUSE_SECONDS)
        recalls.extend([await _timed(client.recall(text)) for text in turn])
        watcher.measured(len(turn))
    return recalls, embeddings


async def _write(client: Umbriel, single: Sequence[Note], watcher: SpeedWatcher) -> list[float]:
    """Return the seconds until each of several writes, one after the other, is acknowledged."""
    seconds = []
    for note in single:
        seconds.append(await _timed(client.remember(note.text, key=note.key)))
        watcher.measured(1)
    return seconds


async def _until_found(
    client: Umbriel, paced: Sequence[Note], watcher: SpeedWatcher
) -> tuple[list[float], list[float]]:
    """Write at a steady pace; return the seconds from each write until recall finds it, by words or by meaning."""
    words: list[float] = []
    meaning: list[float] = []

    async def follow(note: Note, number: int) -> None:
        await asyncio.sleep(number / _WRITES_PER_SECOND)
        # Each takes its turn: asking both ways for every write would measure the asking.
        if number % 2:
            meaning.append(await _timed(_found(client, note, "vector")))
        else:
            words.append(await _timed(_found(client, note, "keyword")))
        watcher.measured(1)

    await _together(follow(note, number) for number, note in enumerate(paced))
    return words, meaning


async def _found(client: Umbriel, note: Note, channel: str) -> None:
    written = await client.remember(note.text, key=note.key)
    found = await client.recall(
        note.text,
        channels=[channel],
        limit=_LOOK_AT,
        at_least=written.position,
        visibility="keyword" if channel == "keyword" else "complete",
    )
    if written.memory.id not in {one.id for one in found.results}:
        raise UnavailableError("recall does not find what was written", expected=note.text, found=f"not by {channel}")


async def _together(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of it at once; the first error ends the rest and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(one)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed


async def _timed(work: Awaitable[object]) -> float:
    started = time.perf_counter()
    await work
    return time.perf_counter() - started

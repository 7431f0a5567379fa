"""A log to measure growth with: memories and their vectors as the events that a service would have written.

The real model takes hours for a million texts. ``WordVectors`` takes its place where that is wanted: a text's vector is
the sum of its words', so that texts which share words are near each other, as they are for the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from domain.addresses import address_of
from domain.envelope import Actor, Envelope
from domain.events import EmbeddingComputed, Event, MemoryRemembered
from domain.ids import keyed_id, memory_id
from domain.indexing import Indexing, memory_text
from domain.kinds import CONFIDENCE
from domain.ports import Embedded
from domain.text import fold_content
from gateways.bench.speed_texts import Note

__all__ = ["EmbedsTexts", "WordVectors", "envelopes", "remembered", "scale_indexing"]

_START = datetime(2026, 1, 1, tzinfo=UTC)
_SECRET = b"scale benchmark, nothing hidden."
_ACTOR = Actor("bench", "service")
_KEY = "bench"
_WORD = re.compile(r"\w+")
_AT_ONCE = 64
#: What every text has in common with every other, and what no word says, beside one word.
_COMMON, _OWN = 1.0, 0.5


class EmbedsTexts(Protocol):
    """Whatever makes the vectors of the log."""

    @property
    def model(self) -> str:
        """The name that travels with every vector."""

    @property
    def dimension(self) -> int:
        """Components per vector."""

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return the vectors of each text."""

    def embed_query(self, text: str) -> bytes:
        """Return the vector of a query."""


class WordVectors:
    """`EmbedsTexts` without a model: unit sums of one fixed random vector for each word."""

    model = "words"

    def __init__(self, dimension: int = 384) -> None:
        self.dimension = dimension
        self._words: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return the vector of each text, one chunk each."""
        return [Embedded(chunks=1, vectors=self.embed_query(text)) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Return the vector of a text: the same for the same text."""
        words = [self._word(word) for word in _WORD.findall(text.casefold())]
        total = np.sum([*words, _COMMON * self._word(""), _OWN * self._drawn(text)], axis=0)
        return bytes((total / np.linalg.norm(total)).astype("<f4").tobytes())

    def _word(self, word: str) -> NDArray[np.float32]:
        found = self._words.get(word)
        if found is None:
            found = self._words[word] = self._drawn(word)
        return found

    def _drawn(self, text: str) -> NDArray[np.float32]:
        return np.random.default_rng(crc32(text.encode())).standard_normal(self.dimension, dtype=np.float32)


def scale_indexing(embedder: EmbedsTexts) -> Indexing:
    """Return the indexing rule of every profile of the log."""
    return Indexing(partial(keyed_id, _SECRET), embedder.model, embedder.dimension)


def envelopes(notes: Iterable[Note], embedder: EmbedsTexts) -> Iterator[Envelope]:
    """Yield each memory and, close behind, its vectors, as the embedding worker would append them."""
    indexing, position = scale_indexing(embedder), 0
    waiting: list[str] = []

    def put(event: Event) -> Envelope:
        nonlocal position
        position += 1
        return Envelope(
            originator_id=f"scale.{event.category()}.{position}",
            originator_version=1,
            event_id=f"e{position}",
            recorded_at=_START + timedelta(seconds=position),
            actor=_ACTOR,
            data=event,
            key_id=_KEY,
            position=position,
        )

    for note in notes:
        event = remembered(note)
        waiting.append(memory_text(event))
        yield put(event)
        if len(waiting) == _AT_ONCE:
            yield from map(put, _computed(waiting, embedder, indexing))
            waiting.clear()
    yield from map(put, _computed(waiting, embedder, indexing))


def remembered(note: Note) -> MemoryRemembered:
    """Return the event that a note is written as."""
    address = address_of("fact", contact=None, key=note.key, content=note.text, session="")
    return MemoryRemembered(
        memory=memory_id(address, 1),
        address=address,
        version=1,
        kind="fact",
        text=note.text,
        folded=fold_content(note.text),
        source="explicit",
        confidence=CONFIDENCE["explicit"],
        key=note.key,
    )


def _computed(texts: Sequence[str], embedder: EmbedsTexts, indexing: Indexing) -> Iterator[EmbeddingComputed]:
    for text, found in zip(texts, embedder.embed(texts), strict=True):
        yield EmbeddingComputed(
            embedding=indexing.embedding_id(_KEY, text),
            model=embedder.model,
            dimension=embedder.dimension,
            chunks=found.chunks,
            vectors=found.vectors,
        )

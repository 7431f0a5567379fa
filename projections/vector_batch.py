"""What one commit of the vector view consists of: the records of a batch that change anything."""

from __future__ import annotations

from typing import Protocol

import msgspec
import numpy as np

from domain.errors import DamagedError, MismatchError
from domain.events import EmbeddingComputed
from domain.indexing import IndexChange, IndexItem
from projections.segments import Added, Computed, Record, Removed

__all__ = ["VectorBatch", "VectorState"]


class VectorState(Protocol):
    """What is in the index before the batch."""

    def item(self, id_: str) -> Added | None:
        """Return what is known of an item."""

    def knows(self, embedding: str) -> bool:
        """Return whether the vectors of an embedding have come."""


class VectorBatch:
    """The records of one commit, without those that would change nothing."""

    def __init__(self, view: VectorState, model: str, dimension: int) -> None:
        self._view = view
        self._model, self._dimension = model, dimension
        self._touched: dict[str, Added | None] = {}
        self._embeddings: set[str] = set()
        self._size = 0
        self.records: list[Record] = []
        self.rows: list[bytes] = []

    def change(self, change: IndexChange) -> None:
        """Take in one change; raises MismatchError or DamagedError for vectors that cannot be indexed."""
        for id_ in change.remove:
            self._remove(id_)
        if change.add is not None:
            self._add(change.add, change.position)
        if change.computed is not None:
            self._computed(change.computed)

    def _current(self, id_: str) -> Added | None:
        if id_ in self._touched:
            return self._touched[id_]
        return self._view.item(id_)

    def _add(self, item: IndexItem, position: int) -> None:
        if not item.embedding:
            self._remove(item.id)
            return
        current = self._current(item.id)
        added = Added(item.id, item.kind, item.scope, item.embedding, position)
        if current is None or msgspec.structs.replace(current, position=position) != added:
            self._touched[item.id] = added
            self.records.append(added)

    def _remove(self, id_: str) -> None:
        if self._current(id_) is not None:
            self._touched[id_] = None
            self.records.append(Removed(id_))

    def _computed(self, event: EmbeddingComputed) -> None:
        if event.embedding in self._embeddings or self._view.knows(event.embedding):
            return
        self._check(event)
        self._embeddings.add(event.embedding)
        self.records.append(Computed(event.embedding, self._size, event.chunks))
        self.rows.append(event.vectors)
        self._size += event.chunks

    def _check(self, event: EmbeddingComputed) -> None:
        if (event.model, event.dimension) != (self._model, self._dimension):
            raise MismatchError(
                "vectors are of another model",
                expected=f"{self._model} of dimension {self._dimension}",
                found=f"{event.model} of dimension {event.dimension}",
            )
        size = event.chunks * self._dimension * 4
        if len(event.vectors) != size or not np.isfinite(np.frombuffer(event.vectors, dtype="<f4")).all():
            raise DamagedError(
                f"the vectors of embedding {event.embedding} are damaged",
                expected=f"{size} bytes of finite numbers",
                found=f"{len(event.vectors)} bytes",
            )

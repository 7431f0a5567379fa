"""Changes for tests of the two index views, without the events behind them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from domain.events import EmbeddingComputed
from domain.indexing import IndexChange, IndexItem

__all__ = ["DIMENSION", "MODEL", "added", "computed", "last", "removed", "unit"]

MODEL = "test-model"
DIMENSION = 4


def unit(*components: float) -> bytes:
    """A unit vector as float32 bytes."""
    vector = np.zeros(DIMENSION)
    vector[: len(components)] = components
    return (vector / np.linalg.norm(vector)).astype("<f4").tobytes()


def added(
    position: int, id_: str, text: str = "", *, embedding: str = "", kind: str = "fact", scope: str = "a"
) -> IndexChange:
    """An item is added."""
    item = IndexItem(id=id_, kind=kind, scope=scope, text=text, embedding=embedding)
    return IndexChange(position=position, add=item)


def removed(position: int, *ids: str) -> IndexChange:
    """Items leave."""
    return IndexChange(position=position, remove=ids)


def computed(position: int, embedding: str, *rows: bytes, model: str = MODEL) -> IndexChange:
    """The vectors of an embedding become known."""
    event = EmbeddingComputed(
        embedding=embedding, model=model, dimension=DIMENSION, chunks=len(rows), vectors=b"".join(rows)
    )
    return IndexChange(position=position, computed=event)


def last(changes: Sequence[IndexChange]) -> int:
    """The position of the last change."""
    return changes[-1].position if changes else 0

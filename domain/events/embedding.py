"""Vectors are events, so that a rebuild calls no model."""

from __future__ import annotations

import msgspec

from domain.events.base import Event

__all__ = ["EmbeddingComputed", "EmbeddingFailed"]


class EmbeddingComputed(Event, frozen=True):
    """Vectors of one exact text under one model: float32, shape (chunks, dimension), L2-normalised."""

    TOPIC = "embedding.computed"
    embedding: str
    model: str
    dimension: int
    chunks: int
    vectors: bytes = b""

    def blob(self) -> bytes | None:
        """Return the raw little-endian float32 rows."""
        return self.vectors

    def without_blob(self) -> EmbeddingComputed:
        """Return the event with its rows left out."""
        return msgspec.structs.replace(self, vectors=b"")


class EmbeddingFailed(Event, frozen=True):
    """A text could not be embedded; it counts as complete, with this reason."""

    TOPIC = "embedding.failed"
    embedding: str
    model: str
    reason: str

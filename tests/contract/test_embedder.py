"""The contract of `domain.ports.Embedder`, inherited by one class per implementation."""

from __future__ import annotations

import hashlib
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from domain.errors import DamagedError, InvalidInputError, MismatchError, UmbrielError, UnavailableError
from domain.ports import Embedded, Embedder
from gateways.models import minilm
from gateways.models.http.embedder import HTTPEmbedder
from gateways.models.http.pieces import pieces_of
from gateways.models.minilm import OVERLAP, MiniLMEmbedder, chunk_bounds
from tests.model_server import ModelServer, Reply, Request, embeddings_reply, error_reply

SHORT = "Caroline adopted a grey cat named Oscar."
TEXTS = [
    SHORT,
    "The invoice of 12 March is still unpaid.",
    "Trains from Lisbon to Porto leave every hour.",
    "ok",
    " ".join(f"On day {day} the expedition walked {day * 3} kilometres north." for day in range(60)),
]


def rows(found: Embedded, dimension: int) -> NDArray[np.float32]:
    """Return the vectors of one text as a matrix of ``chunks`` × ``dimension``."""
    return np.frombuffer(found.vectors, dtype="<f4").reshape(found.chunks, dimension)


class EmbedderContract(ABC):
    """What every embedder keeps; an implementation inherits it and gives the ``embedder`` fixture."""

    @pytest.fixture
    @abstractmethod
    def embedder(self) -> Embedder:
        """Return the implementation under test; loading it once is the implementation's affair."""

    def test_names_itself(self, embedder: Embedder) -> None:
        """A vector can travel with its model's name and dimension."""
        assert embedder.model.strip() == embedder.model != ""
        assert embedder.dimension > 0

    def test_vectors_have_the_dimension_and_unit_length(self, embedder: Embedder) -> None:
        """Every chunk is one row of ``dimension`` float32 of length one."""
        for found in embedder.embed(TEXTS):
            assert found.chunks >= 1
            assert len(found.vectors) == found.chunks * embedder.dimension * 4
            norms = np.linalg.norm(rows(found, embedder.dimension), axis=1)
            assert np.allclose(norms, 1.0, atol=1e-5)

    def test_results_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        """A batch answers text by text, whatever order it is computed in."""
        together = embedder.embed(TEXTS)
        backwards = embedder.embed(TEXTS[::-1])[::-1]
        assert together == backwards

    def test_a_vector_does_not_depend_on_its_batch(self, embedder: Embedder) -> None:
        """The same text alone and among others has the same vectors, else a rebuild would differ from live."""
        alone = [embedder.embed([text])[0] for text in TEXTS]
        for one, other in zip(alone, embedder.embed(TEXTS), strict=True):
            assert one.chunks == other.chunks
            left, right = rows(one, embedder.dimension), rows(other, embedder.dimension)
            assert np.allclose(left, right, atol=1e-6)

    def test_a_query_lies_in_the_same_space(self, embedder: Embedder) -> None:
        """A text that fits one chunk has the same vector as a query and as a document."""
        assert embedder.embed([SHORT])[0].chunks == 1
        query = np.frombuffer(embedder.embed_query(SHORT), dtype="<f4")
        assert query.shape == (embedder.dimension,)
        assert np.allclose(query, rows(embedder.embed([SHORT])[0], embedder.dimension)[0], atol=1e-6)

    def test_the_nearest_text_is_the_right_one(self, embedder: Embedder) -> None:
        """A question is closest to the text that answers it."""
        question = np.frombuffer(embedder.embed_query("What pet does Caroline have?"), dtype="<f4")
        best = [float((rows(found, embedder.dimension) @ question).max()) for found in embedder.embed(TEXTS)]
        assert int(np.argmax(best)) == 0

    def test_nothing_of_a_long_text_is_cut(self, embedder: Embedder) -> None:
        """A sentence at the very end of a long text is found through one of its chunks."""
        needle = "The password of the cellar door is written under the blue vase."
        plain, hidden = embedder.embed([TEXTS[-1], f"{TEXTS[-1]} {needle}"])
        question = np.frombuffer(embedder.embed_query("Where is the cellar door's password?"), dtype="<f4")
        assert hidden.chunks > 1
        without = float((rows(plain, embedder.dimension) @ question).max())
        assert float((rows(hidden, embedder.dimension) @ question).max()) > without + 0.1

    @pytest.mark.parametrize("text", ["", "   ", "🙂", "…", "\u200b"])
    def test_a_text_without_words_has_a_vector(self, embedder: Embedder, text: str) -> None:
        """Empty and odd texts still answer with one unit vector."""
        found = embedder.embed([text])[0]
        assert found.chunks == 1
        assert np.isclose(np.linalg.norm(rows(found, embedder.dimension)), 1.0, atol=1e-5)
        assert len(embedder.embed_query(text)) == embedder.dimension * 4

    def test_no_texts_are_no_vectors(self, embedder: Embedder) -> None:
        """An empty batch is answered with an empty list."""
        assert embedder.embed([]) == []

    def test_threads_share_it(self, embedder: Embedder) -> None:
        """Calls from several threads at once answer what a single thread gets."""
        expected = [embedder.embed_query(text) for text in TEXTS]
        with ThreadPoolExecutor(4) as pool:
            queries = [pool.submit(embedder.embed_query, text) for text in TEXTS for _ in range(3)]
            batches = [pool.submit(embedder.embed, TEXTS) for _ in range(2)]
            found = [query.result() for query in queries][::3]
            assert batches[0].result() == batches[1].result()
        for one, other in zip(found, expected, strict=True):
            assert np.allclose(np.frombuffer(one, "<f4"), np.frombuffer(other, "<f4"), atol=1e-6)


@cache
def loaded() -> MiniLMEmbedder:
    """Return one embedder for all tests: loading takes half a second and 150 MB."""
    return MiniLMEmbedder()


class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        """Return the embedder that the server uses by default."""
        return loaded()

    def test_the_name_and_dimension_are_fixed(self, embedder: Embedder) -> None:
        """Stored vectors name this model; another name would start a new generation."""
        assert (embedder.model, embedder.dimension) == ("all-MiniLM-L6-v2-onnx-int8", 384)

    def test_a_very_long_word_keeps_its_pieces(self, embedder: Embedder) -> None:
        """Words beyond the tokenizer's limit of 100 characters are not all the same unknown word."""
        one, other = embedder.embed(["abcdefghij" * 15, "0123456789" * 15])
        assert float(rows(one, 384)[0] @ rows(other, 384)[0]) < 0.9

    def test_a_lone_surrogate_is_refused(self, embedder: Embedder) -> None:
        """Text that is no valid Unicode is the caller's error, not the tokenizer's."""
        with pytest.raises(InvalidInputError):
            embedder.embed(["fine", "bad \ud800"])

    def test_one_thread_gives_the_same_vectors(self, embedder: Embedder) -> None:
        """The number of cores is not part of the vector."""
        single = MiniLMEmbedder(threads=1)
        for one, other in zip(single.embed(TEXTS), embedder.embed(TEXTS), strict=True):
            assert np.allclose(rows(one, 384), rows(other, 384), atol=1e-6)

    def test_another_file_is_a_mismatch(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A model file that is not the pinned one is an error before the first vector, with both digests in it."""
        distribution, name, digest = minilm._TOKENIZER
        target = tmp_path / name
        target.parent.mkdir(parents=True)
        shutil.copy(str(metadata.distribution(distribution).locate_file(name)), target)
        target.write_bytes(target.read_bytes() + b"\n")
        info = tmp_path / "changed-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: changed\nVersion: 1.0\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(minilm, "_TOKENIZER", ("changed", name, digest))
        with pytest.raises(MismatchError) as caught:
            MiniLMEmbedder()
        assert caught.value.expected == digest
        assert caught.value.found not in {"", digest}

    def test_a_missing_distribution_is_a_mismatch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the weights the error names what to install."""
        monkeypatch.setattr(minilm, "_WEIGHTS", ("umbriel-no-such-model", "model.onnx", "0" * 64))
        with pytest.raises(MismatchError, match="umbriel-no-such-model"):
            MiniLMEmbedder()


EMBEDDINGS = "/v1/embeddings"
SIZE = 1_024
_COMMON = frozenset({"what", "the", "is", "does", "where", "of", "a", "s", "have", "under", "named"})


def words_counted(request: Request, *, window: int = 10_000) -> Reply:
    """Embed as a server that counts hashed words, and refuses texts beyond its window or without anything."""
    if any(not text or len(text) > window for text in request.json["input"]):
        return error_reply(400, "maximum context length exceeded", code="context_length_exceeded")
    return embeddings_reply([_counted(text) for text in request.json["input"]])


def _counted(text: str) -> list[float]:
    counts = [0.002] * SIZE
    for word in re.findall(r"\w+", text.casefold()):
        counts[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % SIZE] += (
            0.05 if word in _COMMON else 1.0
        )
    return counts


class TestHTTP(EmbedderContract):
    @pytest.fixture
    def server(self) -> Iterator[ModelServer]:
        """A server that counts words."""
        with ModelServer() as server:
            server.always(EMBEDDINGS, words_counted)
            yield server

    @pytest.fixture
    def embedder(self, server: ModelServer) -> Iterator[Embedder]:
        """Return an embedder with short pieces and small batches."""
        yield from self.made(server)

    def made(self, server: ModelServer, **options: Any) -> Iterator[HTTPEmbedder]:
        """Give an embedder and close it."""
        given = {"model": "words", "base_url": f"{server.url}/v1", "max_chars": 300, "overlap": 90, "batch": 4}
        embedder = HTTPEmbedder(**{**given, **options})
        yield embedder
        embedder.close()

    def fails(self, server: ModelServer, kind: type[UmbrielError], **options: Any) -> UmbrielError:
        """Embed one text and return the error."""
        for embedder in self.made(server, **options):
            with pytest.raises(kind) as caught:
                embedder.embed([SHORT])
        return caught.value

    def test_the_model_is_named_with_its_provider(self, server: ModelServer, embedder: Embedder) -> None:
        """The name says where vectors come from; the dimension is asked for once."""
        assert embedder.model == "openai:words"
        assert (embedder.dimension, embedder.dimension) == (SIZE, SIZE)
        assert server.count(EMBEDDINGS) == 1

    def test_batches_are_as_large_as_configured(self, server: ModelServer, embedder: Embedder) -> None:
        """Nine short texts in batches of four are three requests."""
        embedder.embed([f"text {number}" for number in range(9)])
        assert [len(request.json["input"]) for request in server.requests] == [4, 4, 1]

    def test_what_is_too_long_is_halved_and_never_sent_again(self, server: ModelServer, embedder: Embedder) -> None:
        """A window smaller than the pieces costs requests, not text; no text goes out twice after it was refused."""
        server.always(EMBEDDINGS, lambda request: words_counted(request, window=120))
        short, long = embedder.embed([SHORT, TEXTS[-1]])
        assert (short.chunks, long.chunks > 10) == (1, True)
        alone = [request.json["input"][0] for request in server.requests if len(request.json["input"]) == 1]
        assert len(alone) == len(set(alone))
        assert len(embedder.embed_query(TEXTS[-1])) == SIZE * 4

    def test_a_server_that_takes_nothing_is_given_up(self, server: ModelServer) -> None:
        """Halving ends at tiny texts."""
        server.always(EMBEDDINGS, error_reply(400, code="context_length_exceeded"))
        self.fails(server, InvalidInputError)

    def test_another_dimension_is_a_mismatch(self, server: ModelServer) -> None:
        """The configured dimension is checked on every answer."""
        error = self.fails(server, MismatchError, dimension=8)
        assert (error.expected, error.found) == ("8", str(SIZE))

    @pytest.mark.parametrize("row", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [], ["x"], [[1.0]]])
    def test_a_vector_without_direction_is_damaged(self, server: ModelServer, row: list[Any]) -> None:
        """Zero, NaN, infinite, empty and unreadable vectors never reach an index."""
        data = [{"index": 0, "embedding": row}]
        server.always(EMBEDDINGS, Reply(body={"data": data}))
        self.fails(server, DamagedError)

    @pytest.mark.parametrize("data", [None, [], [{"index": 1, "embedding": [1.0]}], [{"embedding": [1.0]}] * 2, "x"])
    def test_another_number_of_vectors_is_damaged(self, server: ModelServer, data: Any) -> None:
        """Vectors are matched to their texts, or not taken at all."""
        server.always(EMBEDDINGS, Reply(body={"data": data}))
        self.fails(server, DamagedError)

    def test_answers_may_come_in_another_order(self, server: ModelServer) -> None:
        """The index says which text a vector belongs to."""
        rows = [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 0.0]}]
        server.script(EMBEDDINGS, Reply(body={"data": rows}))
        for embedder in self.made(server):
            one, other = embedder.embed(["a", "b"])
        assert (rows_of(one), rows_of(other)) == ([1.0, 0.0], [0.0, 1.0])

    def test_a_server_in_trouble_is_unavailable(self, server: ModelServer) -> None:
        """Lasting failures and long waits are the worker's to retry."""
        server.always(EMBEDDINGS, error_reply(503, headers={"retry-after": "3600"}))
        assert self.fails(server, UnavailableError).retryable
        assert server.count(EMBEDDINGS) == 1

    def test_a_lone_surrogate_is_refused(self, embedder: Embedder) -> None:
        """Text that is no valid Unicode is the caller's error."""
        with pytest.raises(InvalidInputError):
            embedder.embed(["bad \ud800"])

    def test_an_overlap_must_be_smaller_than_half_a_piece(self) -> None:
        """Pieces that hardly advance are refused."""
        with pytest.raises(InvalidInputError):
            HTTPEmbedder(model="m", max_chars=100, overlap=50)


def rows_of(found: Embedded) -> list[float]:
    """Return the components of a text's vectors in a row."""
    return [float(one) for one in np.frombuffer(found.vectors, dtype="<f4")]


@pytest.mark.parametrize("text", ["", "a", "word " * 200, "x" * 1_001, "a" * 99 + " " + "b" * 300])
def test_pieces_cover_a_text_and_overlap(text: str) -> None:
    """Pieces fit, share the overlap with their neighbour, and are the text when the overlap is taken out."""
    pieces = pieces_of(text, 100, 20)
    assert all(len(piece) <= 100 for piece in pieces)
    assert all(left[-20:] == right[:20] for left, right in pairwise(pieces))
    assert pieces[0] + "".join(piece[20:] for piece in pieces[1:]) == text


@pytest.mark.parametrize("pieces", [0, 1, 253, 254, 255, 476, 477, 1000, 9999])
def test_chunks_cover_everything_and_overlap(pieces: int) -> None:
    """Chunks start at zero, end at the last piece, fit the window and share the overlap with their neighbour."""
    bounds = chunk_bounds(pieces)
    assert bounds[0][0] == 0
    assert bounds[-1][1] == pieces
    assert all(end - start <= 254 for start, end in bounds)
    assert all(left[1] - right[0] == OVERLAP for left, right in pairwise(bounds))
    assert len(bounds) == (1 if pieces <= 254 else -(-(pieces - OVERLAP) // (254 - OVERLAP)))

"""The contract of `domain.ports.Embedder`, inherited by one class per implementation."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from domain.errors import InvalidInputError, MismatchError
from domain.ports import Embedded, Embedder
from gateways.models import minilm
from gateways.models.minilm import OVERLAP, MiniLMEmbedder, chunk_bounds

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


@pytest.mark.parametrize("pieces", [0, 1, 253, 254, 255, 476, 477, 1000, 9999])
def test_chunks_cover_everything_and_overlap(pieces: int) -> None:
    """Chunks start at zero, end at the last piece, fit the window and share the overlap with their neighbour."""
    bounds = chunk_bounds(pieces)
    assert bounds[0][0] == 0
    assert bounds[-1][1] == pieces
    assert all(end - start <= 254 for start, end in bounds)
    assert all(left[1] - right[0] == OVERLAP for left, right in pairwise(bounds))
    assert len(bounds) == (1 if pieces <= 254 else -(-(pieces - OVERLAP) // (254 - OVERLAP)))

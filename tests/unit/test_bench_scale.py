"""The scale benchmark at a small size: its log, its figures and how they look."""

from __future__ import annotations

import numpy as np

from gateways.bench.scale import measure_profiles, measure_scale
from gateways.bench.scale_log import WordVectors, envelopes
from gateways.bench.scale_show import chart
from gateways.bench.speed_texts import notes


def test_vectors_of_words() -> None:
    """The same text has the same unit vector, and one that shares words is nearer than one that does not."""
    texts = ("Ana plays the violin in Porto", "Ana plays the piano in Porto", "invoices are due on Friday")
    one, near, far = (np.frombuffer(WordVectors().embed_query(text), dtype="<f4") for text in texts)
    assert WordVectors().embed_query(texts[0]) == one.tobytes()
    assert abs(float(one @ one) - 1) < 1e-5
    assert one @ near > one @ far + 0.2


def test_every_memory_of_the_log_gets_its_vectors() -> None:
    """Positions rise without a gap, and there is an embedding for each memory."""
    log = list(envelopes(notes(130), WordVectors(8)))
    assert [one.position for one in log] == list(range(1, 261))
    assert [one.data.category() for one in log].count("embedding") == 130


def test_a_small_run() -> None:
    """A size is measured whole, exact search agrees with itself, and profiles leave no file open."""
    vectors, done = WordVectors(16), [0]
    size = measure_scale(150, vectors, vectors, 5, done.append)
    assert sum(done) == 150
    assert (size.memories, size.recall.count, size.recall_at_10, size.target) == (150, 5, 1.0, 2.0)
    assert size.disk_bytes > size.vector_bytes == 150 * 64
    assert f"{size.recall_ratio:.1f}" in chart([size])[0]
    many = measure_profiles(3, 10, vectors, done.append)
    assert (many.cold_recall.count, many.descriptors_left) == (3, 0)

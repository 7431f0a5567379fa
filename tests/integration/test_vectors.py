from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from domain.errors import DamagedError, MismatchError, UnavailableError
from domain.events import EmbeddingComputed
from domain.indexing import IndexChange
from domain.settings import VectorGrowth
from projections.outcome import Outcome
from projections.segments import Rows
from projections.vector_parts import CodedPart
from projections.vectors import VectorView
from tests.index_changes import DIMENSION, MODEL, added, computed, last, removed, unit

WIDE = 48
X, Y, XY = unit(1), unit(0, 1), unit(1, 1)


def near(angle: float) -> bytes:
    """A unit vector at an angle from X, in radians."""
    return unit(float(np.cos(angle)), float(np.sin(angle)))


@pytest.fixture
def view(tmp_path: Path) -> Iterator[VectorView]:
    """An empty view."""
    opened = VectorView(tmp_path / "v", MODEL, DIMENSION)
    yield opened
    opened.close()


def put(view: VectorView, *changes: IndexChange) -> Outcome:
    """Apply changes as one batch."""
    return view.apply(changes, upto=last(changes), event_id=f"e{last(changes)}")


def ids(view: VectorView, query: bytes = X, k: int = 10, **filters: frozenset[str] | None) -> list[str]:
    """Ids of the hits."""
    return [hit.id for hit in view.search(query, k, **filters)]


def test_waits_for_vectors(view: VectorView) -> None:
    """An item is found once its vectors are known, whichever comes first, and one embedding serves many items."""
    put(view, added(1, "a", embedding="E"), added(2, "b", embedding="E"))
    assert (view.waiting(), view.count, ids(view)) == (2, 0, [])
    put(view, computed(3, "E", X))
    put(view, added(4, "c", embedding="E"))
    assert (view.waiting(), view.count, ids(view)) == (0, 3, ["c", "b", "a"])


def test_no_embedding_is_not_indexed(view: VectorView) -> None:
    """Items without an embedding never wait and are never found."""
    put(view, added(1, "task", kind="task"))
    assert (view.waiting(), view.count, view.position) == (0, 0, 1)


def test_best_chunk_counts(view: VectorView) -> None:
    """An item with several chunks is one hit, scored by its best chunk."""
    put(view, added(1, "long", embedding="L"), computed(2, "L", Y, XY, X), added(3, "b", embedding="B"))
    put(view, computed(4, "B", near(0.1)))
    hits = view.search(X, 2)
    assert [hit.id for hit in hits] == ["long", "b"]
    assert hits[0].score == pytest.approx(1.0)
    assert hits[0].order == 1


def test_removed_takes_no_place(view: VectorView) -> None:
    """Removed vectors take no top-k places, one by one or many at once."""
    close = [added(n, f"close{n}", embedding=f"C{n}") for n in range(1, 101)]
    put(view, *close, *(computed(100 + n, f"C{n}", X) for n in range(1, 101)))
    put(view, added(300, "far", embedding="F"), computed(301, "F", Y))
    put(view, removed(302, "close1"))
    put(view, removed(303, *(f"close{n}" for n in range(2, 101))))
    assert ids(view, k=1) == ["far"]
    assert view.count == 1


def test_restored_and_late_vectors(view: VectorView) -> None:
    """A removed item comes back with its vectors; vectors for what has left do no harm."""
    put(view, added(1, "a", embedding="A"), removed(2, "a"))
    put(view, computed(3, "A", X))
    assert ids(view) == []
    put(view, added(4, "a", embedding="A"))
    put(view, removed(5, "a"), added(6, "a", embedding="A"))
    assert [(hit.id, hit.order) for hit in view.search(X, 5)] == [("a", 6)]


def test_filter_before_cut(view: VectorView) -> None:
    """One own memory is found among 400 closer foreign ones, by scope, kind, or both."""
    foreign = [added(n, f"f{n}", embedding=f"F{n}", scope="other") for n in range(1, 401)]
    put(view, *foreign, *(computed(400 + n, f"F{n}", near(n / 1e4)) for n in range(1, 401)))
    put(view, added(900, "mine", embedding="M", scope="own", kind="event"), computed(901, "M", near(1.2)))
    assert ids(view, k=1, scopes=frozenset({"own"})) == ["mine"]
    assert ids(view, k=1, kinds=frozenset({"event"})) == ["mine"]
    assert ids(view, k=1, kinds=frozenset({"fact"}), scopes=frozenset({"own"})) == []
    assert ids(view, k=1, scopes=frozenset()) == []


def test_ties_at_the_cut(view: VectorView) -> None:
    """All ties at the boundary are looked at: the newest win."""
    put(view, *(added(n, f"t{n:03}", embedding="T") for n in range(1, 301)), computed(500, "T", X))
    assert ids(view, k=3) == ["t300", "t299", "t298"]


def test_exact(view: VectorView) -> None:
    """Results are those of a plain matrix product, over many commits with removals between."""
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((300, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for n in range(300):
        put(view, added(3 * n + 1, f"i{n}", embedding=f"E{n}"), computed(3 * n + 2, f"E{n}", rows[n].tobytes()))
        if n % 5 == 4:
            put(view, removed(3 * n + 3, f"i{n - 2}"))
    alive = [n for n in range(300) if n % 5 != 2]
    scores = rows[alive] @ rows[0]
    expected = [f"i{alive[at]}" for at in np.argsort(-scores)[:20]]
    assert ids(view, rows[0].tobytes(), 20) == expected
    assert len(list((view._directory).glob("*.seg"))) <= 16


def test_position(view: VectorView) -> None:
    """Seen batches and parts of batches are skipped; another event at the position is a mismatch."""
    assert put(view, added(1, "a", embedding="A"), computed(2, "A", X)) is Outcome.APPLIED
    assert put(view, removed(2, "a")) is Outcome.SEEN
    assert view.apply([], upto=2, event_id="other") is Outcome.MISMATCH
    assert put(view, removed(2, "a"), added(3, "b", embedding="A")) is Outcome.APPLIED
    assert ids(view) == ["b", "a"]
    assert view.advance(9, "e9") is Outcome.APPLIED
    assert view.advance(8, "e8") is Outcome.SEEN
    assert (view.position, view.event_id) == (9, "e9")


def test_reopen(view: VectorView, tmp_path: Path) -> None:
    """After closing, everything is there again: items, waiting ones, and a position advanced in memory."""
    put(view, added(1, "a", embedding="A"), computed(2, "A", X), added(3, "w", embedding="W"))
    put(view, added(4, "b", embedding="A"), removed(5, "a"))
    view.advance(9, "e9")
    view.close()
    with pytest.raises(UnavailableError):
        view.advance(10, "e10")
    again = VectorView(tmp_path / "v", MODEL, DIMENSION)
    assert (again.position, again.event_id, again.waiting(), ids(again)) == (9, "e9", 1, ["b"])
    put(again, computed(10, "W", XY))
    assert ids(again) == ["b", "w"]
    again.close()


def test_foreign_batches_write_nothing(view: VectorView) -> None:
    """A batch that changes nothing touches no file."""
    put(view, added(1, "a", embedding="A"))
    before = {path: path.stat().st_mtime_ns for path in view._directory.iterdir()}
    put(view, removed(2, "unknown"))
    view.advance(3, "e3")
    assert before == {path: path.stat().st_mtime_ns for path in view._directory.iterdir()}


def test_wrong_model(view: VectorView, tmp_path: Path) -> None:
    """Another model or dimension is an error when opened, searched or applied, and changes nothing."""
    put(view, added(1, "a", embedding="A"), computed(2, "A", X))
    with pytest.raises(MismatchError):
        view.search(b"\0" * 8, 1)
    with pytest.raises(MismatchError):
        put(view, computed(3, "B", X, model="other"))
    assert view.position == 2
    view.close()
    for model, dimension in (("other", DIMENSION), (MODEL, 8)):
        with pytest.raises(MismatchError):
            VectorView(tmp_path / "v", model, dimension)


def test_damaged_vectors(view: VectorView) -> None:
    """Vectors that are cut short or not finite are refused whole."""
    with pytest.raises(DamagedError):
        put(view, computed(1, "A", X[:-4]))
    with pytest.raises(DamagedError):
        put(view, computed(1, "A", np.full(DIMENSION, np.nan, dtype="<f4").tobytes()))
    assert (view.position, view.knows("A")) == (0, False)


@pytest.mark.parametrize(
    "name,damage",
    [
        ("s00000001.seg", "truncated"),
        ("s00000001.seg", "flipped"),
        ("s00000001.seg", "missing"),
        ("manifest.json", "truncated"),
        ("manifest.json", "flipped"),
    ],
)
@pytest.mark.fault
def test_damaged_file(view: VectorView, tmp_path: Path, name: str, damage: str) -> None:
    """A damaged file is an error that names it, never a wrong answer."""
    put(view, added(1, "a", embedding="A"), computed(2, "A", X))
    view.close()
    path = tmp_path / "v" / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-5] if damage == "truncated" else content[:40] + b"\xff" + content[41:])
    with pytest.raises(DamagedError, match=name.replace(".", r"\.")):
        VectorView(tmp_path / "v", MODEL, DIMENSION)


@pytest.mark.fault
def test_crash_before_the_manifest(view: VectorView, tmp_path: Path) -> None:
    """What a crash left before the manifest was replaced is removed, and replay gives the same index."""
    batch = added(3, "b", embedding="B"), computed(4, "B", Y)
    put(view, added(1, "a", embedding="A"), computed(2, "A", X))
    shutil.copy(tmp_path / "v" / "manifest.json", tmp_path / "before.json")
    put(view, *batch)
    shutil.copytree(tmp_path / "v", tmp_path / "crashed")
    shutil.copy(tmp_path / "before.json", tmp_path / "crashed" / "manifest.json")
    crashed = VectorView(tmp_path / "crashed", MODEL, DIMENSION)
    assert (crashed.position, ids(crashed)) == (2, ["a"])
    assert len(list((tmp_path / "crashed").glob("*.seg"))) == 1
    assert put(crashed, *batch) is Outcome.APPLIED
    assert ids(crashed) == ids(view) == ["a", "b"]
    crashed.close()


def test_compaction(view: VectorView, tmp_path: Path) -> None:
    """Many removals rewrite the index as one segment; nothing is lost, and vectors stay known."""
    position = 0
    for _ in range(4):
        batch = []
        for n in range(100):
            batch += [added(position + 1, f"i{n}", embedding=f"E{n}"), computed(position + 2, f"E{n}", near(n / 100))]
            batch += [removed(position + 3, f"i{n}")] if n % 2 else []
            position += 3
        put(view, *batch)
    assert len(view._manifest.files) < 4
    expected = view.search(X, 60)
    assert [hit.id for hit in expected] == [f"i{n}" for n in range(0, 100, 2)]
    view.close()
    again = VectorView(tmp_path / "v", MODEL, DIMENSION)
    assert again.search(X, 60) == expected
    put(again, added(position + 1, "i1", embedding="E1"))
    assert again.count == 51
    again.close()


def test_readers_beside_the_writer(view: VectorView) -> None:
    """Searches during commits see whole batches: both of a pair, or none."""
    torn: list[list[str]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = ids(view, k=1000)
            if len(found) % 2:
                torn.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for n in range(60):
        put(
            view,
            added(4 * n + 1, f"a{n}", embedding=f"E{n}"),
            added(4 * n + 2, f"b{n}", embedding=f"E{n}"),
            computed(4 * n + 3, f"E{n}", near(n / 60)),
            removed(4 * n + 4, *([f"a{n - 3}", f"b{n - 3}"] if n > 3 else [])),
        )
    done.set()
    for reader in readers:
        reader.join()
    assert torn == []


def word_sums(count: int) -> Rows:
    """Unit vectors as texts have them: sums of a few of many words, so that neighbours are close and many."""
    rng = np.random.default_rng(5)
    words = rng.standard_normal((120, WIDE)).astype(np.float32)
    rows = np.stack([words[rng.choice(120, 6)].sum(axis=0) + words[0] for _ in range(count)])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def wide(position: int, embedding: str, rows: Rows) -> IndexChange:
    """The vectors of an embedding become known."""
    event = EmbeddingComputed(
        embedding=embedding, model=MODEL, dimension=WIDE, chunks=len(rows), vectors=rows.astype("<f4").tobytes()
    )
    return IndexChange(position=position, computed=event)


def test_coded_vectors_are_exact(tmp_path: Path) -> None:
    """In codes, over many parts and removals, opened again or not: what is found is what whole vectors give."""
    rows, growth = word_sums(1_200), VectorGrowth(coded_from=64, part_rows=512)
    coded = VectorView(tmp_path / "coded", MODEL, WIDE, growth)
    whole = VectorView(tmp_path / "whole", MODEL, WIDE)
    for start in range(0, 1_200, 100):
        batch = [
            change
            for n in range(start, start + 100, 2)
            for change in (
                added(3 * n + 1, f"i{n}", embedding=f"E{n}", kind="fact" if n % 3 else "event", scope=f"s{n % 40}"),
                wide(3 * n + 2, f"E{n}", rows[n : n + 2]),
            )
        ]
        gone = [f"i{n}" for n in range(start, start + 100, 6)]
        put(coded, *batch, removed(3 * start + 300, *gone))
        put(whole, *batch, removed(3 * start + 300, *gone))
    assert len(coded._table._parts) > 2
    assert all(isinstance(part, CodedPart) for part in coded._table._parts[:2])
    again = VectorView(tmp_path / "coded", MODEL, WIDE, growth)
    filters: list[dict[str, frozenset[str]]] = [
        {},
        {"kinds": frozenset({"fact"})},
        {"scopes": frozenset({"s2", "s4"}), "kinds": frozenset({"fact"})},
    ]
    for row in rows[::97]:
        for k in (1, 10, 150):
            for given in filters:
                expected = whole.search(row.tobytes(), k, **given)
                assert coded.search(row.tobytes(), k, **given) == expected
                assert again.search(row.tobytes(), k, **given) == expected
    for view in (coded, whole, again):
        view.close()


def test_codes_alone_would_not_do(tmp_path: Path) -> None:
    """What codes leave in doubt is looked up: neighbours closer than codes can tell come in the true order."""
    rng = np.random.default_rng(3)
    rows = np.asarray(rng.standard_normal(WIDE) + 0.03 * rng.standard_normal((600, WIDE)), dtype=np.float32)
    rows[:2] = rng.standard_normal((2, WIDE))  # far apart, so that a step of the codes is wide
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    view = VectorView(tmp_path / "v", MODEL, WIDE, VectorGrowth(coded_from=64, part_rows=4_096))
    put(
        view,
        *(added(n + 1, f"i{n}", embedding=f"E{n}") for n in range(600)),
        *(wide(601 + n, f"E{n}", rows[n : n + 1]) for n in range(600)),
    )
    scores = rows.astype(np.float64) @ rows[5].astype(np.float64)
    expected = [f"i{at}" for at in np.argsort(-scores)[:20]]
    assert [hit.id for hit in view.search(rows[5].tobytes(), 20)] == expected
    view.close()

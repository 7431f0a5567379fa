from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from whoosh.index import open_dir
from whoosh.query.compound import Or
from whoosh.query.terms import Term
from whoosh.scoring import BM25F

from domain.errors import DamagedError, MismatchError, UnavailableError
from domain.indexing import IndexChange
from projections.analysis import query_terms
from projections.keywords import KeywordView
from projections.manifest import Manifest
from projections.outcome import Outcome
from tests.index_changes import added, computed, last, removed, unit


@pytest.fixture
def view(tmp_path: Path) -> Iterator[KeywordView]:
    """An empty view."""
    opened = KeywordView(tmp_path / "k")
    yield opened
    opened.close()


def put(view: KeywordView, *changes: IndexChange) -> Outcome:
    """Apply changes as one batch."""
    return view.apply(changes, upto=last(changes), event_id=f"e{last(changes)}")


def ids(view: KeywordView, query: str, k: int = 10, **filters: frozenset[str] | None) -> list[str]:
    """Ids of the hits."""
    return [hit.id for hit in view.search(query, k, **filters)]


def test_any_word_matches(view: KeywordView) -> None:
    """Any word of the query may match; more and rarer ones rank higher."""
    put(view, added(1, "a", "tea in the morning"), added(2, "b", "coffee and tea"), added(3, "c", "rain"))
    assert ids(view, "who drinks coffee with tea?") == ["b", "a"]
    assert ids(view, "snow") == []
    assert view.count == 3


@pytest.mark.parametrize("query", [*"'/-:\"*?()[]{}~^\\|&!+", "AND", "a AND", "NOT tea OR", "kind:fact", "\ud800"])
def test_query_is_never_syntax(view: KeywordView, query: str) -> None:
    """No character or word of a query is syntax, alone or around a word."""
    put(view, added(1, "a", "tea time"), added(2, "b", "something else", kind="event"))
    view.search(query, 5)
    assert ids(view, f"{query} tea {query}")[0] == "a"
    assert "b" not in ids(view, f"kind:event scope:a {query} tea")


def test_operators_are_words(view: KeywordView) -> None:
    """NOT excludes nothing, a star completes nothing."""
    put(view, added(1, "a", "tea"), added(2, "b", "teapot"))
    assert ids(view, "NOT tea") == ["a"]
    assert ids(view, "te*") == []


def test_scripts(view: KeywordView) -> None:
    """Chinese, Japanese, Korean, Cyrillic, Arabic and accented texts are found."""
    texts = {"ja": "黒猫が好きです", "ko": "서울에 산다", "ru": "Привет, мир", "ar": "مرحبا بالعالم", "fr": "un café"}
    put(view, *(added(n, id_, text) for n, (id_, text) in enumerate(texts.items(), 1)))
    queries = {"ja": "黒猫", "ko": "서울", "ru": "ПРИВЕТ", "ar": "مرحبا", "fr": "cafe"}
    assert {id_: ids(view, query) for id_, query in queries.items()} == {id_: [id_] for id_ in texts}
    assert ids(view, "猫") == ["ja"]


def test_function_words_alone(view: KeywordView) -> None:
    """A query of function words alone is answered; with another word they count for nothing."""
    put(view, added(1, "a", "to be or not to be"), added(2, "b", "red apples"))
    assert ids(view, "to be or not to be") == ["a"]
    assert ids(view, "or red") == ["b"]


def test_scores_are_bm25f(view: KeywordView, tmp_path: Path) -> None:
    """Scores on a merged index are those of Whoosh's own searcher."""
    words = ["red", "green", "blue", "tea", "cup", "dog", "cat", "sun", "moon", "star"]
    texts = [" ".join(words[(n * m) % 10] for m in range(1, 3 + n % 9)) for n in range(1, 60)]
    for n, text in enumerate(texts, 1):
        put(view, added(n, f"d{n}", text))
    view.optimize()
    query = "red tea moon"
    terms = Or([Term("text", term) for term in query_terms(query).text])
    with open_dir(str(tmp_path / "k")).searcher(weighting=BM25F()) as searcher:
        theirs = sorted((hit.score for hit in searcher.search(terms, limit=None, optimize=False)), reverse=True)
    ours = [hit.score for hit in view.search(query, 100)]
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_filter_before_cut(view: KeywordView) -> None:
    """One own memory is found among 400 better foreign ones, by scope, kind, or both."""
    put(view, *(added(n, f"f{n}", "tea tea tea", scope="other") for n in range(1, 401)))
    put(view, added(900, "mine", "a cup of tea with many other words in it", scope="own", kind="event"))
    assert ids(view, "tea", 1, scopes=frozenset({"own"})) == ["mine"]
    assert ids(view, "tea", 1, kinds=frozenset({"event"})) == ["mine"]
    assert ids(view, "tea", 1, kinds=frozenset({"fact"}), scopes=frozenset({"own"})) == []
    assert ids(view, "tea", 1, scopes=frozenset()) == []


def test_ties_at_the_cut(view: KeywordView) -> None:
    """All ties at the boundary are looked at, across segments: the newest win."""
    for start in range(1, 301, 50):
        put(view, *(added(n, f"t{n:03}", "tea") for n in range(start, start + 50)))
    assert ids(view, "tea", 3) == ["t300", "t299", "t298"]


def test_deleted_do_not_score(view: KeywordView) -> None:
    """What was removed changes no score, merged away or not."""
    put(view, *(added(n, f"x{n}", "tea and rain") for n in range(1, 6)), added(6, "a", "tea with milk"))
    put(view, removed(7, *(f"x{n}" for n in range(1, 6))))
    before = view.search("tea milk", 5)
    view.optimize()
    assert view.search("tea milk", 5) == before
    assert [hit.id for hit in before] == ["a"]


def test_same_content_again(view: KeywordView, tmp_path: Path) -> None:
    """The same content again writes nothing and keeps its order; other content replaces it."""
    put(view, added(1, "a", "tea"))
    manifest = (tmp_path / "k" / "manifest.json").read_bytes()
    put(view, added(2, "a", "tea"))
    assert (tmp_path / "k" / "manifest.json").read_bytes() == manifest
    assert [hit.order for hit in view.search("tea", 5)] == [1]
    put(view, added(3, "a", "coffee"))
    assert (ids(view, "tea"), ids(view, "coffee"), view.count) == ([], ["a"], 1)


def test_removed_and_restored(view: KeywordView) -> None:
    """Removal and return work across batches and within one."""
    put(view, added(1, "a", "tea"), removed(2, "a"))
    assert ids(view, "tea") == []
    put(view, added(3, "a", "tea"))
    put(view, removed(4, "a"), added(5, "a", "tea"))
    assert [(hit.id, hit.order) for hit in view.search("tea", 5)] == [("a", 5)]
    put(view, removed(6, "a"))
    assert (view.count, ids(view, "tea")) == (0, [])


def test_position(view: KeywordView) -> None:
    """Seen batches and parts of batches are skipped; another event at the position is a mismatch."""
    assert put(view, added(1, "a", "tea"), computed(2, "A", unit(1))) is Outcome.APPLIED
    assert put(view, removed(2, "a")) is Outcome.SEEN
    assert view.apply([], upto=2, event_id="other") is Outcome.MISMATCH
    assert put(view, removed(2, "a"), added(3, "b", "tea")) is Outcome.APPLIED
    assert ids(view, "tea") == ["b", "a"]
    assert view.advance(9, "e9") is Outcome.APPLIED
    assert view.advance(8, "e8") is Outcome.SEEN
    assert (view.position, view.event_id) == (9, "e9")


@pytest.mark.parametrize("filled", [True, False])
def test_reopen(view: KeywordView, tmp_path: Path, filled: bool) -> None:  # noqa: FBT001
    """After closing, everything is there again, a position advanced in memory included."""
    if filled:
        put(view, added(1, "a", "tea"), added(2, "b", "tea"))
        put(view, removed(3, "a"))
    view.advance(9, "e9")
    view.close()
    with pytest.raises(UnavailableError):
        view.advance(10, "e10")
    again = KeywordView(tmp_path / "k")
    assert (again.position, again.event_id, ids(again, "tea")) == (9, "e9", ["b"] if filled else [])
    put(again, added(10, "c", "tea"))
    assert ids(again, "tea")[0] == "c"
    again.close()


@pytest.mark.fault
def test_failed_commit(view: KeywordView, tmp_path: Path) -> None:
    """A commit that cannot be written changes nothing, and the next one is whole, the very first included."""
    for first in (1, 3):
        (tmp_path / "k" / "manifest.json.new").mkdir()
        with pytest.raises(UnavailableError):
            put(view, added(first, f"a{first}", "tea"))
        assert view.position == first - 1
        (tmp_path / "k" / "manifest.json.new").rmdir()
        put(view, added(first, f"a{first}", "tea"), added(first + 1, f"b{first}", "tea"))
    assert ids(view, "tea") == ["b3", "a3", "b1", "a1"]


def test_other_analysis(view: KeywordView, tmp_path: Path) -> None:
    """An index made with other rules of analysis is an error."""
    put(view, added(1, "a", "tea"))
    view.close()
    manifest = Manifest.load(tmp_path / "k")
    assert manifest is not None
    Manifest(files=manifest.files, model="other rules").store(tmp_path / "k")
    with pytest.raises(MismatchError):
        KeywordView(tmp_path / "k")


@pytest.mark.parametrize("pattern", ["MAIN_*.seg", "_MAIN_*.toc", "manifest.json"])
@pytest.mark.parametrize("damage", ["truncated", "flipped"])
@pytest.mark.fault
def test_damaged_file(view: KeywordView, tmp_path: Path, pattern: str, damage: str) -> None:
    """A damaged file is an error that names it, never a wrong answer."""
    put(view, added(1, "a", "tea"))
    view.close()
    (path,) = (tmp_path / "k").glob(pattern)
    content = path.read_bytes()
    path.write_bytes(content[:-5] if damage == "truncated" else content[:40] + b"\xff" + content[41:])
    with pytest.raises(DamagedError, match=path.name.replace(".", r"\.")):
        KeywordView(tmp_path / "k")


@pytest.mark.fault
def test_crash_around_the_manifest(view: KeywordView, tmp_path: Path) -> None:
    """A crash after Whoosh's commit and before the manifest goes back to the commit before; replay repeats it."""
    batch = removed(3, "a"), added(4, "b", "tea with milk")
    put(view, added(1, "a", "tea"), added(2, "c", "green tea"))
    shutil.copytree(tmp_path / "k", tmp_path / "crashed")
    put(view, *batch)
    for path in (tmp_path / "k").iterdir():
        if not (tmp_path / "crashed" / path.name).exists():
            shutil.copy(path, tmp_path / "crashed")
    (tmp_path / "crashed" / "MAIN.tmp").mkdir()
    crashed = KeywordView(tmp_path / "crashed")
    assert (crashed.position, ids(crashed, "tea")) == (2, ["a", "c"])
    assert put(crashed, *batch) is Outcome.APPLIED
    assert crashed.search("tea", 5) == view.search("tea", 5)
    names = {path.suffix for path in (tmp_path / "crashed").iterdir()}
    assert names <= {".seg", ".toc", ".json"}
    crashed.close()


def test_merging(view: KeywordView, tmp_path: Path) -> None:
    """Many small commits leave few segments, few files, and the same answers as one."""
    whole = KeywordView(tmp_path / "whole")
    changes = [added(n, f"d{n}", f"tea number {n} and {n % 7}") for n in range(1, 121)]
    for change in changes:
        put(view, change)
    put(whole, *changes)
    assert len(list((tmp_path / "k").glob("*.seg"))) <= 24
    assert view.search("tea 3 and 7", 50) == whole.search("tea 3 and 7", 50)
    whole.close()


def test_readers_beside_the_writer(view: KeywordView) -> None:
    """Searches during commits and merges see whole batches: both of a pair, or none."""
    torn: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                found = ids(view, "tea rain", 1000)
            except Exception as error:  # noqa: BLE001 -- whatever a reader meets must fail the test
                torn.append(error)
            else:
                torn.extend([found] if len(found) % 2 else [])
            # Readers that never pause leave the writer no turn at the interpreter.
            done.wait(0.002)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for n in range(40):
        gone = [f"a{n - 3}", f"b{n - 3}"] if n > 3 else []
        put(view, added(3 * n + 1, f"a{n}", "tea"), added(3 * n + 2, f"b{n}", "rain"), removed(3 * n + 3, *gone))
    done.set()
    for reader in readers:
        reader.join()
    assert torn == []

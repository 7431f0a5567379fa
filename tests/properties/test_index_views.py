from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from domain.indexing import IndexChange
from domain.settings import VectorGrowth
from projections.hit import Hit
from projections.keywords import KeywordView
from projections.vectors import VectorView
from tests.index_changes import DIMENSION, MODEL, added, computed, last, removed, unit

_TEXTS = ("tea in the morning", "coffee and tea", "黒猫が好き", "PR-260 was merged", "not to be", "tea tea tea")
_VECTORS = (unit(1), unit(1, 1), unit(0, 1), unit(1, 0, 1), unit(-1, 0.5))
_QUERIES = ("tea", "coffee in the morning", "黒猫", "260", "to be", "tea merged coffee")
_IDS = st.integers(0, 7)


@st.composite
def logs(draw: st.DrawFn) -> list[IndexChange]:
    """Changes as a log has them: positions with gaps, items that come, go and come back, vectors at any time."""
    changes: list[IndexChange] = []
    position = 0
    for what in draw(st.lists(st.sampled_from(["add", "add", "add", "remove", "computed"]), max_size=25)):
        position += draw(st.integers(1, 3))
        number = draw(_IDS)
        match what:
            case "add":
                text = draw(st.integers(0, len(_TEXTS) - 1))
                kind = "fact" if number % 2 else "message"
                scope = f"s{number % 3}"
                changes.append(
                    added(position, f"i{number}", _TEXTS[text], embedding=f"E{text}", kind=kind, scope=scope)
                )
            case "remove":
                changes.append(removed(position, *{f"i{number}", f"i{draw(_IDS)}"}))
            case _:
                embedding = number % len(_TEXTS)
                rows = [_VECTORS[(embedding + at) % len(_VECTORS)] for at in range(1 + embedding % 3)]
                changes.append(computed(position, f"E{embedding}", *rows))
    return changes


@st.composite
def split_logs(draw: st.DrawFn) -> tuple[list[IndexChange], list[list[IndexChange]]]:
    """A log, and the same log in batches."""
    changes = draw(logs())
    cuts = sorted(draw(st.sets(st.integers(0, len(changes)), max_size=6)) | {0, len(changes)})
    return changes, [changes[start:end] for start, end in pairwise(cuts)]


def put(view: VectorView | KeywordView, batch: Sequence[IndexChange]) -> None:
    """Apply one batch."""
    view.apply(batch, upto=last(batch), event_id=f"e{last(batch)}")


def vector_answers(view: VectorView) -> list[list[Hit]]:
    """What the vector view says to every query, whole, cut and filtered."""
    return [
        view.search(query, k, kinds=kinds, scopes=scopes)
        for query in _VECTORS
        for k in (1, 3, 50)
        for kinds in (None, frozenset({"fact"}))
        for scopes in (None, frozenset({"s0", "s1"}))
    ]


def keyword_answers(view: KeywordView) -> list[list[Hit]]:
    """What the keyword view says to every query, whole, cut and filtered."""
    return [
        view.search(query, k, kinds=kinds, scopes=scopes)
        for query in _QUERIES
        for k in (1, 3, 50)
        for kinds in (None, frozenset({"fact"}))
        for scopes in (None, frozenset({"s0", "s1"}))
    ]


def assert_same(found: list[list[Hit]], expected: list[list[Hit]]) -> None:
    """The same items in the same order, scores within 1e-5."""
    assert [[hit.id for hit in hits] for hits in found] == [[hit.id for hit in hits] for hits in expected]
    pairs = zip((h for hits in found for h in hits), (h for hits in expected for h in hits), strict=True)
    assert all(abs(one.score - other.score) <= 1e-5 and one.order == other.order for one, other in pairs)


@given(split_logs(), st.data())
def test_vectors_any_split(split: tuple[list[IndexChange], list[list[IndexChange]]], data: st.DataObject) -> None:
    """Any split into batches, with batches delivered again and the view reopened between, equals one batch.

    The live view holds its vectors in codes, the other one whole.
    """
    changes, batches = split
    coded = VectorGrowth(coded_from=2, part_rows=4)
    with tempfile.TemporaryDirectory() as directory:
        live = VectorView(Path(directory, "live"), MODEL, DIMENSION, coded)
        for batch in batches:
            put(live, batch)
            if data.draw(st.booleans()):
                put(live, batch)
            if data.draw(st.booleans()):
                live.close()
                live = VectorView(Path(directory, "live"), MODEL, DIMENSION, coded)
        rebuilt = VectorView(Path(directory, "rebuilt"), MODEL, DIMENSION)
        put(rebuilt, changes)
        assert (live.position, live.count, live.waiting()) == (rebuilt.position, rebuilt.count, rebuilt.waiting())
        assert_same(vector_answers(live), vector_answers(rebuilt))
        live.close()
        rebuilt.close()


@given(split_logs(), st.data())
def test_keywords_any_split(split: tuple[list[IndexChange], list[list[IndexChange]]], data: st.DataObject) -> None:
    """Any split into batches, with batches delivered again and the view reopened between, equals one batch."""
    changes, batches = split
    with tempfile.TemporaryDirectory() as directory:
        live = KeywordView(Path(directory, "live"))
        for batch in batches:
            put(live, batch)
            if data.draw(st.booleans()):
                put(live, batch)
            if data.draw(st.booleans()):
                live.close()
                live = KeywordView(Path(directory, "live"))
        rebuilt = KeywordView(Path(directory, "rebuilt"))
        put(rebuilt, changes)
        unmerged = keyword_answers(live)
        live.optimize()
        rebuilt.optimize()
        assert (live.position, live.count) == (rebuilt.position, rebuilt.count)
        assert_same(keyword_answers(live), keyword_answers(rebuilt))
        assert_same(unmerged, keyword_answers(rebuilt))
        live.close()
        rebuilt.close()

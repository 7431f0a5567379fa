"""Retrieval metrics against values computed by hand."""

from __future__ import annotations

import math

import pytest

from gateways.bench import metrics

RANKING = ["a", "b", "c", "d", "e", "f"]


def test_recall_is_the_share_of_evidence_found() -> None:
    """Of two relevant labels, one within the depth is a half; what never came counts as missed."""
    assert metrics.recall(RANKING, {"b", "f"}, 5) == 0.5
    assert metrics.recall(RANKING, {"b", "f"}, 6) == 1.0
    assert metrics.recall(RANKING, {"b", "x", "y"}, 50) == pytest.approx(1 / 3)
    assert metrics.recall([], {"b"}, 5) == 0.0


def test_repeated_evidence_counts_once() -> None:
    """A label that is named twice as evidence is one label."""
    assert metrics.recall(RANKING, ["b", "b", "x"], 5) == 0.5


def test_hit_is_all_or_nothing() -> None:
    """One relevant label within the depth is a hit, none is not, and the depth is inclusive."""
    assert metrics.hit(RANKING, {"c", "x"}, 3) == 1.0
    assert metrics.hit(RANKING, {"c", "x"}, 2) == 0.0


def test_reciprocal_rank_is_of_the_first() -> None:
    """The first relevant label counts, the second does not; nothing found is zero."""
    assert metrics.reciprocal_rank(RANKING, {"d", "b"}) == 0.5
    assert metrics.reciprocal_rank(RANKING, {"x"}) == 0.0


def test_ndcg_by_hand() -> None:
    """Relevant at ranks 2 and 4 of two: (1/log2 3 + 1/log2 5) / (1 + 1/log2 3)."""
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert metrics.ndcg(RANKING, {"b", "d"}, 10) == pytest.approx(expected)
    assert expected == pytest.approx(0.6509, abs=1e-4)


def test_ndcg_of_an_ideal_ranking_is_one() -> None:
    """Everything relevant first is 1, also when more is relevant than the depth shows."""
    assert metrics.ndcg(RANKING, {"a", "b"}, 10) == pytest.approx(1.0)
    assert metrics.ndcg(RANKING, {"a", "b", "c"}, 2) == pytest.approx(1.0)
    assert metrics.ndcg(RANKING, {"f"}, 5) == 0.0


def test_nothing_relevant_has_no_score() -> None:
    """A question without evidence is the caller's to leave out, not a silent zero."""
    with pytest.raises(ValueError, match="without anything relevant"):
        metrics.recall(RANKING, set(), 5)


def test_score_has_every_name_and_mean_averages_questions() -> None:
    """Two questions count alike: a perfect one and a failed one average to a half."""
    perfect, failed = metrics.score(RANKING, {"a"}), metrics.score(RANKING, {"x"})
    assert tuple(perfect) == metrics.NAMES
    assert set(metrics.mean([perfect, failed]).values()) == {0.5}
    assert metrics.mean([]) == {}


def test_distinct_keeps_the_first_place() -> None:
    """A repeated label stays where it was first."""
    assert metrics.distinct(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_percentile_is_the_nearest_rank() -> None:
    """Of 1..20 the median is 10 and the 95th percentile 19; one value is every percentile of itself."""
    values = [float(number) for number in range(20, 0, -1)]
    assert metrics.percentile(values, 50) == 10.0
    assert metrics.percentile(values, 95) == 19.0
    assert metrics.percentile([7.0], 95) == 7.0
    assert metrics.percentile([], 50) == 0.0

"""Fusion as pure arithmetic."""

from __future__ import annotations

import pytest

from projections.fusion import (
    Candidate,
    ChannelHits,
    Found,
    Fused,
    Fusion,
    confidence_factor,
    fuse,
    reciprocal_rank,
    score_sum,
)
from projections.relevance import keyword_relevance, matched_share, vector_relevance


def _channel(channel: str, weight: float, *hits: tuple[str, float], scale: str = "own") -> ChannelHits:
    return ChannelHits(channel=channel, weight=weight, hits=[Candidate(*hit) for hit in hits], scale=scale)


def _order(
    *channels: ChannelHits, method: Fusion, factors: dict[str, float] | None = None, newest: str = ""
) -> list[str]:
    ids = {hit.id for channel in channels for hit in channel.hits}
    fused = fuse(
        channels,
        method,
        factors={id_: (factors or {}).get(id_, 1.0) for id_ in ids},
        positions={id_: newest.index(id_) if id_ in newest else -1 for id_ in ids},
    )
    return [one.id for one in fused]


def test_reciprocal_rank_is_the_formula() -> None:
    """score(d) = Σ weight / (k + rank), rank from 1."""
    channels = [_channel("vector", 1.0, ("a", 0.9), ("b", 0.8)), _channel("key", 1.5, ("b", 1.0))]
    assert reciprocal_rank(60)(channels) == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1.5 / 61})


def test_score_sum_is_the_formula() -> None:
    """Scores are normalised to the range of their scale, weighted and added."""
    channels = [
        _channel("vector", 0.5, ("a", 0.9), ("b", 0.5), ("c", 0.1), scale="v"),
        _channel("keyword", 0.5, ("b", 10.0), ("c", 2.0), scale="k"),
        _channel("key", 0.75, ("c", 0.5), scale=""),
    ]
    assert score_sum()(channels) == pytest.approx({"a": 0.5, "b": 0.25 + 0.5, "c": 0.0 + 0.0 + 0.375})


def test_a_lone_bad_hit_is_not_the_best_of_its_scale() -> None:
    """Memories and messages of one index share a scale, so that a single weak memory does not count as full."""
    channels = [
        _channel("vector", 0.5, ("weak", 0.05), scale="v"),
        _channel("message_vector", 0.45, ("good", 0.8), ("fair", 0.4), scale="v"),
    ]
    assert _order(*channels, method=score_sum()) == ["good", "fair", "weak"]


def test_scores_below_the_range_count_nothing() -> None:
    """The range spans the best ``depth`` hits; what is below adds nothing and subtracts nothing."""
    channels = [_channel("vector", 1.0, ("a", 0.9), ("b", 0.8)), _channel("message_vector", 1.0, ("c", 0.1))]
    assert score_sum(2)(channels) == {"a": 1.0, "b": 0.0, "c": 0.0}


@pytest.mark.parametrize("method", [reciprocal_rank(), score_sum()], ids=["reciprocal_rank", "score_sum"])
def test_no_hits_is_no_result(method: Fusion) -> None:
    """Empty channels fuse to nothing."""
    assert fuse([_channel("vector", 1.0)], method, factors={}, positions={}) == []
    assert fuse([], method, factors={}, positions={}) == []


def test_ties_go_to_the_newer_then_to_the_id() -> None:
    """Equal scores are ordered by position, newest first, and then by id."""
    channel = _channel("vector", 1.0, ("a", 0.5), ("b", 0.5), ("c", 0.5), ("d", 0.5))
    assert _order(channel, method=score_sum(), newest="bc") == ["c", "b", "a", "d"]


def test_confidence_orders_equal_evidence() -> None:
    """At equal evidence 0.9 is before 0.85, 0.6, 0.5 and what has decayed."""
    confidence = {"a": 0.1, "b": 0.5, "c": 0.6, "d": 0.85, "e": 0.9}
    channel = _channel("vector", 1.0, *((id_, 0.5) for id_ in confidence))
    factors = {id_: confidence_factor(value) for id_, value in confidence.items()}
    assert _order(channel, method=score_sum(), factors=factors, newest="edcba") == ["e", "d", "c", "b", "a"]


def test_confidence_is_bounded() -> None:
    """Whatever the confidence, the factor stays in [0.8, 1]: a clear lead in evidence keeps its place."""
    assert (confidence_factor(-3), confidence_factor(0), confidence_factor(1), confidence_factor(9)) == (0.8, 0.8, 1, 1)


def test_every_channel_that_found_an_item_is_told() -> None:
    """A fused item names each channel with its rank, own score and weight."""
    vector = _channel("vector", 0.5, ("x", 0.9), ("a", 0.7), scale="v")
    channels = [vector, _channel("keyword", 0.5, ("a", 12.0))]
    fused = {one.id: one for one in fuse(channels, score_sum(), factors={"a": 1, "x": 1}, positions={"a": 1, "x": 2})}
    assert fused["a"].found == (Found("vector", 2, 0.7, 0.5), Found("keyword", 1, 12.0, 0.5))
    assert fused["x"] == Fused("x", 0.5, (Found("vector", 1, 0.9, 0.5),))


def test_relevance_is_absolute() -> None:
    """Nonsense stays low whatever else was found; a full match in words is high; nothing leaves [0, 1]."""
    assert vector_relevance(-0.2) == 0.0
    assert vector_relevance(1.0001) == 1.0
    assert keyword_relevance(0.0, "blue", "blue") == 0.0
    one_of_four = keyword_relevance(5.0, "zorgon blip quux Rome", "I live in Rome")
    all_words = keyword_relevance(9.0, "Where is the running track?", "the tracks where she runs")
    assert one_of_four < 0.15
    assert 0.5 < all_words < 1.0


@pytest.mark.parametrize(
    "query,text,share",
    [
        ("what is the of", "the of", 0.0),
        ("favourite colours", "Her favourite colour is blue", 1.0),
        ("Rome Oslo", "oslo", 0.5),
        ("%_#key:value", "key", 0.5),
        ("café", "CAFÉ au lait", 1.0),
        ("好きな色", "私の好きな色は青です", 1.0),
        ("любимый цвет", "мой любимый город", 0.5),
        ("", "anything", 0.0),
    ],
)
def test_matched_share_counts_words_of_any_script(query: str, text: str, share: float) -> None:
    """The share of the query's words in a text: stemmed in English, whole words elsewhere, pairs without spaces."""
    assert matched_share(query, text) == share

"""All three views together: whatever the batches and redeliveries, a rebuild recalls what was live."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.envelope import Envelope
from projections.generations import VIEWS, ViewSet
from projections.keywords import KeywordView
from projections.ledger import Ledger
from projections.recall import RecallQuery, recall
from tests.builders import NOW, indexing, unit
from tests.histories import STEPS, random_log, split

_ALL = 10**9
QUERIES = ("content 1", "key 2 content 3", "user content", "nothing of that kind")


def _answers(batches: Sequence[Sequence[Envelope]]) -> list[list[tuple[str, float, float]]]:
    """What recall answers once these batches were applied."""
    with tempfile.TemporaryDirectory() as directory:
        views = ViewSet(Path(directory), dict.fromkeys(VIEWS, "g000001"), indexing())
        for batch in batches:
            views.apply(batch)
        assert isinstance(views.keywords, KeywordView)
        views.keywords.optimize()
        assert not views.stopped
        answers = [
            recall(
                views,
                RecallQuery(text=query, contact=contact, limit=50),
                embed_query=lambda _: unit(1, 2, 0, 0),
                now=NOW + timedelta(seconds=30),
            )
            for query in QUERIES
            for contact in ("", "ana", "*")
        ]
        views.close()
    return [[(hit.item.id, hit.score, hit.relevance) for hit in answer.results] for answer in answers]


def _work(batches: Sequence[Sequence[Envelope]]) -> list[object]:
    """What stands for conversations and what the profile is at, once these batches were applied."""
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory), indexing())
        for batch in batches:
            ledger.apply(batch, upto=batch[-1].position)
        sessions = [f"s{number}" for number in range(3)]
        asked: list[Callable[[str], object]] = [
            ledger.overlays,
            ledger.lost_overlays,
            ledger.summaries,
            ledger.notes,
            ledger.task,
        ]
        found = [ask(session) for ask in asked for session in sessions]
        found += [
            ledger.goals(status="all", before=_ALL, limit=99, events=99),
            ledger.reflections(before=_ALL, limit=99),
            ledger.misquotes(99),
            ledger.bereft(99),
        ]
        ledger.close()
    return found


@settings(max_examples=40)
@given(STEPS, st.lists(st.integers(0, 40), max_size=6), st.integers(0, 40))
def test_a_rebuild_has_every_overlay_note_task_goal_and_reflection(
    steps: list[tuple[int, int, int]], cuts: list[int], late: int
) -> None:
    """Batches cut anywhere, the last ones delivered twice, against one replay: the same, and what is still to end."""
    envelopes = random_log(steps).envelopes
    if not envelopes:
        return
    repeated = [*split(envelopes, cuts), envelopes[late % (len(envelopes) + 1) :]]
    assert _work([batch for batch in repeated if batch]) == _work([envelopes])


@settings(max_examples=15)
@given(STEPS, st.lists(st.integers(0, 40), max_size=6), st.integers(0, 40))
def test_a_rebuild_recalls_what_was_live(steps: list[tuple[int, int, int]], cuts: list[int], late: int) -> None:
    """Batches cut anywhere, the last ones delivered twice, against one replay of the whole log."""
    envelopes = random_log(steps).envelopes
    live = split(envelopes, cuts)
    repeated = [*live, envelopes[late % (len(envelopes) + 1) :]]
    for one, other in zip(_answers([b for b in repeated if b]), _answers([envelopes]), strict=True):
        assert [id_ for id_, _, _ in one] == [id_ for id_, _, _ in other]
        for (_, score, relevance), (_, score2, relevance2) in zip(one, other, strict=True):
            assert score == pytest.approx(score2, abs=1e-5)
            assert relevance == pytest.approx(relevance2, abs=1e-5)

"""The ledger is a function of the log: batches, redelivery and rebuilds leave the same tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import Envelope
from domain.events import MemoryRemembered, MessageRecorded
from projections.ledger import Ledger
from projections.outcome import Outcome
from tests.builders import NOW, indexing
from tests.histories import STEPS, random_log, split


def _tables(batches: Sequence[Sequence[Envelope]]) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory), indexing())
        for batch in batches:
            ledger.apply(batch, upto=batch[-1].position if batch else 0)
        with ledger._store.read() as db:
            dump = sorted(db.iterdump())
        ledger.close()
    return dump


@given(STEPS, st.lists(st.integers(0, 40), max_size=8))
def test_any_split_is_one_batch(steps: list[tuple[int, int, int]], cuts: list[int]) -> None:
    """However the log is cut into batches, the tables are the same; so a rebuild equals what was live."""
    envelopes = random_log(steps).envelopes
    assert _tables(split(envelopes, cuts)) == _tables([envelopes])


@given(STEPS, st.integers(0, 40), st.integers(0, 40))
def test_redelivery_is_once(steps: list[tuple[int, int, int]], start: int, end: int) -> None:
    """Batches that come again, overlap or come late change nothing."""
    envelopes = random_log(steps).envelopes
    low, high = sorted((start % (len(envelopes) + 1), end % (len(envelopes) + 1)))
    first, again = envelopes[:high], envelopes[low:]
    assert _tables([first, first, again, envelopes, first, envelopes]) == _tables([envelopes])


@given(STEPS)
def test_what_is_live_is_what_waits_or_is_indexed(steps: list[tuple[int, int, int]]) -> None:
    """Items, liveness and completeness agree: every item is live, and nothing dead is pending."""
    envelopes = random_log(steps).envelopes
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory), indexing())
        assert ledger.apply(envelopes, upto=1000) is Outcome.APPLIED
        with ledger._store.read() as db:
            items = [row[0] for row in db.execute("SELECT id FROM items ORDER BY id")]
        early = NOW - timedelta(days=1)
        known = {e.data.memory for e in envelopes if isinstance(e.data, MemoryRemembered)}
        known |= {e.data.message for e in envelopes if isinstance(e.data, MessageRecorded)}
        live = ledger.live(sorted(known), early)
        pending = ledger.pending_embeddings(1000)
        assert ledger.counts().pending == len(pending)
        expected = min((one.position for one in pending), default=1001) - 1
        assert ledger.complete_position() == expected
        ledger.close()
    assert live.position == 1000
    assert set(live.items) <= set(items)

"""What a ledger keeps of its rows is what is in them: a ledger that has read all along answers as one just opened."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import Envelope
from domain.events import MemoryRemembered, MessageRecorded
from projections.ledger import Ledger, LiveItem
from tests.builders import NOW, indexing
from tests.histories import STEPS, random_log, split

TIMES = (NOW - timedelta(days=1), NOW + timedelta(hours=1))


def answers(ledger: Ledger, ids: Sequence[str]) -> tuple[list[dict[str, LiveItem]], dict[str, tuple[str, ...]], int]:
    """Everything that is kept, read before and after something expired, and the position it is of."""
    live = [ledger.live(ids, at) for at in (*TIMES, *TIMES)]
    return [one.items for one in live], ledger.neighbours([id_ for id_ in ids if "@" not in id_]), live[-1].position


def just_opened(directory: Path, ids: Sequence[str]) -> object:
    """The same from a ledger that has read nothing yet."""
    ledger = Ledger(directory, indexing())
    try:
        return answers(ledger, ids)
    finally:
        ledger.close()


def named(envelopes: Sequence[Envelope]) -> list[str]:
    """The ids of all memories and messages of a log."""
    memories = {one.data.memory for one in envelopes if isinstance(one.data, MemoryRemembered)}
    return sorted(memories | {one.data.message for one in envelopes if isinstance(one.data, MessageRecorded)})


@given(STEPS, st.lists(st.integers(0, 40), max_size=8))
def test_kept_rows_are_the_rows(steps: list[tuple[int, int, int]], cuts: list[int]) -> None:
    """After every batch, whatever it did to rows that were read before."""
    envelopes = random_log(steps).envelopes
    ids = named(envelopes)
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory), indexing())
        for batch in split(envelopes, cuts):
            ledger.apply(batch, upto=batch[-1].position if batch else 0)
            assert answers(ledger, ids) == just_opened(Path(directory), ids)
        ledger.close()


@given(STEPS, st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=8))
def test_what_another_wrote_counts_as_well(steps: list[tuple[int, int, int]], cuts: list[tuple[int, bool]]) -> None:
    """Two ledgers on one file take turns in applying: neither answers from before what the other applied."""
    envelopes = random_log(steps).envelopes
    ids = named(envelopes)
    turns = [mine for _, mine in cuts]
    with tempfile.TemporaryDirectory() as directory:
        both = [Ledger(Path(directory), indexing()) for _ in range(2)]
        for number, batch in enumerate(split(envelopes, [cut for cut, _ in cuts])):
            mine = turns[number] if number < len(turns) else True
            both[mine].apply(batch, upto=batch[-1].position if batch else 0)
            assert answers(both[0], ids) == answers(both[1], ids)
        for ledger in both:
            ledger.close()


def test_a_reader_of_an_older_state_is_told_no_news(tmp_path: Path) -> None:
    """Rows that a later reader kept are not seen at an earlier position, nor earlier ones at a later one."""
    ledger = Ledger(tmp_path, indexing())
    log = random_log([(0, 0, 0), (5, 0, 1)])
    ledger.apply(log.envelopes, upto=log.position)
    ids = named(log.envelopes)
    assert set(ledger.live(ids, NOW).items) == set(ids)
    kept = ledger._remembered.at(log.position)
    at = _micros(NOW)
    assert set(kept.live(ids, log.position, at)[0]) == set(ids)
    first = log.envelopes[0].position
    assert {item.position for item in kept.live(ids, first, at)[0].values()} == {first}
    log.forget(next(id_ for id_ in ids if "@" in id_))
    ledger.apply(log.envelopes, upto=log.position)
    assert ledger._remembered.at(log.position).live(ids, log.position, at) == ({}, ids)
    # What was true before has gone with the commit, the forgotten text with it.
    assert ledger._remembered.at(first) is not kept
    ledger.close()


def _micros(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)

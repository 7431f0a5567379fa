"""The ledger is a function of the log: batches, redelivery and rebuilds leave the same tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from domain.envelope import Envelope
from domain.events import (
    AccessCounted,
    ContradictionNoted,
    EmbeddingFailed,
    ExpirySet,
    MemoryDecayed,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRevised,
    MemorySuperseded,
    MessageRecorded,
)
from domain.indexing import message_text
from projections.ledger import Ledger
from projections.outcome import Outcome
from tests.builders import MODEL, NOW, Log, indexing, unit

_MEMORY_ACTIONS = 7
_STEPS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=30)


def _log(steps: list[tuple[int, int, int]]) -> Log:
    """A log of random, even contradictory, events about few memories and messages."""
    log = Log(step=2)
    for action, what, variant in steps:
        key, content, session = f"key {what % 3}", f"content {what}", f"s{what % 2}"
        written = [e.data for e in log.envelopes if isinstance(e.data, MemoryRemembered)]
        said = [e.data for e in log.envelopes if isinstance(e.data, MessageRecorded)]
        memory = written[what % len(written)] if written else None
        message = said[what % len(said)] if said else None
        if memory and action >= _MEMORY_ACTIONS:
            _touch(log, action, memory, variant)
            continue
        match action:
            case 0:
                log.message(content, session=session)
            case 1:
                log.contact(session, f"contact {variant}")
            case 2 if message:
                log.forget_message(message.message, session=message.session)
            case 3 if message:
                log.embed(message_text(message), unit(1, what, 0, 0))
            case 4 if message:
                embedding = indexing().embedding_id("k1", message_text(message))
                log.append(EmbeddingFailed(embedding=embedding, model=MODEL, reason=f"reason {variant}"))
            case 5 | 6:
                scope = None if variant % 2 else "ana"
                log.remember(
                    content, key=key, scope=scope, version=1 + variant, kind="task" if variant == 3 else "fact"
                )
            case _:
                counts = {content: (1 + variant, NOW + timedelta(hours=what))}
                log.append(AccessCounted(instance="i", counts=counts))
    return log


def _touch(log: Log, action: int, memory: MemoryRemembered, variant: int) -> None:
    id_ = memory.memory
    match action, variant:
        case 7, _:
            log.forget(id_)
        case 8, _:
            log.append(MemorySuperseded(memory=id_, by=f"x@{variant}", rule="judge"))
        case 9, _:
            log.append(MemoryRestored(memory=id_, content=memory))
        case _, 0:
            log.append(MemoryRevised(memory=id_, metadata={"n": variant}))
        case _, 1:
            log.append(MemoryDecayed(memory=id_, day="2026-01-02", confidence=0.3))
        case _, 2:
            log.append(ExpirySet(memory=id_, expires_at=NOW + timedelta(minutes=1)))
        case _:
            log.append(ContradictionNoted(memory=id_, other="", text="a text"))
            log.append(MemoryRejected(memory=id_, skeleton="x"))


def _tables(batches: Sequence[Sequence[Envelope]]) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory), indexing())
        for batch in batches:
            ledger.apply(batch, upto=batch[-1].position if batch else 0)
        with ledger._store.read() as db:
            dump = sorted(db.iterdump())
        ledger.close()
    return dump


def _split(envelopes: Sequence[Envelope], cuts: list[int]) -> list[Sequence[Envelope]]:
    edges = [0, *sorted({cut % (len(envelopes) + 1) for cut in cuts}), len(envelopes)]
    return [envelopes[start:end] for start, end in pairwise(edges)]


@given(_STEPS, st.lists(st.integers(0, 40), max_size=8))
def test_any_split_is_one_batch(steps: list[tuple[int, int, int]], cuts: list[int]) -> None:
    """However the log is cut into batches, the tables are the same; so a rebuild equals what was live."""
    envelopes = _log(steps).envelopes
    assert _tables(_split(envelopes, cuts)) == _tables([envelopes])


@given(_STEPS, st.integers(0, 40), st.integers(0, 40))
def test_redelivery_is_once(steps: list[tuple[int, int, int]], start: int, end: int) -> None:
    """Batches that come again, overlap or come late change nothing."""
    envelopes = _log(steps).envelopes
    low, high = sorted((start % (len(envelopes) + 1), end % (len(envelopes) + 1)))
    first, again = envelopes[:high], envelopes[low:]
    assert _tables([first, first, again, envelopes, first, envelopes]) == _tables([envelopes])


@given(_STEPS)
def test_what_is_live_is_what_waits_or_is_indexed(steps: list[tuple[int, int, int]]) -> None:
    """Items, liveness and completeness agree: every item is live, and nothing dead is pending."""
    envelopes = _log(steps).envelopes
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

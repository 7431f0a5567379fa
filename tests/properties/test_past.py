"""What the ledger says of the past is what it said then, whatever happened since."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from hypothesis import given, settings

from domain.envelope import Envelope
from projections.ledger import AsOf, Ledger, MemoryRecord
from tests.builders import indexing
from tests.histories import STEPS, random_log

CONTACTS = ("", "*", "ana", "contact 0")
STATUSES = ("live", "superseded", "rejected", "expired", "all")

Answers = dict[str, object]


def _asked(ledger: Ledger, clock: datetime, as_of: AsOf | None, gone: frozenset[str]) -> Answers:
    """What the ledger answers to every kind of question, without what is forgotten by now."""
    answers: Answers = {"settings": ledger.settings(as_of=as_of)}
    for contact in CONTACTS:
        for status in STATUSES:
            page = ledger.list_memories(now=clock, as_of=as_of, contact=contact, status=status, limit=500)
            answers[f"list {contact} {status}"] = [_then(one) for one in page.entries if one.id not in gone]
        for key in ("key 0", "key 1"):
            found = ledger.by_key(key, [contact or None, None], now=clock, as_of=as_of)
            if found is None or found.id not in gone:
                answers[f"key {contact} {key}"] = found and _then(found)
    return answers


def _then(record: MemoryRecord) -> MemoryRecord:
    """Without when it was accessed last: the past knows how often."""
    return msgspec.structs.replace(record, last_access=None)


def _forgotten(envelopes: Sequence[Envelope]) -> frozenset[str]:
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory), indexing())
        ledger.apply(envelopes, upto=0)
        page = ledger.list_memories(now=envelopes[-1].recorded_at, contact="*", status="forgotten", limit=500)
        ledger.close()
    return frozenset(one.id for one in page.entries)


@settings(max_examples=12)
@given(STEPS)
def test_the_past_is_as_it_was(steps: list[tuple[int, int, int]]) -> None:
    """After every event the answers are written down; asked as of its position and its time, all come again."""
    envelopes = random_log(steps).envelopes
    if not envelopes:
        return
    gone = _forgotten(envelopes)
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory), indexing())
        said: list[tuple[Envelope, Answers]] = []
        for envelope in envelopes:
            ledger.apply([envelope], upto=envelope.position)
            said.append((envelope, _asked(ledger, envelope.recorded_at, None, gone)))
        for envelope, answers in said:
            for point in (envelope.position, envelope.position + 1, envelope.recorded_at):
                as_of = ledger.as_of(point)
                assert as_of is not None
                then = _asked(ledger, envelopes[-1].recorded_at, as_of, gone)
                assert {question: then[question] for question in then if question in answers} == answers
        ledger.close()

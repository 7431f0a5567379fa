"""How derived work changes the ledger: what was read for memories, what model calls cost, what was refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from domain.envelope import Envelope
from domain.events import ExtractionCompleted, ExtractionFailed, PassCompleted, RefusalRecorded, UsageRecorded
from projections.ledger.apply_grounds import corroborated
from projections.ledger.records import micros

__all__ = ["Work", "project_work"]

Work = ExtractionCompleted | ExtractionFailed | UsageRecorded | RefusalRecorded | PassCompleted

_DONE, _FAILED = 1, 2


def project_work(db: sqlite3.Connection, envelope: Envelope, event: Work) -> None:
    """Apply one event of a worker inside the caller's transaction."""
    match event:
        case UsageRecorded():
            _usage(db, envelope, event)
        case RefusalRecorded():
            _refusal(db, envelope, event)
        case PassCompleted():
            _pass(db, envelope, event)
        case _:
            _extraction(db, envelope, event)


def _extraction(db: sqlite3.Connection, envelope: Envelope, event: ExtractionCompleted | ExtractionFailed) -> None:
    """Mark the messages as read or failed, and note the work. What was completed stays so."""
    completed = isinstance(event, ExtractionCompleted)
    if isinstance(event, ExtractionCompleted):
        corroborated(db, envelope, event)
    _mark(db, event.messages, _DONE if completed else _FAILED)
    if isinstance(event, ExtractionCompleted):
        _restated(db, micros(envelope.recorded_at), event)
    db.execute(
        "INSERT INTO extractions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
        " model = excluded.model, state = excluded.state, reason = excluded.reason, tries = excluded.tries,"
        " items = excluded.items, dropped = excluded.dropped, at = excluded.at, position = excluded.position"
        " WHERE state <> 'completed'",
        (
            event.extraction,
            event.session,
            event.source,
            event.pipeline,
            event.model,
            "completed" if completed else "failed",
            "" if isinstance(event, ExtractionCompleted) else event.reason,
            event.tries,
            len(event.messages),
            len(event.items) if isinstance(event, ExtractionCompleted) else 0,
            len(event.dropped) if isinstance(event, ExtractionCompleted) else 0,
            micros(envelope.recorded_at),
            envelope.position,
        ),
    )


def _restated(db: sqlite3.Connection, at: int, event: ExtractionCompleted) -> None:
    """What was said again was used, though nobody asked for it."""
    db.executemany(
        "INSERT INTO accesses VALUES (?, 0, ?) ON CONFLICT (memory) DO UPDATE SET"
        " last_at = max(last_at, excluded.last_at)",
        ((item.memory, at) for item in event.items if item.outcome == "duplicate" and item.memory),
    )


def _mark(db: sqlite3.Connection, messages: Sequence[str], extracted: int) -> None:
    db.executemany(
        "UPDATE messages SET extracted = ? WHERE id = ? AND extracted <> 1",
        ((extracted, message) for message in messages),
    )


def _usage(db: sqlite3.Connection, envelope: Envelope, event: UsageRecorded) -> None:
    """Add to the day's figures."""
    day = envelope.recorded_at.date().isoformat()
    db.executemany(
        "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, provider, model, purpose) DO UPDATE SET"
        " calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens,"
        " output_tokens = output_tokens + excluded.output_tokens,"
        " cost = iif(excluded.cost IS NULL, cost, coalesce(cost, 0) + excluded.cost),"
        " estimated = max(estimated, excluded.estimated)",
        (
            (day, e.provider, e.model, e.purpose, e.calls, e.input_tokens, e.output_tokens, e.cost, int(e.estimated))
            for e in event.entries
        ),
    )


def _refusal(db: sqlite3.Connection, envelope: Envelope, event: RefusalRecorded) -> None:
    """Count it under its rule."""
    db.execute(
        "INSERT INTO refusals VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (rule, subject, provider) DO UPDATE SET"
        " detail = excluded.detail, count = count + excluded.count, last_at = max(last_at, excluded.last_at)",
        (event.rule, event.subject, event.provider, event.detail, event.count, micros(envelope.recorded_at)),
    )


def _pass(db: sqlite3.Connection, envelope: Envelope, event: PassCompleted) -> None:
    """Keep the latest of its name."""
    counts = msgspec.json.encode(event.counts).decode()
    db.execute(
        "INSERT INTO passes VALUES (?, ?, ?, ?, ?) ON CONFLICT (name, scheduled) DO UPDATE SET"
        " day = excluded.day, counts = excluded.counts, at = excluded.at WHERE excluded.day >= day",
        (event.name, int(event.scheduled), event.day, counts, micros(envelope.recorded_at)),
    )

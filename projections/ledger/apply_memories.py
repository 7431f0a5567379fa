"""How memory events change the ledger: versions, their states, and history."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from domain.envelope import Envelope
from domain.events import (
    ContradictionNoted,
    Event,
    ExpirySet,
    MemoryConsolidated,
    MemoryDecayed,
    MemoryExpired,
    MemoryForgotten,
    MemoryJudged,
    MemoryPinned,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemorySuperseded,
    MemoryUnpinned,
)
from domain.suppression import suppression_of
from domain.text import fold_key, skeleton
from projections.ledger.apply_copies import project_copies
from projections.ledger.apply_grounds import (
    drop_grounds,
    lose_grounds,
    not_overdue,
    note_grounds,
    note_words,
    take_grounds,
)
from projections.ledger.apply_past import forget_states, note_states
from projections.ledger.apply_quotes import follow_quotes
from projections.ledger.apply_working import forget_learning
from projections.ledger.records import micros
from projections.ledger.rows import optional_micros
from projections.ledger.segments import key_segments

__all__ = ["project_memory"]

# Left out of a history entry: ids it has anyway, texts that are kept with the version, the retry's own id, and which
# other profiles there are.
_NOT_DETAIL = frozenset({"memory", "address", "memories", "content", "skeleton", "request_id", "profile", "copy"})


def project_memory(db: sqlite3.Connection, envelope: Envelope, event: Event) -> None:
    """Apply one memory event inside the caller's transaction."""
    match event:
        case MemoryRemembered():
            _write_version(db, envelope, event)
        case MemoryRestored():
            _write_version(db, envelope, event.content)
            _begin(db, event.memory)
            if envelope.actor.type == "person":
                _set(db, event.memory, "author_type", "person")
                _reinstate(db, event.content)
        case MemorySuperseded():
            _end(db, event.memory, "superseded", event.by)
        case MemoryRetracted():
            _end(db, event.memory, "retracted")
        case MemoryRejected():
            _end(db, event.memory, "rejected")
            db.execute(
                "INSERT OR IGNORE INTO rejections SELECT ?, scope, id FROM memories WHERE id = ?",
                (event.skeleton, event.memory),
            )
        case MemoryExpired():
            _end(db, event.memory, "expired")
        case MemoryForgotten():
            _forget_all(db, event)
        case _:
            _set_field(db, envelope, event)
    project_copies(db, envelope, event)
    note_states(db, envelope, _touched(event))
    follow_quotes(db, envelope, event)
    _note(db, envelope, event)


def _set_field(db: sqlite3.Connection, envelope: Envelope, event: Event) -> None:
    match event:
        case MemoryRevised():
            _revise(db, envelope, event)
        case MemoryDecayed():
            _set(db, event.memory, "confidence", event.confidence)
            _set(db, event.memory, "decayed_on", event.day)
        case MemoryConsolidated():
            _set(db, event.memory, "sources", _json(event.sources))
            take_grounds(db, event)
            _set(db, event.memory, "confidence", event.confidence)
        case ExpirySet():
            _set(db, event.memory, "expires_at", optional_micros(event.expires_at))
        case MemoryPinned() | MemoryUnpinned():
            _set(db, event.memory, "pinned", int(isinstance(event, MemoryPinned)))
        case MemoryJudged():
            _set(db, event.memory, "judged", 1)


def _revise(db: sqlite3.Connection, envelope: Envelope, event: MemoryRevised) -> None:
    if event.metadata is not None:
        _set(db, event.memory, "metadata", _json(event.metadata))
    if event.affirmed and envelope.actor.type == "person":
        _set(db, event.memory, "author_type", "person")
    if event.lost:
        lose_grounds(db, event)


def _set(db: sqlite3.Connection, memory: str, column: str, value: object) -> None:
    # `column` is one of the names above, never text from an event.
    db.execute(f"UPDATE memories SET {column} = ? WHERE id = ? AND status <> 'forgotten'", (value, memory))


def _write_version(db: sqlite3.Connection, envelope: Envelope, event: MemoryRemembered) -> None:
    known = db.execute("SELECT 1 FROM memories WHERE id = ?", (event.memory,)).fetchone()
    if known:
        return
    db.execute(
        f"INSERT INTO memories VALUES ({', '.join('?' * 23)}, 'live', '', 0, ?, ?, ?, ?, 0, '')",
        (
            event.memory,
            event.address,
            event.version,
            event.kind,
            event.fact_type,
            event.scope,
            event.key,
            fold_key(event.key) if event.key else "",
            event.text,
            _json(event.queries),
            event.session,
            event.source,
            event.confidence,
            envelope.actor.principal,
            envelope.actor.type,
            _json(event.sources),
            _json(event.metadata),
            optional_micros(event.occurred_at),
            optional_micros(event.valid_from),
            optional_micros(event.valid_to),
            optional_micros(event.expires_at),
            micros(envelope.recorded_at),
            envelope.position,
            optional_micros(event.stated_at),
            event.extraction,
            event.model,
            skeleton(event.text),
        ),
    )
    if envelope.actor.type == "person":
        _reinstate(db, event)
    if event.kind == "instruction" and (quiet := suppression_of(event.text)):
        db.execute("INSERT OR REPLACE INTO suppressions VALUES (?, ?, ?)", (event.memory, quiet.subject, quiet.scope))
    # The day and the topic that a daily reflection is filed under are no subjects that a question names.
    segments = () if event.source == "reflection" and event.model else key_segments(event.key)
    rows = ((segment, event.memory, len(segments)) for segment in segments)
    db.executemany("INSERT OR IGNORE INTO key_segments VALUES (?, ?, ?)", rows)
    note_grounds(db, envelope, event)


def _reinstate(db: sqlite3.Connection, event: MemoryRemembered) -> None:
    """What a person states again, in this scope, is rejected no more."""
    db.execute("DELETE FROM rejections WHERE skeleton = ? AND scope IS ?", (skeleton(event.text), event.scope))


def _begin(db: sqlite3.Connection, memory: str) -> None:
    db.execute(
        "UPDATE memories SET status = 'live', superseded_by = '' WHERE id = ? AND status <> 'forgotten'", (memory,)
    )


def _end(db: sqlite3.Connection, memory: str, status: str, by: str = "") -> None:
    db.execute(
        "UPDATE memories SET status = ?, superseded_by = iif(? = '', superseded_by, ?)"
        " WHERE id = ? AND status <> 'forgotten'",
        (status, by, by, memory),
    )
    not_overdue(db, memory)


def _forget_all(db: sqlite3.Connection, event: MemoryForgotten) -> None:
    for memory in event.memories:
        _forget(db, memory)
        db.execute("DELETE FROM evicted WHERE memory = ?", (memory,))
    drop_grounds(db, event.memories)
    forget_states(db, event.memories)


def _forget(db: sqlite3.Connection, memory: str) -> None:
    db.execute(
        "UPDATE memories SET status = 'forgotten', text = '', queries = '[]', metadata = '{}', key = '',"
        " folded_key = '', skeleton = '' WHERE id = ?",
        (memory,),
    )
    db.execute("DELETE FROM key_segments WHERE memory = ?", (memory,))
    forget_learning(db, memory)
    db.execute("DELETE FROM suppressions WHERE memory = ?", (memory,))
    db.execute(
        "UPDATE memory_events SET detail = json_remove(detail, '$.text', '$.metadata')"
        " WHERE other = ? OR address = ? AND memory = ?",
        (memory, _address(memory), memory),
    )


# -- history ----------------------------------------------------------------------


def _note(db: sqlite3.Connection, envelope: Envelope, event: Event) -> None:
    """Write the event down in the history of every memory it is about."""
    fields = msgspec.to_builtins(event)
    detail = {} if isinstance(event, MemoryRemembered) else {k: v for k, v in fields.items() if k not in _NOT_DETAIL}
    entries = [(memory, _other(event), detail) for memory in _touched(event)]
    if isinstance(event, MemoryJudged):
        # Of interest to those it was held against as well, each with its own part.
        shared = {key: value for key, value in detail.items() if key != "candidates"}
        entries += [
            (one.memory, event.memory, {**shared, **msgspec.to_builtins(one), "memory": event.memory})
            for one in event.candidates
        ]
    db.executemany(
        "INSERT OR IGNORE INTO memory_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                envelope.position,
                memory,
                _address(memory),
                event.TOPIC,
                micros(envelope.recorded_at),
                envelope.actor.principal,
                envelope.actor.type,
                other,
                _json(entry),
            )
            for memory, other, entry in entries
        ),
    )
    if isinstance(event, ContradictionNoted):
        note_words(db, envelope, event)
        # Noted at what was forgotten meanwhile, or in the words of it.
        db.execute(
            "UPDATE memory_events SET detail = json_remove(detail, '$.text') WHERE address = ? AND position = ?"
            " AND EXISTS (SELECT 1 FROM tombstones WHERE name IN (?, ?))",
            (_address(event.memory), envelope.position, event.memory, event.other),
        )


def _touched(event: Event) -> Sequence[str]:
    return event.memories if isinstance(event, MemoryForgotten) else (getattr(event, "memory"),)  # noqa: B009


def _other(event: Event) -> str:
    match event:
        case ContradictionNoted():
            return event.other
        case MemorySuperseded():
            return event.by
        case _:
            return ""


def _address(memory: str) -> str:
    return memory.rpartition("@")[0]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()

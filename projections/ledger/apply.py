"""How each event changes the ledger's tables. Nothing here reads a clock or consults a model."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from domain.envelope import Envelope
from domain.events import (
    AccessCounted,
    ContactSet,
    ContradictionNoted,
    EmbeddingFailed,
    Event,
    ExpirySet,
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
    MessageForgotten,
    MessageRecorded,
)
from domain.indexing import IndexChange, Indexing, session_token
from domain.text import fold_key
from projections.ledger.records import micros
from projections.ledger.segments import key_segments

__all__ = ["project"]

# Left out of a history entry: ids it has anyway, texts that are kept with the version, the retry's own id.
_NOT_DETAIL = frozenset({"memory", "address", "memories", "content", "skeleton", "request_id"})


def project(db: sqlite3.Connection, envelope: Envelope, indexing: Indexing) -> None:
    """Apply one event inside the caller's transaction; events the ledger does not know change nothing."""
    change = indexing.change(envelope)
    if change is not None:
        _index(db, envelope, change)
    event = envelope.data
    match event:
        case MessageRecorded():
            _message_recorded(db, envelope, event)
        case MessageForgotten():
            db.execute("UPDATE messages SET content = '', name = '', forgotten = 1 WHERE id = ?", (event.message,))
        case ContactSet():
            _contact_set(db, envelope, event)
        case EmbeddingFailed() if event.model == indexing.model:
            _embedding_failed(db, envelope, event)
        case AccessCounted():
            _access_counted(db, event)
        case _ if event.category() == "memory":
            _memory(db, envelope, event)


# -- what the indexes hold ----------------------------------------------------------------------


def _index(db: sqlite3.Connection, envelope: Envelope, change: IndexChange) -> None:
    db.executemany("DELETE FROM items WHERE id = ?", ((item,) for item in change.remove))
    if change.computed is not None:
        embedding = change.computed.embedding
        db.execute(
            "INSERT INTO embeddings VALUES (?, 'computed', '', ?)"
            " ON CONFLICT (id) DO UPDATE SET state = 'computed', reason = ''",
            (embedding, change.position),
        )
        _wait_no_more(db, embedding)
    if (item := change.add) is None:
        return
    if item.embedding:
        db.execute("INSERT OR IGNORE INTO embeddings VALUES (?, 'pending', '', ?)", (item.embedding, change.position))
    waiting = "EXISTS (SELECT 1 FROM embeddings WHERE id = ?2 AND state = 'pending')"
    db.execute(
        f"INSERT OR REPLACE INTO items VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, {waiting})",
        (item.id, item.embedding, item.kind, item.scope, item.key_scope, envelope.key_id, item.text, change.position),
    )


def _embedding_failed(db: sqlite3.Connection, envelope: Envelope, event: EmbeddingFailed) -> None:
    db.execute(
        "INSERT INTO embeddings VALUES (?, 'failed', ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET state = 'failed', reason = excluded.reason WHERE state <> 'computed'",
        (event.embedding, event.reason, envelope.position),
    )
    _wait_no_more(db, event.embedding)


def _wait_no_more(db: sqlite3.Connection, embedding: str) -> None:
    db.execute("UPDATE items SET waiting = 0 WHERE embedding = ? AND embedding <> '' AND waiting = 1", (embedding,))


# -- conversations, messages, accesses ----------------------------------------------------------


def _message_recorded(db: sqlite3.Connection, envelope: Envelope, event: MessageRecorded) -> None:
    recorded = micros(envelope.recorded_at)
    db.execute(
        "INSERT INTO conversations (session, token, channel, created_at, position) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (session) DO UPDATE SET channel = excluded.channel"
        " WHERE channel = '' AND excluded.channel <> ''",
        (event.session, session_token(event.session), event.channel, recorded, envelope.position),
    )
    db.execute(
        "INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
        (
            event.message,
            event.session,
            event.role,
            event.name,
            event.content,
            _micros(event.at),
            recorded,
            envelope.position,
            event.occurrence,
            event.caller_id,
            event.turn_id,
            envelope.actor.principal,
            envelope.actor.type,
        ),
    )


def _contact_set(db: sqlite3.Connection, envelope: Envelope, event: ContactSet) -> None:
    token, at = session_token(event.session), micros(envelope.recorded_at)
    db.execute(
        "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET"
        " contact = excluded.contact, channel = iif(excluded.channel = '', channel, excluded.channel)",
        (event.session, token, event.contact, event.channel, at, envelope.position),
    )


def _access_counted(db: sqlite3.Connection, event: AccessCounted) -> None:
    db.executemany(
        "INSERT INTO accesses VALUES (?, ?, ?) ON CONFLICT (memory) DO UPDATE SET"
        " count = count + excluded.count, last_at = max(last_at, excluded.last_at)",
        ((memory, count, micros(last)) for memory, (count, last) in event.counts.items()),
    )


# -- memories -----------------------------------------------------------------------------------


def _memory(db: sqlite3.Connection, envelope: Envelope, event: Event) -> None:
    match event:
        case MemoryRemembered():
            _write_version(db, envelope, event)
        case MemoryRestored():
            _write_version(db, envelope, event.content)
            _begin(db, envelope, event.memory)
        case MemorySuperseded():
            _end(db, envelope, event.memory, "superseded", event.by)
        case MemoryRetracted():
            _end(db, envelope, event.memory, "retracted")
        case MemoryRejected():
            _end(db, envelope, event.memory, "rejected")
        case MemoryExpired():
            _end(db, envelope, event.memory, "expired")
        case MemoryForgotten():
            for memory in event.memories:
                _forget(db, envelope, memory)
        case _:
            _set_field(db, envelope, event)
    _note(db, envelope, event)


def _set_field(db: sqlite3.Connection, envelope: Envelope, event: Event) -> None:
    match event:
        case MemoryRevised():
            _set(db, event.memory, "metadata", _json(event.metadata))
        case MemoryDecayed():
            _set(db, event.memory, "confidence", event.confidence)
            _reopen(db, envelope, event.memory)
        case ExpirySet():
            _set(db, event.memory, "expires_at", _micros(event.expires_at))
            _reopen(db, envelope, event.memory)
        case MemoryPinned() | MemoryUnpinned():
            _set(db, event.memory, "pinned", int(isinstance(event, MemoryPinned)))


def _set(db: sqlite3.Connection, memory: str, column: str, value: object) -> None:
    # `column` is one of the names above, never text from an event.
    db.execute(f"UPDATE memories SET {column} = ? WHERE id = ? AND status <> 'forgotten'", (value, memory))


def _write_version(db: sqlite3.Connection, envelope: Envelope, event: MemoryRemembered) -> None:
    known = db.execute("SELECT 1 FROM memories WHERE id = ?", (event.memory,)).fetchone()
    if known:
        return
    db.execute(
        f"INSERT INTO memories VALUES ({', '.join('?' * 23)}, 'live', '', 0)",
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
            _micros(event.occurred_at),
            _micros(event.valid_from),
            _micros(event.valid_to),
            _micros(event.expires_at),
            micros(envelope.recorded_at),
            envelope.position,
        ),
    )
    segments = key_segments(event.key)
    rows = ((segment, event.memory, len(segments)) for segment in segments)
    db.executemany("INSERT OR IGNORE INTO key_segments VALUES (?, ?, ?)", rows)
    _open_interval(db, envelope, event.memory)


def _begin(db: sqlite3.Connection, envelope: Envelope, memory: str) -> None:
    db.execute(
        "UPDATE memories SET status = 'live', superseded_by = '' WHERE id = ? AND status <> 'forgotten'", (memory,)
    )
    _reopen(db, envelope, memory)


def _end(db: sqlite3.Connection, envelope: Envelope, memory: str, status: str, by: str = "") -> None:
    db.execute(
        "UPDATE memories SET status = ?, superseded_by = iif(? = '', superseded_by, ?)"
        " WHERE id = ? AND status <> 'forgotten'",
        (status, by, by, memory),
    )
    _close_interval(db, envelope, memory)


def _forget(db: sqlite3.Connection, envelope: Envelope, memory: str) -> None:
    db.execute(
        "UPDATE memories SET status = 'forgotten', text = '', queries = '[]', metadata = '{}', key = '',"
        " folded_key = '' WHERE id = ?",
        (memory,),
    )
    db.execute("DELETE FROM key_segments WHERE memory = ?", (memory,))
    db.execute(
        "UPDATE memory_events SET detail = json_remove(detail, '$.text', '$.metadata')"
        " WHERE other = ? OR address = ? AND memory = ?",
        (memory, _address(memory), memory),
    )
    _close_interval(db, envelope, memory)


# -- intervals and history ----------------------------------------------------------------------


def _open_interval(db: sqlite3.Connection, envelope: Envelope, memory: str) -> None:
    db.execute(
        "INSERT OR REPLACE INTO intervals SELECT id, ?, NULL, ?, NULL, expires_at, confidence"
        " FROM memories WHERE id = ? AND status = 'live'",
        (envelope.position, micros(envelope.recorded_at), memory),
    )


def _close_interval(db: sqlite3.Connection, envelope: Envelope, memory: str) -> None:
    db.execute(
        "UPDATE intervals SET to_position = ?, to_at = ? WHERE memory = ? AND to_position IS NULL",
        (envelope.position, micros(envelope.recorded_at), memory),
    )


def _reopen(db: sqlite3.Connection, envelope: Envelope, memory: str) -> None:
    _close_interval(db, envelope, memory)
    _open_interval(db, envelope, memory)


def _note(db: sqlite3.Connection, envelope: Envelope, event: Event) -> None:
    fields = msgspec.to_builtins(event)
    detail = {} if isinstance(event, MemoryRemembered) else {k: v for k, v in fields.items() if k not in _NOT_DETAIL}
    other = _other(event)
    memories = event.memories if isinstance(event, MemoryForgotten) else (fields["memory"],)
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
                _json(detail),
            )
            for memory in memories
        ),
    )


def _other(event: Event) -> str:
    match event:
        case ContradictionNoted() | MemoryJudged():
            return event.other
        case MemorySuperseded():
            return event.by
        case _:
            return ""


def _address(memory: str) -> str:
    return memory.rpartition("@")[0]


def _micros(at: Any) -> int | None:
    return None if at is None else micros(at)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()

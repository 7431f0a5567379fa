"""How each event changes the ledger's tables. Nothing here reads a clock or consults a model."""

from __future__ import annotations

import sqlite3

import msgspec

from domain.envelope import Envelope
from domain.events import (
    AccessCounted,
    ContactSet,
    ContactsLinked,
    ContactsUnlinked,
    ConversationDeleted,
    ConversationEnded,
    EmbeddingFailed,
    ErasureLifted,
    ExtractionCompleted,
    ExtractionFailed,
    ImportStarted,
    KeyDestroyed,
    MessageForgotten,
    MessageRecorded,
    PassCompleted,
    ProfileErased,
    ProfileImported,
    RefusalRecorded,
    SettingsChanged,
    UsageRecorded,
)
from domain.indexing import IndexChange, Indexing, session_token
from projections.ledger.apply_episodes import Episodic, project_episodic
from projections.ledger.apply_erasure import project_erasure, project_late
from projections.ledger.apply_grounds import project_end
from projections.ledger.apply_imports import project_import
from projections.ledger.apply_memories import project_memory
from projections.ledger.apply_past import note_clock, note_counts, note_unlinked
from projections.ledger.apply_work import project_work
from projections.ledger.apply_working import Working, project_working
from projections.ledger.records import micros
from projections.ledger.rows import optional_micros
from projections.ledger.tombstones import bury

__all__ = ["project"]


def project(db: sqlite3.Connection, envelope: Envelope, indexing: Indexing) -> None:
    """Apply one event inside the caller's transaction; events the ledger does not know change nothing."""
    note_clock(db, envelope)
    change = indexing.change(envelope)
    if change is not None:
        _index(db, envelope, change)
    event = envelope.data
    bury(db, envelope)
    match event:
        case MessageRecorded():
            _message_recorded(db, envelope, event)
        case MessageForgotten() | ConversationEnded() | ConversationDeleted():
            project_end(db, envelope, event)
        case ContactSet():
            _contact_set(db, envelope, event)
        case ProfileErased() | KeyDestroyed() | ErasureLifted():
            project_erasure(db, envelope, event, indexing)
        case ContactsLinked() | ContactsUnlinked() | SettingsChanged():
            _profile_changed(db, envelope, event)
        case EmbeddingFailed() if event.model == indexing.model:
            _embedding_failed(db, envelope, event)
        case AccessCounted():
            _access_counted(db, envelope, event)
        case ExtractionCompleted() | ExtractionFailed() | UsageRecorded() | RefusalRecorded() | PassCompleted():
            project_work(db, envelope, event)
        case _:
            _project_other(db, envelope)
    project_late(db, envelope, indexing)


def _project_other(db: sqlite3.Connection, envelope: Envelope) -> None:
    event = envelope.data
    if isinstance(event, Working):
        project_working(db, envelope, event)
    elif isinstance(event, Episodic):
        project_episodic(db, envelope, event)
    elif isinstance(event, ImportStarted | ProfileImported):
        project_import(db, envelope, event)
    elif event.category() == "memory":
        project_memory(db, envelope, event)


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
        db.execute("INSERT OR REPLACE INTO embedded VALUES (?, ?, ?)", (item.id, item.embedding, item.key_scope))
        db.execute("INSERT OR IGNORE INTO embeddings VALUES (?, 'pending', '', ?)", (item.embedding, change.position))
    row = (
        item.id,
        item.embedding,
        item.kind,
        item.scope,
        item.key_scope,
        envelope.key_id,
        item.text,
        change.position,
        item.embedding,
    )
    db.execute(
        "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?,"
        " EXISTS (SELECT 1 FROM embeddings WHERE id = ? AND state = 'pending'))",
        row,
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
        "INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?)",
        (
            event.message,
            event.session,
            event.role,
            event.name,
            event.content,
            optional_micros(event.at),
            recorded,
            envelope.position,
            event.occurrence,
            event.caller_id,
            event.turn_id,
            envelope.actor.principal,
            envelope.actor.type,
            event.utc_offset,
        ),
    )
    if event.attachment:
        db.execute("INSERT OR IGNORE INTO attachments VALUES (?, ?)", (event.message, event.attachment))
    if event.redacted:
        db.execute("UPDATE messages SET forgotten = 1 WHERE id = ?", (event.message,))


def _contact_set(db: sqlite3.Connection, envelope: Envelope, event: ContactSet) -> None:
    token, at = session_token(event.session), micros(envelope.recorded_at)
    db.execute(
        "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET"
        " contact = excluded.contact, channel = iif(excluded.channel = '', channel, excluded.channel)",
        (event.session, token, event.contact, event.channel, at, envelope.position),
    )


def _profile_changed(
    db: sqlite3.Connection, envelope: Envelope, event: ContactsLinked | ContactsUnlinked | SettingsChanged
) -> None:
    if isinstance(event, SettingsChanged):
        settings = msgspec.json.encode(event.settings).decode()
        db.execute("INSERT INTO settings VALUES (?, ?, ?)", (envelope.position, event.version, settings))
        return
    pairs = ((event.first, event.second), (event.second, event.first))
    if isinstance(event, ContactsLinked):
        rows = ((contact, other, envelope.position) for contact, other in pairs)
        db.executemany("INSERT OR IGNORE INTO contact_links VALUES (?, ?, ?)", rows)
        db.executemany("INSERT OR IGNORE INTO contact_pairs VALUES (?, ?)", pairs)
    else:
        note_unlinked(db, envelope, pairs)
        db.executemany("DELETE FROM contact_links WHERE contact = ? AND other = ?", pairs)


def _access_counted(db: sqlite3.Connection, envelope: Envelope, event: AccessCounted) -> None:
    db.executemany(
        "INSERT INTO accesses VALUES (?, ?, ?) ON CONFLICT (memory) DO UPDATE SET"
        " count = count + excluded.count, last_at = max(last_at, excluded.last_at)",
        ((memory, count, micros(last)) for memory, (count, last) in event.counts.items()),
    )
    note_counts(db, envelope, (memory for memory, (count, _) in event.counts.items() if count))

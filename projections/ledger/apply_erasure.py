"""How the ledger takes out of sight what was erased, at once, and notes which keys are to go.

While the keys are there, what is erased can still be read when the log is replayed: it is taken out again then. When
they are gone, nothing of it is read any more, and a ledger that is made again holds nothing of it.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from domain.envelope import Envelope
from domain.events import (
    ContactSet,
    ContactsLinked,
    ErasureLifted,
    Event,
    KeyDestroyed,
    MemoryForgotten,
    MemoryRemembered,
    MessageForgotten,
    ProfileErased,
)
from domain.indexing import Indexing, key_scope_of, memory_key_scope
from domain.kinds import Source, contact_scope, contacts_scope, conversation_scope, memory_scope
from projections.ledger.apply_grounds import project_end
from projections.ledger.apply_memories import project_memory
from projections.ledger.records import micros
from projections.ledger.rows import array

__all__ = ["project_erasure", "project_late"]

_CONTACTS = """
SELECT contact FROM conversations WHERE contact <> '' UNION SELECT scope FROM memories WHERE scope IS NOT NULL
UNION SELECT contact FROM contact_pairs
"""
_SESSIONS = """
SELECT session FROM conversations UNION SELECT session FROM messages UNION SELECT session FROM memories
UNION SELECT session FROM notes UNION SELECT session FROM tasks
"""
# Memories of a contact, those under the keys of these conversations, and this one; all of them with 1.
_MEMORIES = """
SELECT id, address, source, session, scope FROM memories WHERE status <> 'forgotten' AND (?1 OR scope = ?2 OR id = ?4
    OR (session IN (SELECT value FROM json_each(?3)) AND session <> ''
        AND source IN ('turn', 'ingest', 'pre-compaction', 'consolidation', 'reflection')))
"""
_OF_SESSIONS = ("notes", "tasks", "overlays", "summaries", "lost_overlays", "conversations", "session_ends")


def project_erasure(
    db: sqlite3.Connection, envelope: Envelope, event: ProfileErased | KeyDestroyed | ErasureLifted, indexing: Indexing
) -> None:
    """Apply an event of an erasure."""
    match event:
        case ProfileErased():
            _erased(db, envelope, event, indexing)
        case KeyDestroyed():
            gone = array((*event.keys, *event.again))
            db.execute("DELETE FROM erasing WHERE key IN (SELECT value FROM json_each(?))", (gone,))
            _forget_names(db, event, indexing)
        case ErasureLifted():
            db.execute("UPDATE erasures SET lifted = 1 WHERE id = ?", (event.erasure,))


def _forget_names(db: sqlite3.Connection, event: KeyDestroyed, indexing: Indexing) -> None:
    """What was stated in a conversation that is gone, and stays, no longer says in which."""
    keys = frozenset(event.keys)
    for session in _column(db, "SELECT DISTINCT session FROM memories WHERE session <> ''"):
        if indexing.key_id(conversation_scope(session)) in keys:
            db.execute("UPDATE memories SET session = '' WHERE session = ?", (session,))


def _erased(db: sqlite3.Connection, envelope: Envelope, event: ProfileErased, indexing: Indexing) -> None:
    row = (event.erasure, event.target, event.name, event.memory, micros(envelope.recorded_at))
    actor = envelope.actor
    db.execute(
        "INSERT OR REPLACE INTO erasures VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
        (*row, actor.principal, actor.type, envelope.position),
    )
    _to_go(db, event.erasure, [(key, "") for key in event.keys])
    contact, sessions = "", list[str]()
    if event.target == "contact":
        contact = _named(db, _CONTACTS, "contact", event.name, indexing)
        sessions = _column(db, "SELECT session FROM conversations WHERE contact = ? AND contact <> ''", contact)
    elif event.target == "session":
        sessions = [found] if (found := _named(db, _SESSIONS, "session", event.name, indexing)) else []
    elif event.target == "profile":
        sessions = _column(db, _SESSIONS)
    _take_out(db, envelope, event, indexing, contact, sessions)


def _take_out(
    db: sqlite3.Connection,
    envelope: Envelope,
    event: ProfileErased,
    indexing: Indexing,
    contact: str,
    sessions: Sequence[str],
) -> None:
    everything = int(event.target == "profile")
    values = (everything, contact or None, array(sessions), event.memory)
    memories = [_Row(*row) for row in db.execute(_MEMORIES, values)]
    scopes = [conversation_scope(session) for session in sessions]
    scopes += [one.key_scope for one in memories if one.key_scope == memory_scope(one.memory)]
    if event.memory:
        scopes.append(memory_scope(event.memory))
    if contact:
        others = _column(db, "SELECT other FROM contact_pairs WHERE contact = ?", contact)
        scopes += [contact_scope(contact), *(contacts_scope(contact, other) for other in others)]
        db.execute("DELETE FROM contact_links WHERE contact = ?1 OR other = ?1", (contact,))
        db.execute("DELETE FROM rejections WHERE scope = ?", (contact,))
        thought = "SELECT position FROM reflections WHERE contact = ?"
        db.execute(f"DELETE FROM learnings WHERE reflection IN ({thought})", (contact,))
        db.execute("DELETE FROM reflections WHERE contact = ?", (contact,))
    if not everything:
        _to_go(db, event.erasure, [(indexing.key_id(scope), scope) for scope in scopes])
    _forget_memories(db, envelope, memories)
    if not everything:
        _evict(db, envelope, [one.memory for one in memories if one.key_scope not in scopes])
    for session in sessions:
        _forget_session(db, envelope, session)


class _Row(msgspec.Struct, frozen=True):
    memory: str
    address: str
    source: Source
    session: str
    scope: str | None

    @property
    def key_scope(self) -> str:
        return key_scope_of(self.memory, self.source, self.session, self.scope)


def _evict(db: sqlite3.Connection, envelope: Envelope, memories: Iterable[str]) -> None:
    """What is under a key that stays is to be forgotten by an event."""
    actor = envelope.actor
    rows = [(memory, actor.principal, actor.type) for memory in memories]
    db.executemany("INSERT OR IGNORE INTO evicted VALUES (?, ?, ?)", rows)


def _forget_memories(db: sqlite3.Connection, envelope: Envelope, memories: Iterable[_Row]) -> None:
    by_address: dict[str, list[str]] = defaultdict(list)
    for one in memories:
        by_address[one.address].append(one.memory)
    for address, some in by_address.items():
        event = MemoryForgotten(address=address, memories=tuple(some))
        project_memory(db, msgspec.structs.replace(envelope, data=event), event)
        gone = array(some)
        db.execute("DELETE FROM items WHERE id IN (SELECT value FROM json_each(?))", (gone,))
        # Copies are not only forgotten: they are erased as well.
        db.execute("UPDATE untold SET how = 'erased' WHERE memory IN (SELECT value FROM json_each(?))", (gone,))


def _forget_session(db: sqlite3.Connection, envelope: Envelope, session: str) -> None:
    for message in _column(db, "SELECT id FROM messages WHERE session = ? AND forgotten = 0", session):
        event = MessageForgotten(message=message, session=session)
        project_end(db, msgspec.structs.replace(envelope, data=event), event)
        db.execute("DELETE FROM items WHERE id = ?", (message,))
    # Its tasks are under other keys where somebody stated them.
    db.execute(
        "INSERT OR REPLACE INTO deleting SELECT ?1, ?2, ?3, ?4 WHERE EXISTS"
        " (SELECT 1 FROM memories WHERE session = ?1 AND kind = 'task' AND status <> 'forgotten')",
        (session, envelope.position, envelope.actor.principal, envelope.actor.type),
    )
    for table in _OF_SESSIONS:
        db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))


# -- what comes late ----------------------------------------------------------------------------


def project_late(db: sqlite3.Connection, envelope: Envelope, indexing: Indexing) -> None:
    """Take out what was written about something erased by whoever did not know of it yet."""
    event = envelope.data
    if not isinstance(event, ContactSet | MemoryRemembered | ContactsLinked):
        return
    if db.execute("SELECT 1 FROM erasures WHERE lifted = 0 LIMIT 1").fetchone() is None:
        return
    for target, name in _about(event):
        hashed = indexing.erased_name(target, name)
        found = db.execute(
            "SELECT id FROM erasures WHERE target = ? AND name = ? AND lifted = 0", (target, hashed)
        ).fetchone()
        if found is not None:
            _late(db, envelope, event, indexing, found[0])


def _about(event: Event) -> list[tuple[str, str]]:
    match event:
        case ContactSet():
            return [("contact", event.contact), ("session", event.session)]
        case MemoryRemembered():
            found = [("contact", event.scope)] if event.scope else []
            of_session = memory_key_scope(event) == conversation_scope(event.session)
            return [*found, ("session", event.session)] if of_session else found
        case ContactsLinked():
            return [("contact", event.first), ("contact", event.second)]
    return []


def _late(db: sqlite3.Connection, envelope: Envelope, event: Event, indexing: Indexing, erasure: str) -> None:
    match event:
        case ContactSet():
            scope = conversation_scope(event.session)
            _forget_session(db, envelope, event.session)
        case MemoryRemembered():
            scope = memory_key_scope(event)
            _forget_memories(
                db, envelope, [_Row(event.memory, event.address, event.source, event.session, event.scope)]
            )
            if scope == conversation_scope(event.session) and not _goes(db, scope):
                # The conversation is another's by now, and stays.
                _evict(db, envelope, [event.memory])
                return
        case ContactsLinked():
            scope = contacts_scope(event.first, event.second)
            db.execute("DELETE FROM contact_links WHERE contact = ?1 OR other = ?1", (event.first,))
        case _:
            return
    _to_go(db, erasure, [(indexing.key_id(scope), scope)])


# -- rows ---------------------------------------------------------------------------------------


def _to_go(db: sqlite3.Connection, erasure: str, keys: Iterable[tuple[str, str]]) -> None:
    sql = "INSERT INTO erasing VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET scope = excluded.scope WHERE scope = ''"
    db.executemany(sql, [(erasure, key, scope) for key, scope in keys])


def _goes(db: sqlite3.Connection, scope: str) -> bool:
    return db.execute("SELECT 1 FROM erasing WHERE scope = ?", (scope,)).fetchone() is not None


def _named(db: sqlite3.Connection, sql: str, target: str, hashed: str, indexing: Indexing) -> str:
    return next((name for name in _column(db, sql) if indexing.erased_name(target, name) == hashed), "")


def _column(db: sqlite3.Connection, sql: str, *values: str) -> list[str]:
    return [row[0] for row in db.execute(sql, values)]

"""How the ledger knows what rests on what: messages that memories were drawn from, and what their end entails."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from domain.envelope import Envelope
from domain.events import (
    ContradictionNoted,
    ConversationDeleted,
    ConversationEnded,
    ExtractionCompleted,
    MemoryConsolidated,
    MemoryRemembered,
    MemoryRevised,
    MessageForgotten,
)
from projections.ledger.apply_episodes import lose_message
from projections.ledger.apply_quotes import lose_source
from projections.ledger.rows import array

__all__ = [
    "corroborated",
    "drop_grounds",
    "lose_grounds",
    "not_overdue",
    "note_grounds",
    "note_words",
    "project_end",
    "take_grounds",
]

_BEREFT = """
INSERT OR IGNORE INTO bereft SELECT DISTINCT g.memory FROM grounds g JOIN forgotten f ON f.message = g.message
WHERE g.memory IN (SELECT value FROM json_each(?))
"""
# What was said before the session ended and read only afterwards ends with it as well.
_LATE_TASK = """
INSERT OR IGNORE INTO overdue SELECT ?1, e.actor, e.actor_type FROM session_ends e WHERE e.session = ?2
    AND (SELECT max(m.position) FROM messages m WHERE m.id IN (SELECT value FROM json_each(?3))) < e.position
"""
_DELETED = """
DELETE FROM deleting WHERE session = ?
    AND NOT EXISTS (SELECT 1 FROM messages m
        WHERE m.session = deleting.session AND m.forgotten = 0 AND m.position < deleting.position)
    AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.session = deleting.session AND m.kind = 'task'
        AND m.status <> 'forgotten' AND m.position < deleting.position)
"""


def note_grounds(db: sqlite3.Connection, envelope: Envelope, event: MemoryRemembered) -> None:
    """A version rests on the messages that it was drawn from."""
    _ground(db, envelope.position, [(event.memory, 0, event.sources)])
    if event.kind == "task" and event.session and event.sources:
        db.execute(_LATE_TASK, (event.memory, event.session, array(event.sources)))


def take_grounds(db: sqlite3.Connection, event: MemoryConsolidated) -> None:
    """What stands for others rests on what each of them rested on: one of these grounds is enough."""
    db.execute(
        "INSERT OR IGNORE INTO grounds SELECT ?, position, part, message FROM grounds"
        " WHERE memory IN (SELECT value FROM json_each(?))",
        (event.memory, array(event.members)),
    )
    db.execute(_BEREFT, (array([event.memory]),))


def corroborated(db: sqlite3.Connection, envelope: Envelope, event: ExtractionCompleted) -> None:
    """A stretch that says what a memory says already is another ground of it."""
    again = [
        (item.memory, part, item.sources)
        for part, item in enumerate(event.items, start=1)
        if item.outcome == "duplicate" and item.memory
    ]
    gone = "SELECT id FROM memories WHERE status = 'forgotten' AND id IN (SELECT value FROM json_each(?))"
    forgotten = {row[0] for row in db.execute(gone, (array(memory for memory, _, _ in again),))}
    _ground(db, envelope.position, [one for one in again if one[0] not in forgotten])


def _ground(db: sqlite3.Connection, position: int, grounds: Sequence[tuple[str, int, Sequence[str]]]) -> None:
    rows = [(memory, position, part, message) for memory, part, messages in grounds for message in messages]
    if rows:
        db.executemany("INSERT OR IGNORE INTO grounds VALUES (?, ?, ?, ?)", rows)
        db.execute(_BEREFT, (array({memory for memory, _, _ in grounds}),))


def note_words(db: sqlite3.Connection, envelope: Envelope, event: ContradictionNoted) -> None:
    """Words noted at a memory leave its history with the messages they were drawn from."""
    rows = ((message, envelope.position, event.memory) for message in event.sources)
    db.executemany("INSERT OR IGNORE INTO noted VALUES (?, ?, ?)", rows)
    if event.sources:
        found = db.execute(
            "SELECT message FROM forgotten WHERE message IN (SELECT value FROM json_each(?))", (array(event.sources),)
        ).fetchall()
        _take_words(db, [row[0] for row in found])


def project_end(
    db: sqlite3.Connection, envelope: Envelope, event: MessageForgotten | ConversationEnded | ConversationDeleted
) -> None:
    """Apply the end of a message or of a session."""
    if isinstance(event, MessageForgotten):
        _message_forgotten(db, envelope, event)
    else:
        _session_closed(db, envelope, event)


def _message_forgotten(db: sqlite3.Connection, envelope: Envelope, event: MessageForgotten) -> None:
    """What rests on the message is to be looked at; what was noted in its words loses them."""
    actor = envelope.actor
    db.execute("UPDATE messages SET content = '', name = '', forgotten = 1 WHERE id = ?", (event.message,))
    db.execute("DELETE FROM attachments WHERE message = ?", (event.message,))
    db.execute("DELETE FROM embedded WHERE item = ?", (event.message,))
    lose_message(db, envelope, event.message)
    lose_source(db, event.message)
    db.execute("INSERT OR IGNORE INTO forgotten VALUES (?, ?, ?)", (event.message, actor.principal, actor.type))
    db.execute("INSERT OR IGNORE INTO bereft SELECT DISTINCT memory FROM grounds WHERE message = ?", (event.message,))
    _take_words(db, [event.message])
    db.execute(_DELETED, (event.session,))


def _take_words(db: sqlite3.Connection, messages: Sequence[str]) -> None:
    db.execute(
        "UPDATE memory_events SET detail = json_remove(detail, '$.text') WHERE (position, memory) IN"
        " (SELECT position, memory FROM noted WHERE message IN (SELECT value FROM json_each(?)))",
        (array(messages),),
    )


def lose_grounds(db: sqlite3.Connection, event: MemoryRevised) -> None:
    """A version rests on fewer messages: of a ground that lost one only those count that bear it out by themselves."""
    found = db.execute("SELECT position, part, message FROM grounds WHERE memory = ?", (event.memory,)).fetchall()
    hit = {(position, part) for position, part, message in found if message in event.lost}
    rows = (
        (event.memory, position, part, message)
        for position, part, message in found
        if message in event.lost or ((position, part) in hit and message not in event.sources)
    )
    db.executemany("DELETE FROM grounds WHERE memory = ? AND position = ? AND part = ? AND message = ?", list(rows))
    left = db.execute(
        "SELECT message FROM grounds WHERE memory = ? GROUP BY message ORDER BY min(position), message", (event.memory,)
    ).fetchall()
    db.execute(
        "UPDATE memories SET sources = ? WHERE id = ? AND status <> 'forgotten'",
        (array(row[0] for row in left), event.memory),
    )
    db.execute("DELETE FROM bereft WHERE memory = ?", (event.memory,))
    db.execute(_BEREFT, (array([event.memory]),))


def drop_grounds(db: sqlite3.Connection, memories: Iterable[str]) -> None:
    """Forgotten versions rest on nothing, and nothing more follows from them."""
    for memory in memories:
        db.execute("DELETE FROM grounds WHERE memory = ?", (memory,))
        db.execute("DELETE FROM bereft WHERE memory = ?", (memory,))
        not_overdue(db, memory)
        for (session,) in db.execute("SELECT session FROM memories WHERE id = ?", (memory,)).fetchall():
            db.execute(_DELETED, (session,))


def not_overdue(db: sqlite3.Connection, memory: str) -> None:
    """A task that has ended waits for its end no more."""
    db.execute("DELETE FROM overdue WHERE memory = ?", (memory,))


def _session_closed(db: sqlite3.Connection, envelope: Envelope, event: ConversationEnded | ConversationDeleted) -> None:
    """Note what is to be done about a session that ended or was deleted."""
    actor, at = envelope.actor, envelope.position
    if isinstance(event, ConversationDeleted):
        values = (event.session, at, actor.principal, actor.type)
        db.execute("INSERT OR REPLACE INTO deleting VALUES (?, ?, ?, ?)", values)
        db.execute(_DELETED, (event.session,))
        db.execute("DELETE FROM notes WHERE session = ?", (event.session,))
        db.execute("DELETE FROM tasks WHERE session = ?", (event.session,))
        return
    values = (event.session, at, actor.principal, actor.type)
    db.execute("INSERT OR REPLACE INTO session_ends VALUES (?, ?, ?, ?)", values)
    db.execute(
        "INSERT OR IGNORE INTO overdue SELECT id, ?, ? FROM memories"
        " WHERE session = ? AND kind = 'task' AND status = 'live'",
        (actor.principal, actor.type, event.session),
    )

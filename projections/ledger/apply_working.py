"""How notes, tasks, goals and reflections change the ledger; none of them is a memory, and none is in an index."""

from __future__ import annotations

import sqlite3

from domain.envelope import Envelope
from domain.events import GoalClosed, GoalProgressed, GoalSet, NotesSet, ReflectionRecorded, TaskCleared, TaskSet
from domain.indexing import session_token
from domain.text import fold_key
from projections.ledger.apply_quotes import rest_on
from projections.ledger.records import micros
from projections.ledger.rows import optional_micros

__all__ = ["Working", "forget_learning", "project_working"]

Working = NotesSet | TaskSet | TaskCleared | GoalSet | GoalProgressed | GoalClosed | ReflectionRecorded


def project_working(db: sqlite3.Connection, envelope: Envelope, event: Working) -> None:
    """Apply one event inside the caller's transaction."""
    match event:
        case NotesSet():
            _begin(db, envelope, event.session)
            found = db.execute("SELECT text FROM notes WHERE session = ?", (event.session,)).fetchone()
            _write(db, envelope, "notes", event.session, event.applied(found[0] if found else ""))
        case TaskSet() | TaskCleared():
            _begin(db, envelope, event.session)
            _write(db, envelope, "tasks", event.session, event.task if isinstance(event, TaskSet) else "")
        case ReflectionRecorded():
            _reflection(db, envelope, event)
        case _:
            _goal(db, envelope, event)


def _begin(db: sqlite3.Connection, envelope: Envelope, session: str) -> None:
    """A session that nothing was said in yet is one all the same, with nobody until it is attached to a contact."""
    db.execute(
        "INSERT OR IGNORE INTO conversations (session, token, created_at, position) VALUES (?, ?, ?, ?)",
        (session, session_token(session), micros(envelope.recorded_at), envelope.position),
    )


def _write(db: sqlite3.Connection, envelope: Envelope, table: str, session: str, text: str) -> None:
    # `table` is one of the two names above.
    actor = envelope.actor
    row = (session, text, micros(envelope.recorded_at), envelope.position, actor.principal, actor.type)
    db.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?, ?)", row)


# -- reflections --------------------------------------------------------------------------------


def _reflection(db: sqlite3.Connection, envelope: Envelope, event: ReflectionRecorded) -> None:
    actor, at = envelope.actor, micros(envelope.recorded_at)
    row = (
        envelope.position,
        event.reflection,
        event.topic,
        fold_key(event.topic),
        event.day,
        event.text,
        at,
        actor.principal,
        actor.type,
        event.contact,
        event.model,
    )
    db.execute("INSERT INTO reflections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    learnings = (
        (envelope.position, number, one.text, one.key, one.memory, one.outcome)
        for number, one in enumerate(event.learnings)
    )
    db.executemany("INSERT INTO learnings VALUES (?, ?, ?, ?, ?, ?)", learnings)
    forgotten = "SELECT id FROM memories WHERE status = 'forgotten' AND id = ?"
    for one in event.learnings:
        # Forgotten between the decision and the append.
        if one.memory and db.execute(forgotten, (one.memory,)).fetchone():
            forget_learning(db, one.memory)
    rest_on(db, envelope, event)


def forget_learning(db: sqlite3.Connection, memory: str) -> None:
    """Take out the words of a forgotten memory where they were learnt."""
    db.execute(
        "UPDATE reflections SET text = '' WHERE position IN (SELECT l.reflection FROM learnings l"
        " JOIN reflections r ON r.position = l.reflection"
        " WHERE l.memory = ? AND l.text <> '' AND instr(r.text, l.text) > 0)",
        (memory,),
    )
    db.execute("UPDATE learnings SET text = '', key = '' WHERE memory = ?", (memory,))


# -- goals --------------------------------------------------------------------------------------


def _goal(db: sqlite3.Connection, envelope: Envelope, event: GoalSet | GoalProgressed | GoalClosed) -> None:
    at, actor = micros(envelope.recorded_at), envelope.actor
    detail: tuple[str, float | None, str]
    match event:
        case GoalSet():
            db.execute(
                "INSERT INTO goals VALUES (?, ?, ?, ?, 'open', NULL, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " text = excluded.text, name = excluded.name, due = excluded.due, state = 'open',"
                " changed_at = excluded.changed_at",
                (
                    event.goal,
                    event.name,
                    event.text,
                    optional_micros(event.due),
                    at,
                    at,
                    envelope.position,
                    actor.principal,
                    actor.type,
                ),
            )
            detail = (event.text, None, "")
        case GoalProgressed():
            db.execute(
                "UPDATE goals SET fraction = coalesce(?, fraction), changed_at = ? WHERE id = ?",
                (event.fraction, at, event.goal),
            )
            detail = (event.note, event.fraction, "")
        case GoalClosed():
            db.execute("UPDATE goals SET state = ?, changed_at = ? WHERE id = ?", (event.outcome, at, event.goal))
            detail = (event.note, None, event.outcome)
    db.execute(
        "INSERT INTO goal_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (envelope.position, event.goal, event.TOPIC, at, actor.principal, actor.type, *detail),
    )

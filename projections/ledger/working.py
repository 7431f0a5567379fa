"""Questions about what conversations and the profile are at: turns answered, notes, tasks, goals, reflections."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Literal

import msgspec

from domain.text import fold_key
from projections.ledger.records import moment
from projections.ledger.store import Store

__all__ = ["GoalEventRecord", "GoalRecord", "LearningRecord", "NoteRecord", "ReflectionRecord", "WorkingQueries"]

_ANSWERED = """
SELECT 1 FROM messages WHERE turn_id = ? AND turn_id <> '' AND session = ? AND role = 'assistant' LIMIT 1
"""
_REFLECTIONS = """
SELECT position, id, topic, day, text, at, author, author_type, contact, model FROM reflections
WHERE position < ?1 AND (?2 = '' OR folded_topic = ?2) AND (?3 = '' OR day = ?3) ORDER BY position DESC LIMIT ?4
"""
_GOALS = """
SELECT id, name, text, due, state, fraction, set_at, changed_at, position, author, author_type FROM goals
WHERE position < ?1 AND (?2 = 'all' OR state = ?2 OR (?2 = 'closed' AND state <> 'open')) AND (?3 = '' OR id = ?3)
ORDER BY position DESC LIMIT ?4
"""
_GOAL_EVENTS = """
SELECT position, topic, at, author, author_type, text, fraction, outcome FROM goal_events
WHERE goal = ? ORDER BY position DESC LIMIT ?
"""


class NoteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The notes or the task of a conversation, who wrote them last, and whose the conversation is."""

    text: str
    at: datetime
    position: int
    author: str
    author_type: str
    contact: str


class LearningRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One thing learnt, the memory it became and what was decided about it; without words once it is forgotten."""

    text: str
    key: str
    memory: str
    outcome: str


class ReflectionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One reflection with what came of it; the daily pass names its ``contact`` and ``model``."""

    position: int
    id: str
    topic: str
    day: str
    text: str
    at: datetime
    author: str
    author_type: str
    learnings: tuple[LearningRecord, ...]
    contact: str | None = None
    model: str = ""


class GoalEventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a goal; ``text`` is what it said then, or the note."""

    position: int
    topic: str
    at: datetime
    author: str
    author_type: str
    text: str
    fraction: float | None
    outcome: str


class GoalRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A goal as it is, its newest ``events`` oldest first, and how many there are in all."""

    id: str
    name: str
    text: str
    due: datetime | None
    state: str
    fraction: float | None
    set_at: datetime
    changed_at: datetime
    position: int
    author: str
    author_type: str
    events: tuple[GoalEventRecord, ...]
    event_count: int


class WorkingQueries:
    """Reads of turns, notes, tasks, goals and reflections; part of `Ledger`."""

    _store: Store

    def answered(self, session: str, turn_id: str) -> bool:
        """Whether an assistant's message of this turn was recorded, forgotten since or not."""
        with self._store.read() as db:
            return db.execute(_ANSWERED, (turn_id, session)).fetchone() is not None

    def notes(self, session: str) -> NoteRecord | None:
        """Return the working notes of a conversation, None without any."""
        return self._note("notes", session)

    def task(self, session: str) -> NoteRecord | None:
        """Return the ongoing task of a conversation, None without one."""
        return self._note("tasks", session)

    def _note(self, table: Literal["notes", "tasks"], session: str) -> NoteRecord | None:
        sql = (
            f"SELECT n.text, n.at, n.position, n.author, n.author_type, coalesce(c.contact, '')"
            f" FROM {table} n LEFT JOIN conversations c ON c.session = n.session WHERE n.session = ? AND n.text <> ''"
        )
        with self._store.read() as db:
            row = db.execute(sql, (session,)).fetchone()
        if row is None:
            return None
        return NoteRecord(
            text=row[0], at=moment(row[1]), position=row[2], author=row[3], author_type=row[4], contact=row[5]
        )

    def reflections(self, *, topic: str = "", day: str = "", before: int, limit: int) -> list[ReflectionRecord]:
        """Return reflections recorded before a position, the newest first: on a topic, of a day, or all."""
        with self._store.read() as db:
            found = db.execute(_REFLECTIONS, (before, fold_key(topic) if topic else "", day, limit)).fetchall()
            return [
                ReflectionRecord(
                    position=row[0],
                    id=row[1],
                    topic=row[2],
                    day=row[3],
                    text=row[4],
                    at=moment(row[5]),
                    author=row[6],
                    author_type=row[7],
                    learnings=_learnings(db, row[0]),
                    contact=row[8],
                    model=row[9],
                )
                for row in found
            ]

    def goals(self, *, status: str, goal: str = "", before: int, limit: int, events: int) -> list[GoalRecord]:
        """Return goals first set before a position, the newest first, each with its newest ``events``.

        ``status``: ``open``, ``closed``, an outcome or ``all``.
        """
        with self._store.read() as db:
            found = db.execute(_GOALS, (before, status, goal, limit)).fetchall()
            return [
                GoalRecord(
                    id=row[0],
                    name=row[1],
                    text=row[2],
                    due=None if row[3] is None else moment(row[3]),
                    state=row[4],
                    fraction=row[5],
                    set_at=moment(row[6]),
                    changed_at=moment(row[7]),
                    position=row[8],
                    author=row[9],
                    author_type=row[10],
                    events=_goal_events(db, row[0], events),
                    event_count=db.execute("SELECT count(*) FROM goal_events WHERE goal = ?", (row[0],)).fetchone()[0],
                )
                for row in found
            ]


def _learnings(db: sqlite3.Connection, reflection: int) -> tuple[LearningRecord, ...]:
    sql = "SELECT text, key, memory, outcome FROM learnings WHERE reflection = ? ORDER BY number"
    return tuple(
        LearningRecord(text=text, key=key, memory=memory, outcome=outcome)
        for text, key, memory, outcome in db.execute(sql, (reflection,))
    )


def _goal_events(db: sqlite3.Connection, goal: str, limit: int) -> tuple[GoalEventRecord, ...]:
    newest = [
        GoalEventRecord(
            position=row[0],
            topic=row[1],
            at=moment(row[2]),
            author=row[3],
            author_type=row[4],
            text=row[5],
            fraction=row[6],
            outcome=row[7],
        )
        for row in db.execute(_GOAL_EVENTS, (goal, limit))
    ]
    return tuple(reversed(newest))

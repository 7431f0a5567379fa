"""The tables of what conversations and the profile are at: how they are shown, notes, tasks, reflections, goals."""

from __future__ import annotations

__all__ = ["WORK_TABLES"]

WORK_TABLES = """
-- Summaries that stand for ranges of messages; one that loses a message goes.
CREATE TABLE IF NOT EXISTS overlays (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    first_position INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    summary TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    model TEXT NOT NULL,
    at INTEGER NOT NULL,
    position INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS overlays_session ON overlays (session, first_position);
CREATE TABLE IF NOT EXISTS overlay_messages (message TEXT PRIMARY KEY, overlay TEXT NOT NULL) STRICT;
-- Overlays that lost a message: what takes their place names them.
CREATE TABLE IF NOT EXISTS lost_overlays (id TEXT PRIMARY KEY, session TEXT NOT NULL) STRICT;

-- The summary of all that was said up to a message, and those it was before.
CREATE TABLE IF NOT EXISTS summaries (
    position INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    summary TEXT NOT NULL,
    upto INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    model TEXT NOT NULL,
    at INTEGER NOT NULL,
    archived_at INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS summaries_session ON summaries (session, position);

-- What a conversation keeps for its next turn: an empty text is none.
CREATE TABLE IF NOT EXISTS notes (
    session TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    author TEXT NOT NULL,
    author_type TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (
    session TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    author TEXT NOT NULL,
    author_type TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS reflections (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    topic TEXT NOT NULL,
    folded_topic TEXT NOT NULL,
    day TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    author TEXT NOT NULL,
    author_type TEXT NOT NULL,
    -- whose conversations it is about; NULL: nobody's, or everybody's
    contact TEXT,
    model TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS reflections_topic ON reflections (folded_topic, position);
-- What a reflection (its position) rests on: it loses its words with the first of them.
CREATE TABLE IF NOT EXISTS reflection_sources (
    message TEXT NOT NULL,
    reflection INTEGER NOT NULL,
    PRIMARY KEY (message, reflection)
) STRICT, WITHOUT ROWID;
-- Memories that restate others, and those that still have to end because one of those did.
CREATE TABLE IF NOT EXISTS quotes (
    quoted TEXT NOT NULL,
    memory TEXT NOT NULL,
    PRIMARY KEY (quoted, memory)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS misquotes (
    memory TEXT PRIMARY KEY,
    how TEXT NOT NULL CHECK (how IN ('forgotten', 'retracted')),
    actor TEXT NOT NULL,
    actor_type TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- `whole` is 1 where the reflection's own text is what was learnt.
CREATE TABLE IF NOT EXISTS learnings (
    reflection INTEGER NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    key TEXT NOT NULL,
    memory TEXT NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (reflection, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS learnings_memory ON learnings (memory);

CREATE TABLE IF NOT EXISTS goals (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    due INTEGER,
    state TEXT NOT NULL CHECK (state IN ('open', 'achieved', 'dropped', 'failed')),
    fraction REAL,
    set_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    author TEXT NOT NULL,
    author_type TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS goals_position ON goals (position);
CREATE TABLE IF NOT EXISTS goal_events (
    position INTEGER PRIMARY KEY,
    goal TEXT NOT NULL,
    topic TEXT NOT NULL,
    at INTEGER NOT NULL,
    author TEXT NOT NULL,
    author_type TEXT NOT NULL,
    text TEXT NOT NULL,
    fraction REAL,
    outcome TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS goal_events_goal ON goal_events (goal, position);
"""

"""The tables of what was erased: the tombstones, and which keys are still to go."""

from __future__ import annotations

__all__ = ["ERASURE_TABLES"]

ERASURE_TABLES = """
-- What was erased, by whom and when; `name` is a keyed hash. It is blocked until that is lifted.
CREATE TABLE IF NOT EXISTS erasures (
    id TEXT PRIMARY KEY,
    target TEXT NOT NULL,
    name TEXT NOT NULL,
    memory TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    actor_type TEXT NOT NULL,
    position INTEGER NOT NULL,
    lifted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS erasures_name ON erasures (target, name);

-- Keys that are to be destroyed, until it is recorded that they are: a scope, or the id of a key (the first of one).
CREATE TABLE IF NOT EXISTS erasing (
    erasure TEXT NOT NULL,
    key TEXT NOT NULL,
    scope TEXT NOT NULL,
    PRIMARY KEY (erasure, key)
) STRICT, WITHOUT ROWID;

-- Memories that were erased and are under a key that stays, until it is recorded that they are forgotten.
CREATE TABLE IF NOT EXISTS evicted (memory TEXT PRIMARY KEY, actor TEXT NOT NULL, actor_type TEXT NOT NULL)
    STRICT, WITHOUT ROWID;

-- Every pair of contacts that was ever linked: each has a key of its own.
CREATE TABLE IF NOT EXISTS contact_pairs (
    contact TEXT NOT NULL,
    other TEXT NOT NULL,
    PRIMARY KEY (contact, other)
) STRICT, WITHOUT ROWID;
"""

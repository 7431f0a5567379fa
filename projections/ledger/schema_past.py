"""The tables that time travel is answered from: what versions, links and settings were like at an earlier position."""

from __future__ import annotations

__all__ = ["PAST_TABLES"]

PAST_TABLES = """
-- When each event of the profile was recorded, so that a time is a position and a position has its clock.
CREATE TABLE IF NOT EXISTS clock (position INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS clock_at ON clock (at);

-- What may change of a version, from one position up to before another; the last row of each is as it is now.
CREATE TABLE IF NOT EXISTS states (
    memory TEXT NOT NULL,
    from_position INTEGER NOT NULL,
    to_position INTEGER,
    status TEXT NOT NULL,
    superseded_by TEXT NOT NULL,
    confidence REAL NOT NULL,
    pinned INTEGER NOT NULL,
    expires_at INTEGER,
    author_type TEXT NOT NULL,
    sources TEXT NOT NULL,
    metadata TEXT NOT NULL,
    origin_status TEXT NOT NULL,
    PRIMARY KEY (memory, from_position)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS states_from ON states (from_position);
CREATE INDEX IF NOT EXISTS states_expiry ON states (expires_at) WHERE expires_at IS NOT NULL;

-- How often a version (named by its position, to keep this small) had been accessed from a position on.
CREATE TABLE IF NOT EXISTS access_counts (
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (version, position)
) STRICT, WITHOUT ROWID;

-- Links that were undone, one row for each direction, as in contact_links.
CREATE TABLE IF NOT EXISTS past_links (
    contact TEXT NOT NULL,
    other TEXT NOT NULL,
    from_position INTEGER NOT NULL,
    to_position INTEGER NOT NULL,
    PRIMARY KEY (contact, other, from_position)
) STRICT, WITHOUT ROWID;
"""

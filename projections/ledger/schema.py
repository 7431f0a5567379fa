"""The ledger's tables. Times are microseconds since 1970 UTC; booleans are 0 or 1; lists are JSON."""

from __future__ import annotations

from projections.ledger.schema_erasure import ERASURE_TABLES
from projections.ledger.schema_past import PAST_TABLES
from projections.ledger.schema_work import WORK_TABLES

__all__ = ["SCHEMA_VERSION", "TABLES"]

#: Changes with every change of the tables or of what is written to them; a new generation is built then.
SCHEMA_VERSION = 15

_TABLES = """
CREATE TABLE IF NOT EXISTS checkpoint (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL,
    event_position INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    model TEXT NOT NULL,
    dimension INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS conversations (
    session TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    contact TEXT NOT NULL DEFAULT '',
    channel TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    position INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS conversations_contact ON conversations (contact, position);

-- What is kept beside messages; apart from them, so that reading what was said does not read it.
CREATE TABLE IF NOT EXISTS attachments (message TEXT PRIMARY KEY, attachment TEXT NOT NULL) STRICT;

-- Each link in both directions; who is one person follows from them when something is read.
CREATE TABLE IF NOT EXISTS contact_links (
    contact TEXT NOT NULL,
    other TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (contact, other)
) STRICT, WITHOUT ROWID;

-- The last row is what holds now.
CREATE TABLE IF NOT EXISTS settings (
    position INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    settings TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS messages (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    at INTEGER,
    recorded_at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    occurrence INTEGER NOT NULL,
    caller_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    author TEXT NOT NULL,
    author_type TEXT NOT NULL,
    forgotten INTEGER NOT NULL DEFAULT 0,
    -- 0: still to be read for memories; 1: done; 2: it failed
    extracted INTEGER NOT NULL DEFAULT 0,
    utc_offset INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS messages_happened ON messages (coalesce(at, recorded_at)) WHERE forgotten = 0;
CREATE INDEX IF NOT EXISTS messages_session ON messages (session, position);
CREATE INDEX IF NOT EXISTS messages_turn ON messages (turn_id) WHERE turn_id <> '';
CREATE INDEX IF NOT EXISTS messages_unread ON messages (session, position) WHERE extracted <> 1 AND forgotten = 0;

CREATE TABLE IF NOT EXISTS memories (
    id TEXT PRIMARY KEY,
    address TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    fact_type TEXT NOT NULL,
    scope TEXT,
    key TEXT NOT NULL,
    folded_key TEXT NOT NULL,
    text TEXT NOT NULL,
    queries TEXT NOT NULL,
    session TEXT NOT NULL,
    source TEXT NOT NULL,
    confidence REAL NOT NULL,
    author TEXT NOT NULL,
    author_type TEXT NOT NULL,
    sources TEXT NOT NULL,
    metadata TEXT NOT NULL,
    occurred_at INTEGER,
    valid_from INTEGER,
    valid_to INTEGER,
    expires_at INTEGER,
    recorded_at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    status TEXT NOT NULL,
    superseded_by TEXT NOT NULL DEFAULT '',
    pinned INTEGER NOT NULL DEFAULT 0,
    stated_at INTEGER,
    extraction TEXT NOT NULL,
    model TEXT NOT NULL,
    skeleton TEXT NOT NULL,
    judged INTEGER NOT NULL DEFAULT 0,
    -- the UTC day of the last decay
    decayed_on TEXT NOT NULL DEFAULT ''
) STRICT;
-- What a question about a time is answered from: see `LiveItem.happened`.
CREATE INDEX IF NOT EXISTS memories_happened ON memories (coalesce(occurred_at, valid_from, stated_at, recorded_at))
    WHERE status = 'live';
CREATE INDEX IF NOT EXISTS memories_valid ON memories (valid_from, valid_to)
    WHERE status = 'live' AND (valid_from IS NOT NULL OR valid_to IS NOT NULL);
CREATE INDEX IF NOT EXISTS memories_address ON memories (address, version);
CREATE INDEX IF NOT EXISTS memories_position ON memories (position);
CREATE INDEX IF NOT EXISTS memories_session ON memories (session, position);
CREATE INDEX IF NOT EXISTS memories_scope ON memories (scope, position);
CREATE INDEX IF NOT EXISTS memories_key ON memories (folded_key, position) WHERE folded_key <> '';
-- Later versions where the address derives from the first one's content: what they say is looked for by its skeleton.
CREATE INDEX IF NOT EXISTS memories_later ON memories (skeleton) WHERE folded_key = '' AND version > 1;
CREATE INDEX IF NOT EXISTS memories_unjudged ON memories (position)
    WHERE judged = 0 AND status = 'live' AND kind <> 'task';
CREATE INDEX IF NOT EXISTS memories_skeleton ON memories (skeleton) WHERE status = 'live';

-- Instructions to stay quiet about something, and where; an empty scope is everywhere.
CREATE TABLE IF NOT EXISTS suppressions (
    memory TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    place TEXT NOT NULL
) STRICT;

-- Statements a person rejected, by their skeleton and scope, until a person brings them back.
CREATE TABLE IF NOT EXISTS rejections (
    skeleton TEXT NOT NULL,
    scope TEXT,
    memory TEXT NOT NULL,
    PRIMARY KEY (skeleton, memory)
) STRICT;

-- Work on a stretch of a conversation; what it found is read from its event.
CREATE TABLE IF NOT EXISTS extractions (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    source TEXT NOT NULL,
    pipeline TEXT NOT NULL,
    model TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('completed', 'failed')),
    reason TEXT NOT NULL,
    tries INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    items INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    at INTEGER NOT NULL,
    position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS extractions_failed ON extractions (position) WHERE state = 'failed';

-- Model calls by UTC day; cost is NULL where no price is configured.
CREATE TABLE IF NOT EXISTS usage (
    day TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost REAL,
    estimated INTEGER NOT NULL,
    PRIMARY KEY (day, provider, model, purpose)
) STRICT, WITHOUT ROWID;

-- The last pass of each name over the profile, by a schedule or because somebody asked for it.
CREATE TABLE IF NOT EXISTS passes (
    name TEXT NOT NULL,
    scheduled INTEGER NOT NULL,
    day TEXT NOT NULL,
    counts TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (name, scheduled)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS refusals (
    rule TEXT NOT NULL,
    subject TEXT NOT NULL,
    provider TEXT NOT NULL,
    detail TEXT NOT NULL,
    count INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (rule, subject, provider)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS memory_events (
    position INTEGER NOT NULL,
    memory TEXT NOT NULL,
    address TEXT NOT NULL,
    topic TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    actor_type TEXT NOT NULL,
    other TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (address, position, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memory_events_other ON memory_events (other) WHERE other <> '';

-- What memories rest on: the messages of one ground (`position`, `part`) were read together.
CREATE TABLE IF NOT EXISTS grounds (
    memory TEXT NOT NULL,
    position INTEGER NOT NULL,
    part INTEGER NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (memory, position, part, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS grounds_message ON grounds (message);

-- What was noted at a memory in words that were drawn from messages.
CREATE TABLE IF NOT EXISTS noted (
    message TEXT NOT NULL,
    position INTEGER NOT NULL,
    memory TEXT NOT NULL,
    PRIMARY KEY (message, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS forgotten (
    message TEXT PRIMARY KEY,
    actor TEXT NOT NULL,
    actor_type TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is forgotten (see `domain.redacting`), the event that forgot it, and where that was noted.
CREATE TABLE IF NOT EXISTS tombstones (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    event TEXT NOT NULL,
    at INTEGER NOT NULL,
    noted INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tombstones_noted ON tombstones (noted);

-- Work that follows from what is recorded, until it is recorded as done: memories that rest on a forgotten message,
-- tasks of a session that ended, and deleted sessions with something left of them.
CREATE TABLE IF NOT EXISTS bereft (memory TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS overdue (memory TEXT PRIMARY KEY, actor TEXT NOT NULL, actor_type TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deleting (
    session TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    actor TEXT NOT NULL,
    actor_type TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Where copies come from, and what became of the original.
CREATE TABLE IF NOT EXISTS origins (
    memory TEXT PRIMARY KEY,
    origin TEXT NOT NULL,
    status TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Copies that memories have in other profiles, and what these still have to be told.
CREATE TABLE IF NOT EXISTS copies (
    memory TEXT NOT NULL,
    profile TEXT NOT NULL,
    copy TEXT NOT NULL,
    PRIMARY KEY (memory, profile, copy)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS untold (
    memory TEXT NOT NULL,
    profile TEXT NOT NULL,
    copy TEXT NOT NULL,
    how TEXT NOT NULL,
    event TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_type TEXT NOT NULL,
    PRIMARY KEY (memory, profile, copy)
) STRICT, WITHOUT ROWID;

-- The last end of each session that ended.
CREATE TABLE IF NOT EXISTS session_ends (
    session TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    actor TEXT NOT NULL,
    actor_type TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS key_segments (
    segment TEXT NOT NULL,
    memory TEXT NOT NULL,
    segments INTEGER NOT NULL,
    PRIMARY KEY (segment, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS key_segments_memory ON key_segments (memory);

-- What is in the indexes now; a row leaves when its item does. `waiting` is 1 until its vectors came or failed.
CREATE TABLE IF NOT EXISTS items (
    id TEXT PRIMARY KEY,
    embedding TEXT NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    key_scope TEXT NOT NULL,
    key_id TEXT NOT NULL,
    text TEXT NOT NULL,
    position INTEGER NOT NULL,
    waiting INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS items_waiting ON items (position) WHERE waiting = 1;
CREATE INDEX IF NOT EXISTS items_embedding ON items (embedding, position) WHERE embedding <> '';

CREATE TABLE IF NOT EXISTS embeddings (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('pending', 'computed', 'failed')),
    reason TEXT NOT NULL,
    position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS embeddings_failed ON embeddings (position) WHERE state = 'failed';

CREATE TABLE IF NOT EXISTS accesses (
    memory TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    last_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

TABLES = _TABLES + WORK_TABLES + PAST_TABLES + ERASURE_TABLES

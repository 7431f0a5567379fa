"""Every number that can be set, in one frozen Struct with its default."""

from __future__ import annotations

import msgspec

__all__ = ["Limits", "Settings"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes above which input is refused (C18)."""

    messages_per_ingest: int = 500
    occurrences: int = 10_000
    message_bytes: int = 32_768
    memory_bytes: int = 32_768
    query_bytes: int = 1_024
    session_chars: int = 64
    contact_chars: int = 256
    key_chars: int = 256
    name_chars: int = 256
    metadata_bytes: int = 4_096
    metadata_depth: int = 16
    list_limit: int = 500
    recall_limit: int = 200
    feed_limit: int = 1_000
    feed_wait_seconds: float = 30.0
    reply_bytes: int = 900_000


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one instance."""

    limits: Limits = Limits()
    #: events applied in one commit of a profile's views
    reader_batch: int = 256
    #: texts embedded at once
    embedding_batch: int = 64
    #: profiles whose views are kept open
    open_profiles: int = 64
    #: threads that run commands and queries
    command_threads: int = 8
    #: how long a read waits for its ``at_least`` position
    wait_seconds: float = 10.0
    #: seconds between flushes of counted accesses
    access_flush_seconds: float = 5.0
    #: seconds without a request after which ``serve --exit-when-idle`` ends
    idle_seconds: float = 300.0
    #: largest size of the log; below the disk's, so that a full log is a clear error
    log_max_bytes: int = 64 * 1024**3

"""Wire types of the audit: who did what, when, and through what."""

from __future__ import annotations

from datetime import datetime

from umbriel._wire import Reply, Request

__all__ = ["AuditEntry", "AuditReply", "AuditRequest"]


class AuditRequest(Request, frozen=True):
    """A page of what happened in a profile, newest first, behind ``cursor``; with profile ``_`` in the service itself.

    Filters hold together: who (``principal``), what (``action``: an action or a topic), about whom (``contact``, ``*``
    for everybody), which memory (an id, or its address for every version), and when, ``since`` included, ``until`` not.
    """

    principal: str = ""
    action: str = ""
    contact: str = ""
    memory: str = ""
    since: datetime | None = None
    until: datetime | None = None
    cursor: str = ""
    limit: int = 100


class AuditEntry(Reply, frozen=True):
    """One thing somebody did: ids, never content.

    ``via`` is through what it was done: the verb, the source, the provider or the rule. ``detail`` says which grants or
    settings, or why something was refused ``count`` times. ``erased``: the key is destroyed, nobody can tell more.
    """

    position: str
    at: datetime
    action: str
    topic: str
    principal: str = ""
    principal_type: str = ""
    via: str = ""
    memories: list[str] = []
    message: str = ""
    session: str = ""
    contact: str = ""
    detail: str = ""
    count: int = 1
    erased: bool = False


class AuditReply(Reply, frozen=True):
    """A page; an empty ``cursor`` is the end. A page may hold less than was asked for, or nothing, and go on."""

    entries: list[AuditEntry]
    position: str
    cursor: str = ""

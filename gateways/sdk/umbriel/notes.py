"""Wire types of a conversation's working notes and its ongoing task."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request

__all__ = ["ClearTaskRequest", "NotesReply", "NotesRequest", "SetNotesRequest", "SetTaskRequest", "TaskReply"]


class SetNotesRequest(Request, frozen=True):
    """Notes to put in place of a session's, to add to them, or (``clear``) none.

    ``contact`` attaches the session to a contact.
    """

    session: str
    notes: str = ""
    mode: Literal["replace", "append", "clear"] = "replace"
    contact: str = ""
    request_id: str = ""


class SetTaskRequest(Request, frozen=True):
    """The task that a session works at from now on; ``contact`` attaches the session to a contact."""

    session: str
    task: str
    contact: str = ""
    request_id: str = ""


class ClearTaskRequest(Request, frozen=True):
    """Be done with the task of a session."""

    session: str
    request_id: str = ""


class NotesRequest(Request, frozen=True):
    """The notes or the task of a session, once the ledger has reached ``at_least``."""

    session: str
    at_least: str = ""


class NotesReply(Reply, frozen=True):
    """The notes as they are, empty for none, and who wrote them last; ``changed`` by this request."""

    session: str
    notes: str
    position: str
    changed: bool = False
    changed_at: datetime | None = None
    author: str = ""
    author_type: str = ""


class TaskReply(Reply, frozen=True):
    """The task as it is, empty for none, and who set it; ``changed`` by this request."""

    session: str
    task: str
    position: str
    changed: bool = False
    changed_at: datetime | None = None
    author: str = ""
    author_type: str = ""

"""Events of conversations and their messages."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Literal

from domain.events.base import Event

__all__ = [
    "ContactSet",
    "ConversationDeleted",
    "ConversationEnded",
    "MessageForgotten",
    "MessageRecorded",
    "NotesSet",
    "OverlayAdded",
    "SummaryRewritten",
    "TaskCleared",
    "TaskSet",
]


class MessageRecorded(Event, frozen=True):
    """One message of a conversation, as it was said.

    ``at`` is when it was said, if known, and ``utc_offset`` how many minutes east of UTC the clock was that said so.
    ``attachment`` is what its writer keeps beside the words, as it was given: nothing searches it, reads it for
    memories or shows it to a model. ``redacted``: it was forgotten before it was imported, and came without what it
    said.
    """

    TOPIC = "message.recorded"
    message: str
    session: str
    role: str
    content: str
    occurrence: int = 1
    at: datetime | None = None
    name: str = ""
    caller_id: str = ""
    turn_id: str = ""
    channel: str = ""
    utc_offset: int = 0
    redacted: bool = False
    attachment: str = ""

    @property
    def said_at(self) -> datetime | None:
        """When it was said, by the clock of who said it."""
        return None if self.at is None else self.at.astimezone(timezone(timedelta(minutes=self.utc_offset)))


class MessageForgotten(Event, frozen=True):
    """A message left every view; its content stays encrypted in the log until it is erased.

    ``caller_id`` and ``at`` are the message's own, so that it is known again when it comes again.
    """

    TOPIC = "message.forgotten"
    message: str
    session: str
    caller_id: str = ""
    at: datetime | None = None


class ContactSet(Event, frozen=True):
    """A conversation was attached to a contact."""

    TOPIC = "conversation.contact_set"
    session: str
    contact: str
    channel: str = ""


class ConversationEnded(Event, frozen=True):
    """A conversation is over: its tasks end with it. What is said in it later begins anew."""

    TOPIC = "conversation.ended"
    session: str


class ConversationDeleted(Event, frozen=True):
    """Everything said in a conversation until here is forgotten, with what was drawn from it and its tasks."""

    TOPIC = "conversation.deleted"
    session: str


class NotesSet(Event, frozen=True):
    """The working notes of a conversation were replaced, added to or cleared; ``notes`` is what was given."""

    TOPIC = "conversation.notes_set"
    session: str
    mode: Literal["replace", "append", "clear"]
    notes: str = ""
    request_id: str = ""

    def applied(self, before: str) -> str:
        """Return the notes as they are afterwards: what is added stands on lines of its own."""
        if self.mode == "append" and before:
            return f"{before}\n{self.notes}"
        return self.notes


class TaskSet(Event, frozen=True):
    """The conversation works at this task from now on."""

    TOPIC = "conversation.task_set"
    session: str
    task: str
    request_id: str = ""


class TaskCleared(Event, frozen=True):
    """The conversation's task is done with."""

    TOPIC = "conversation.task_cleared"
    session: str
    request_id: str = ""


class OverlayAdded(Event, frozen=True):
    """A summary stands for a range of messages where there is no room for their own words.

    ``messages`` are all of the range in the order they were recorded. ``replaces`` are overlays that lost a message.
    ``tokens`` is our estimate for ``summary``, which ``model`` wrote.
    """

    TOPIC = "conversation.overlay_added"
    session: str
    overlay: str
    messages: tuple[str, ...]
    summary: str
    tokens: int
    model: str
    replaces: tuple[str, ...] = ()


class SummaryRewritten(Event, frozen=True):
    """The summary of all that was said up to a message, ``last``, was written anew; the one before stays in the log.

    ``messages`` are how many that were: where fewer are left, one was forgotten while the summary was made.
    """

    TOPIC = "conversation.summary_rewritten"
    session: str
    summary: str
    last: str
    messages: int
    tokens: int
    model: str

"""The conversation aggregate: what a session is attached to, and what it works at.

Its messages have subjects of their own. Notes and task are neither memories nor messages: they are shown to whoever
goes on with the conversation, and are never recalled nor read for memories.
"""

from __future__ import annotations

from typing import Literal

from domain.errors import InvalidInputError
from domain.events import (
    ContactSet,
    ConversationDeleted,
    ConversationEnded,
    NotesSet,
    OverlayAdded,
    SummaryRewritten,
    TaskCleared,
    TaskSet,
)
from domain.kernel import Aggregate, Context
from domain.kinds import conversation_scope

__all__ = ["Conversation"]


class Conversation(Aggregate):
    """One session of a profile."""

    CATEGORY = "conversation"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.contact = ""
        self.channel = ""
        self.notes = ""
        self.task = ""
        # whether notes or a task were set since the last deletion, cleared meanwhile or not
        self._kept = False
        self._requests: set[str] = set()
        #: the overlay that stands for a message, by message
        self._covered: dict[str, str] = {}
        self._summary: SummaryRewritten | None = None

    def set_contact(self, session: str, contact: str, channel: str, context: Context) -> bool:
        """Attach the conversation to a contact; False when it is attached to it already."""
        if contact == self.contact and (not channel or channel == self.channel):
            return False
        event = ContactSet(session=session, contact=contact, channel=channel)
        self.emit(event, context, key_scope=conversation_scope(session))
        return True

    def set_notes(
        self,
        session: str,
        mode: Literal["replace", "append", "clear"],
        notes: str,
        context: Context,
        *,
        max_bytes: int,
        request_id: str = "",
    ) -> bool:
        """Replace, add to or clear the notes; False when they say so already or the request was carried out before.

        Raises InvalidInputError when they would come to more than ``max_bytes``.
        """
        event = NotesSet(session=session, mode=mode, notes=notes, request_id=request_id)
        after = event.applied(self.notes)
        if request_id in self._requests or after == self.notes:
            return False
        if (size := len(after.encode())) > max_bytes:
            raise InvalidInputError(
                "the notes would be too long; replace them by shorter ones",
                expected=f"at most {max_bytes} bytes in all",
                found=f"{size} bytes",
            )
        self.emit(event, context, key_scope=conversation_scope(session))
        return True

    def set_task(self, session: str, task: str, context: Context, *, request_id: str = "") -> bool:
        """Work at this task from now on; False when it is the task already or the request was carried out before."""
        if request_id in self._requests or task == self.task:
            return False
        event = TaskSet(session=session, task=task, request_id=request_id)
        self.emit(event, context, key_scope=conversation_scope(session))
        return True

    def clear_task(self, session: str, context: Context, *, request_id: str = "") -> bool:
        """Be done with the task; False when there is none or the request was carried out before."""
        if request_id in self._requests or not self.task:
            return False
        self.emit(TaskCleared(session=session, request_id=request_id), context, key_scope=conversation_scope(session))
        return True

    def add_overlay(self, event: OverlayAdded, context: Context) -> bool:
        """Let a summary stand for a range; False where one stands for a part of it that is not replaced."""
        standing = {self._covered.get(message, "") for message in event.messages} - {"", *event.replaces}
        if standing or not event.messages:
            return False
        self.emit(event, context, key_scope=conversation_scope(event.session))
        return True

    def rewrite_summary(self, event: SummaryRewritten, context: Context) -> bool:
        """Write the summary of everything anew; False when it says the same of the same messages.

        Of fewer messages it is another one: what was forgotten took the one before along.
        """
        if event == self._summary:
            return False
        self.emit(event, context, key_scope=conversation_scope(event.session))
        return True

    def on_overlay_added(self, event: OverlayAdded) -> None:
        """Take over what stands for which message."""
        gone = set(event.replaces)
        self._covered = {message: overlay for message, overlay in self._covered.items() if overlay not in gone}
        self._covered.update(dict.fromkeys(event.messages, event.overlay))

    def on_summary_rewritten(self, event: SummaryRewritten) -> None:
        """Take over the summary."""
        self._summary = event

    def on_contact_set(self, event: ContactSet) -> None:
        """Take over the contact, and the channel if one is named."""
        self.contact, self.channel = event.contact, event.channel or self.channel

    def end(self, session: str, context: Context) -> None:
        """Say that the conversation is over, for now: its tasks end."""
        self.emit(ConversationEnded(session=session), context, key_scope=conversation_scope(session))

    def delete(self, session: str, context: Context, *, said: bool) -> None:
        """Say that all of it until now is to be forgotten; nothing where nothing was ``said``, noted or begun."""
        if said or self._kept:
            self.emit(ConversationDeleted(session=session), context, key_scope=conversation_scope(session))

    def on_ended(self, event: ConversationEnded) -> None:
        """Its tasks are memories, with events of their own."""

    def on_deleted(self, event: ConversationDeleted) -> None:  # noqa: ARG002 -- every event has a handler
        """Whom it is attached to stays: an id of a deleted session must not become somebody else's."""
        self.notes, self.task, self._kept = "", "", False

    def on_notes_set(self, event: NotesSet) -> None:
        """Take over the notes."""
        self.notes, self._kept = event.applied(self.notes), True
        self._carried_out(event.request_id)

    def on_task_set(self, event: TaskSet) -> None:
        """Take over the task."""
        self.task, self._kept = event.task, True
        self._carried_out(event.request_id)

    def on_task_cleared(self, event: TaskCleared) -> None:
        """There is no task any more."""
        self.task = ""
        self._carried_out(event.request_id)

    def _carried_out(self, request_id: str) -> None:
        if request_id:
            self._requests.add(request_id)

"""The conversation aggregate: what a session is attached to. Its messages have subjects of their own."""

from __future__ import annotations

from domain.events import ContactSet, ConversationDeleted, ConversationEnded
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

    def set_contact(self, session: str, contact: str, channel: str, context: Context) -> bool:
        """Attach the conversation to a contact; False when it is attached to it already."""
        if contact == self.contact and (not channel or channel == self.channel):
            return False
        event = ContactSet(session=session, contact=contact, channel=channel)
        self.emit(event, context, key_scope=conversation_scope(session))
        return True

    def on_contact_set(self, event: ContactSet) -> None:
        """Take over the contact, and the channel if one is named."""
        self.contact, self.channel = event.contact, event.channel or self.channel

    def end(self, session: str, context: Context) -> None:
        """Say that the conversation is over, for now: its tasks end."""
        self.emit(ConversationEnded(session=session), context, key_scope=conversation_scope(session))

    def delete(self, session: str, context: Context) -> None:
        """Say that all of it until now is to be forgotten."""
        self.emit(ConversationDeleted(session=session), context, key_scope=conversation_scope(session))

    def on_ended(self, event: ConversationEnded) -> None:
        """Its tasks are memories, with events of their own."""

    def on_deleted(self, event: ConversationDeleted) -> None:
        """Whom it is attached to stays: an id of a deleted session must not become somebody else's."""

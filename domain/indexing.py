"""What enters and leaves the indexes: one rule that both index views and the ledger apply.

A message is indexed as ``[date] speaker: text``; a memory as its search queries followed by its
text (C7). Tasks have no embedding (U19). Filters act on ``scope``, a token that never changes:
the session's for a message, the contact's (or agent-wide) for a memory; which sessions belong to
a contact is resolved in the ledger when a query is made.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from domain.envelope import Envelope
from domain.events import (
    EmbeddingComputed,
    MemoryExpired,
    MemoryForgotten,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemorySuperseded,
    MessageForgotten,
    MessageRecorded,
    ProfileErased,
)
from domain.ids import digest128
from domain.kinds import Source, agent_scope, contact_scope, conversation_scope, memory_scope, memory_session

__all__ = [
    "AGENT_TOKEN",
    "IndexChange",
    "IndexItem",
    "Indexing",
    "contact_token",
    "key_scope_of",
    "memory_key_scope",
    "memory_text",
    "message_text",
    "session_token",
]

AGENT_TOKEN = "a"  # noqa: S105 -- a filter token, not a secret


class IndexItem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to index. ``embedding`` is the id of its vectors, empty for what has none."""

    id: str
    kind: str
    scope: str
    text: str
    embedding: str = ""
    key_scope: str = ""


class IndexChange(msgspec.Struct, frozen=True, kw_only=True):
    """What one event does to an index; events that do nothing have no change at all."""

    position: int
    add: IndexItem | None = None
    remove: tuple[str, ...] = ()
    computed: EmbeddingComputed | None = None


def session_token(session: str) -> str:
    """Return the filter token of a session's messages."""
    return f"s{digest128(session)}"


def contact_token(contact: str | None) -> str:
    """Return the filter token of a contact's memories; None is agent-wide."""
    return AGENT_TOKEN if contact is None else f"c{digest128(contact)}"


def message_text(event: MessageRecorded) -> str:
    """Return a message as it is indexed: ``[2023-05-08] Caroline: Hey Mel!``."""
    date = f"[{event.said_at.date().isoformat()}] " if event.said_at else ""
    return f"{date}{event.name or event.role}: {event.content}"


def memory_text(event: MemoryRemembered) -> str:
    """Return a memory as it is indexed: its queries, then its text."""
    return "\n".join((*event.queries, event.text))


def memory_key_scope(event: MemoryRemembered) -> str:
    """Return the key scope of a memory: its conversation if it was extracted, else contact or agent-wide.

    What was copied, or stands for several conversations, has a key of its own.
    """
    return key_scope_of(event.memory, event.source, event.session, event.scope)


def key_scope_of(memory: str, source: Source, session: str, scope: str | None) -> str:
    """Return the key scope of a memory of which this is known."""
    if drawn_from := memory_session(source, session):
        return conversation_scope(drawn_from)
    if source in ("copy", "consolidation"):
        return memory_scope(memory)
    return agent_scope() if scope is None else contact_scope(scope)


class Indexing:
    """Turns events into index changes for one profile and one embedding model.

    ``keyed`` is the profile's keyed hash (`domain.ids.keyed_id` with its secret).
    """

    def __init__(self, keyed: Callable[..., str], model: str, dimension: int) -> None:
        self._keyed = keyed
        self.model = model
        self.dimension = dimension

    def for_model(self, model: str, dimension: int) -> Indexing:
        """Return the same rule for another embedding model."""
        return Indexing(self._keyed, model, dimension)

    def embedding_id(self, key_id: str, text: str) -> str:
        """Return the id of the vectors of one exact text under one key, model and dimension."""
        return self._keyed("embedding", key_id, text, self.model, str(self.dimension))

    def key_id(self, scope: str) -> str:
        """Return the id of the first key of a scope."""
        return self._keyed("key", scope, "1")

    def erased_name(self, target: str, name: str) -> str:
        """Return what a contact, a session or a memory is called once it was erased."""
        return self._keyed("erased", target, name)

    def change(self, envelope: Envelope) -> IndexChange | None:
        """Return what ``envelope`` changes in an index, or None."""
        event, at = envelope.data, envelope.position
        match event:
            case MessageRecorded():
                return IndexChange(position=at, add=self._message(envelope.key_id, event))
            case MemoryRemembered():
                return IndexChange(position=at, add=self._memory(envelope.key_id, event))
            case MemoryRestored():
                return IndexChange(position=at, add=self._memory(envelope.key_id, event.content))
            case MemorySuperseded() | MemoryRetracted() | MemoryRejected() | MemoryExpired():
                return IndexChange(position=at, remove=(event.memory,))
            case MemoryForgotten():
                return IndexChange(position=at, remove=event.memories)
            case MessageForgotten():
                return IndexChange(position=at, remove=(event.message,))
            case ProfileErased(memory=memory) if memory:
                return IndexChange(position=at, remove=(memory,))
            case EmbeddingComputed() if event.model == self.model and event.dimension == self.dimension:
                return IndexChange(position=at, computed=event)
            case _:
                return None

    def _message(self, key_id: str, event: MessageRecorded) -> IndexItem:
        text = message_text(event)
        return IndexItem(
            id=event.message,
            kind="message",
            scope=session_token(event.session),
            text=text,
            embedding=self.embedding_id(key_id, text),
            key_scope=conversation_scope(event.session),
        )

    def _memory(self, key_id: str, event: MemoryRemembered) -> IndexItem:
        text = memory_text(event)
        return IndexItem(
            id=event.memory,
            kind=event.kind,
            scope=contact_token(event.scope),
            text=text,
            embedding="" if event.kind == "task" else self.embedding_id(key_id, text),
            key_scope=memory_key_scope(event),
        )

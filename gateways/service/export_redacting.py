"""What of an event an export and an import take along: everything but words that are forgotten, and their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from domain.envelope import Envelope
from domain.events import EmbeddingComputed, Event, MemoryRemembered, MemoryRestored, MessageRecorded
from domain.redacting import Forgotten, redacted
from projections.ledger import Ledger

__all__ = ["Gone", "gone_of", "shown"]


class Gone(msgspec.Struct, frozen=True):
    """What is forgotten, and of what embeddings hold the vectors: a message or memory that is not."""

    forgotten: Forgotten
    items: Mapping[str, str] = {}

    def item(self, event: Event) -> str:
        """Return what an event holds the vectors of, empty for none that anybody may know."""
        return self.items.get(event.embedding, "") if isinstance(event, EmbeddingComputed) else ""


def gone_of(ledger: Ledger, envelopes: Sequence[Envelope]) -> Gone:
    """Look up what these events speak of."""
    embeddings = [one.data.embedding for one in envelopes if isinstance(one.data, EmbeddingComputed)]
    return Gone(ledger.forgotten(), ledger.items_of(embeddings))


def shown(event: Event, position: int, gone: Gone) -> Event:
    """Return the event without what is forgotten: the very same one where nothing of it is.

    A message or memory says then that it came without its words, so that nobody takes it for an empty one.
    """
    if isinstance(event, EmbeddingComputed):
        return replace(event, vectors=b"") if event.vectors and not gone.item(event) else event
    left = redacted(event, position, gone.forgotten)
    if left is None:
        return event
    match left.event:
        case MessageRecorded() | MemoryRemembered():
            return replace(left.event, redacted=True)
        case MemoryRestored():
            return replace(left.event, content=replace(left.event.content, redacted=True))
    return left.event

"""What tells whose an event is: a session, a memory, or a contact that it names."""

from __future__ import annotations

from domain.events import (
    ContactSet,
    ContactsLinked,
    ContactsUnlinked,
    ConversationDeleted,
    ConversationEnded,
    Event,
    ExtractionCompleted,
    ExtractionFailed,
    MemoryRemembered,
    MemoryRestored,
    MessageForgotten,
    MessageRecorded,
    NotesSet,
    OverlayAdded,
    RecallServed,
    SummaryRewritten,
    TaskCleared,
    TaskSet,
)
from domain.grants import ALL
from gateways.service.feed_cache import BETWEEN, About

__all__ = ["about_of"]


def about_of(event: Event) -> About | None:
    """Return what tells whose an event is; None is the whole profile's."""
    match event:
        case ContactSet():
            return About("said", event.contact)
        case MemoryRemembered():
            return About("remembered", event.scope or "")
        case MemoryRestored():
            return About("remembered", event.content.scope or "")
        case MessageRecorded() | MessageForgotten() | ExtractionCompleted() | ExtractionFailed():
            return About("session", event.session)
        case ConversationEnded() | ConversationDeleted() | NotesSet() | TaskSet() | TaskCleared():
            return About("session", event.session)
        case RecallServed() if event.session:
            return About("session", event.session)
        case RecallServed():
            # A question without a contact may be about what only they hear who hear everybody.
            return None if event.contact == ALL else About("said", event.contact)
        case OverlayAdded() | SummaryRewritten():
            return About("session", event.session)
        case ContactsLinked() | ContactsUnlinked():
            return About("link", f"{event.first}{BETWEEN}{event.second}")
    memory = getattr(event, "memory", "") or next(iter(getattr(event, "memories", ())), "")
    return About("memory", memory) if memory else None

"""Stretches of conversation that wait to be read for memories, and when it is time."""

from __future__ import annotations

from datetime import datetime

import msgspec

from domain.ids import digest128
from domain.kinds import Source
from domain.settings import ExtractionLimits
from projections.ledger import Ledger, MessageRecord, UnreadSession

__all__ = ["PIPELINE", "Stretch", "due_in", "stretch_of", "stretch_of_messages"]

#: Changes with what is made of a stretch; part of the id of the work.
PIPELINE = "extraction-1"


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of one session to be read at once, after some that were read before; ``id`` is the work's."""

    id: str
    session: str
    contact: str | None
    source: Source
    messages: tuple[MessageRecord, ...]
    before: tuple[MessageRecord, ...] = ()


def due_in(session: UnreadSession, now: datetime, limits: ExtractionLimits) -> float:
    """Return in how many seconds a session is to be read: at once after an answer, else when it has been idle."""
    if session.answered or session.messages >= limits.messages:
        return 0.0
    quiet: float = (now - session.last_recorded_at).total_seconds()
    return limits.idle_seconds - quiet


def stretch_of(ledger: Ledger, session: str, limits: ExtractionLimits) -> Stretch | None:
    """Return the oldest messages of a session that are still to be read, None without any."""
    messages = ledger.unread(session, limits.messages)
    source: Source = "turn" if len(messages) <= limits.turn_messages else "ingest"
    return stretch_of_messages(ledger, messages, source, limits) if messages else None


def stretch_of_messages(
    ledger: Ledger, messages: list[MessageRecord], source: Source, limits: ExtractionLimits
) -> Stretch:
    """Return the stretch that these messages of one session make (oldest first, at least one)."""
    first, last = messages[0], messages[-1]
    return Stretch(
        id=digest128("extraction", first.session, first.id, last.id, source, PIPELINE),
        session=first.session,
        contact=first.contact or None,
        source=source,
        messages=tuple(messages),
        before=tuple(ledger.messages_before(first.session, first.position, limits.overlap)),
    )

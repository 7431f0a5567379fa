"""What there is to think about of a day: with each contact by itself, what was said and what was remembered.

Nothing that came out of memory goes in again: recalled text is taken out of what was said, and reflections, merges
and copies are not among the memories. Contacts are never mixed, not even those that are linked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby

import msgspec

from domain.digest import Day, Note, Talk
from domain.kinds import memory_session
from domain.settings import ProfileSettings, ReflectionLimits, Settings
from domain.suppression import FACT_TYPE, suppression_of
from domain.tokens import estimated_tokens
from domain.transcript import Line
from gateways.extraction.windows import window_of
from gateways.service.preferences import shown_since
from projections.ledger import Ledger, MemoryRecord, MessageRecord

__all__ = ["days_of", "end_of"]


def end_of(day: str) -> datetime:
    """Return the moment at which a UTC day is over."""
    return datetime.combine(date.fromisoformat(day) + timedelta(days=1), time(0), tzinfo=UTC)


def days_of(ledger: Ledger, day: str, set_to: ProfileSettings, settings: Settings, now: datetime) -> list[Day]:
    """Return the day with each contact with whom something was said, or of whom something was remembered; blocks.

    Nobody's conversations come first. Where conversations are not read for memories, what was said is left out.
    """
    end = end_of(day)
    start = max(end - timedelta(days=1), shown_since(set_to, now) or datetime.min.replace(tzinfo=UTC))
    said = ledger.said_between(start, end) if set_to.extraction.enabled else []
    stated = [one for one in ledger.stated_between(start, end, now=now) if _may_be_told(one)]
    by_contact: dict[str, list[MessageRecord]] = defaultdict(list)
    notes: dict[str, list[MemoryRecord]] = defaultdict(list)
    for message in said:
        by_contact[message.contact].append(message)
    for memory in stated:
        notes[memory.scope or ""].append(memory)
    last = ledger.last_in(list({one.session for one in said}))
    found = [
        Day(
            day=day,
            contact=contact or None,
            talks=_talks(ledger, by_contact[contact], last, settings),
            notes=_notes(notes[contact], settings.reflection),
        )
        for contact in sorted({*by_contact, *notes})
    ]
    return [one for one in found if one.talks or one.notes]


def _may_be_told(memory: MemoryRecord) -> bool:
    """Whether a memory may be restated: what is not to be spoken of is not."""
    return memory.fact_type != FACT_TYPE and suppression_of(memory.text) is None


def _notes(memories: Sequence[MemoryRecord], limits: ReflectionLimits) -> tuple[Note, ...]:
    """Return the most trusted memories, in the order they were stated."""
    trusted = sorted(memories, key=lambda one: (-one.confidence, one.position))[: limits.notes]
    return tuple(
        Note(
            index=index,
            id=one.id,
            text=one.text,
            kind=one.kind,
            fact_type=one.fact_type,
            confidence=one.confidence,
            stated_at=one.stated_at or one.recorded_at,
            sources=one.sources,
            session=memory_session(one.source, one.session),
            expires_at=one.expires_at,
        )
        for index, one in enumerate(sorted(trusted, key=lambda one: one.position))
    )


def _talks(
    ledger: Ledger, messages: Sequence[MessageRecord], last: dict[str, int], settings: Settings
) -> tuple[Talk, ...]:
    """Return the day's conversations with one contact, in the order they began; the oldest lines beyond the room go."""
    order: dict[str, int] = {}
    for one in messages:
        order.setdefault(one.session, len(order))
    talks, count = [], 0
    for session, group in groupby(sorted(messages, key=lambda one: order[one.session]), key=lambda one: one.session):
        said = list(group)
        window = window_of(said, source="ingest", contact=None, limits=settings.extraction)
        quotable = [line for line in window.lines if suppression_of(line.text) is None]
        lines = _newest(quotable, settings.reflection.tokens // len(order))
        if not lines:
            continue
        conversation = ledger.conversation(session)
        numbered = [msgspec.structs.replace(line, index=count + n) for n, line in enumerate(lines)]
        count += len(numbered)
        talks.append(
            Talk(
                session=session,
                lines=tuple(numbered),
                channel=conversation.channel if conversation else "",
                unanswered=said[-1].position == last.get(session) and lines[-1].message == said[-1].id,
            )
        )
    return tuple(talks)


def _newest(lines: Sequence[Line], tokens: int) -> list[Line]:
    """Return the first line, and of the others as many of the newest as there is room for."""
    kept: list[Line] = []
    for line in reversed(lines[1:]):
        tokens -= estimated_tokens(line.text)
        if tokens < 0:
            break
        kept.append(line)
    return [*lines[:1], *reversed(kept)]

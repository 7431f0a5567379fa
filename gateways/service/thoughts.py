"""From what was made of a day to what may be written: every field checked, what rests on nothing is left out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from domain.digest import Day, Note, Wording
from domain.errors import InvalidInputError
from domain.events import Thought
from domain.fence import unfenced
from domain.settings import Limits, ReflectionLimits
from domain.suppression import suppression_of
from domain.text import check_name, check_text, fold_key
from domain.transcript import Line
from gateways.extraction.chat.evidence import evidence_of
from gateways.service.days import end_of

__all__ = ["thoughts_of"]

_TOPIC_CHARS = 60


def thoughts_of(
    day: Day, wordings: Iterable[Wording], limits: Limits, reflection: ReflectionLimits, *, by_model: bool
) -> list[Thought]:
    """Return the thoughts that may be written, each on a topic of its own; blocks.

    Left out is what names nothing that it rests on, and what repeats recalled memory or an order to keep quiet; of a
    model's words also what holds a number, a date or a quotation that is not there.
    """
    found: list[Thought] = []
    taken: set[str] = set()
    for wording in wordings:
        thought = _thought(day, wording, limits, reflection, by_model=by_model)
        if thought is None or len(found) >= reflection.topics:
            continue
        topic, number = thought.topic, 1
        while fold_key(topic) in taken:
            number += 1
            topic = f"{thought.topic} {number}"
        taken.add(fold_key(topic))
        found.append(msgspec.structs.replace(thought, topic=topic))
    return found


def _thought(
    day: Day, wording: Wording, limits: Limits, reflection: ReflectionLimits, *, by_model: bool
) -> Thought | None:
    said, known = {line.index: line for line in day.lines}, {note.index: note for note in day.notes}
    lines = [said[index] for index in dict.fromkeys(wording.lines) if index in said]
    notes = [known[index] for index in dict.fromkeys(wording.notes) if index in known]
    text = wording.text.strip()
    try:
        topic = check_name(" ".join(wording.topic.split()), field="topic", max_chars=_TOPIC_CHARS)
        check_text(text, field="text", max_bytes=limits.memory_bytes)
    except InvalidInputError:
        return None
    if not (lines or notes) or not any(map(str.isalnum, topic)) or len(text) > reflection.chars:
        return None
    if unfenced(text) != text or suppression_of(text) is not None:
        return None
    if by_model and _lacking(day, text, lines, notes):
        return None
    moments = [*(one.at for one in lines if one.at), *(one.stated_at for one in notes)]
    return Thought(
        topic=topic,
        text=text,
        sources=tuple(dict.fromkeys((*(one.message for one in lines), *(s for one in notes for s in one.sources)))),
        drawn_from=tuple(one.id for one in notes),
        session=_session(day, lines, notes),
        stated_at=max(moments, default=end_of(day.day)).astimezone(UTC),
        expires_at=_expiry(day, notes, reflection) if wording.open else None,
    )


def _lacking(day: Day, text: str, lines: list[Line], notes: list[Note]) -> str:
    """Return the check that a text fails because nothing that it rests on holds what it says."""
    noon = end_of(day.day) - timedelta(hours=12)
    shown = [Line(index=n, message="", role="note", text=one.text, at=noon) for n, one in enumerate(notes)]
    # Its heading names the day and whom it was with.
    heading = Line(index=0, message="", role="note", text=f"{day.day} {day.contact or ''}", at=noon)
    return evidence_of([heading, *lines, *shown], noon).lacks(text)


def _session(day: Day, lines: list[Line], notes: list[Note]) -> str:
    """Return the one conversation that all of it is from, empty where there are several or a note is of none."""
    of = {line.message: talk.session for talk in day.talks for line in talk.lines}
    sessions = {*(of[one.message] for one in lines), *(one.session for one in notes)}
    return sessions.pop() if len(sessions) == 1 else ""


def _expiry(day: Day, notes: list[Note], reflection: ReflectionLimits) -> datetime:
    """Return when what is open is stale: with the first of the tasks in it, or after some days."""
    at = end_of(day.day) + timedelta(days=reflection.open_days)
    return min((at, *(one.expires_at for one in notes if one.expires_at is not None)))

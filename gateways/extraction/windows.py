"""From recorded messages to the numbered lines of a window."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from domain.kinds import Source
from domain.settings import ExtractionLimits
from domain.transcript import Line, Window
from gateways.extraction.dates import resolve_dates
from gateways.extraction.hygiene import readable
from projections.ledger import MessageRecord

__all__ = ["stated_at", "window_of"]


def window_of(
    messages: Sequence[MessageRecord],
    before: Sequence[MessageRecord] = (),
    *,
    source: Source,
    contact: str | None,
    limits: ExtractionLimits,
) -> Window:
    """Return the window of ``messages`` (oldest first, at least one), after lines of ``before`` for understanding only.

    Messages that may not be read have no line. A line's ``at`` is local to who said it, and the time it was recorded
    where none is known; relative dates in its text are resolved from there.
    """
    pairs = [*((record, True) for record in before), *((record, False) for record in messages)]
    lines: list[Line] = []
    for record, context in pairs:
        text = readable(record.role, record.content, tool_chars=limits.tool_chars)
        if text:
            lines.append(_line(len(lines), record, text, context=context))
    first = messages[0]
    return Window(
        session=first.session, lines=tuple(lines), source=source, now=messages[-1].recorded_at, contact=contact
    )


def _line(index: int, record: MessageRecord, text: str, *, context: bool) -> Line:
    said = (record.at or record.recorded_at).astimezone(timezone(timedelta(minutes=record.utc_offset)))
    return Line(
        index=index,
        message=record.id,
        role=record.role,
        text=resolve_dates(text, said),
        name=record.name,
        at=said,
        context=context,
    )


def stated_at(window: Window, lines: Sequence[int]) -> datetime:
    """Return when the last of these lines was said."""
    return max((line.at or window.now for line in window.lines if line.index in lines), default=window.now)

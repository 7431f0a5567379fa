"""A conversation as a context shows it: read from the ledger in pages, fitted into a budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

import msgspec

from domain.fence import fence
from domain.history import History, Line, Overlay, Range, fitted, scanned
from domain.settings import HistoryLimits
from domain.tokens import estimated_tokens
from gateways.service.context import Missing
from projections.ledger import Ledger, MessageRecord

__all__ = ["ShownHistory", "covered", "read_history"]

#: How the text of a message is shown in a format.
Show = Callable[[MessageRecord], str]


class ShownHistory(msgspec.Struct, frozen=True):
    """What is shown of a conversation, the messages behind it by their place, and what is missing to show more."""

    history: History
    messages: dict[int, MessageRecord]
    missing: Missing | None = None


def read_history(ledger: Ledger, session: str, budget: int, limits: HistoryLimits, show: Show) -> ShownHistory:
    """Return what fits of a session, newest pages first until the budget is full; the beginning is read apart."""
    places = ledger.outline(session)
    messages: dict[int, MessageRecord] = {}

    def line(record: MessageRecord) -> Line:
        index = bisect_left(places, record.position)
        messages[index] = record
        return Line(index, show(record))

    def pages() -> Iterator[list[Line]]:
        before: int | None = None
        while page := ledger.session_messages(session, before=before, limit=limits.page):
            before = page[-1].position
            # What came since the outline was made is the next context's.
            yield [line(record) for record in page if record.position <= places[-1]]

    newest = scanned(pages(), budget, limits) if places else scanned((), budget, limits)
    begun = ledger.session_messages(session, limit=limits.head_messages, oldest_first=True) if places else []
    first = [line(record) for record in begun if record.position <= places[-1]]
    found = ledger.overlays(session)
    overlays = [
        Overlay(
            Range(bisect_left(places, one.first_position), bisect_left(places, one.last_position)),
            covered(one.summary, one.messages),
        )
        for one in found
    ]
    summary = next((one for one in ledger.summaries(session, 1) if one.archived_at is None), None)
    room = estimated_tokens(covered("")) if summary else 0
    text = summary.summary if summary else ""
    history = fitted(first, newest.lines, overlays, max(budget - room, 0), limits, summary=text)
    overflowed = [one for one in found if covered(one.summary, one.messages) in {o.summary for o in history.overflowed}]
    stale = bool(overflowed) and (summary is None or overflowed[-1].last_position > summary.upto)
    missing = None
    if history.uncovered is not None:
        missing = Missing(session, places[history.uncovered.first], places[history.uncovered.last], stale)
    elif stale:
        missing = Missing(session, overflowed=True)
    return ShownHistory(history, messages, missing)


def covered(summary: str, messages: int | None = None) -> str:
    """Return a summary as it is shown: as data, and what it stands for."""
    what = "what was said before" if messages is None else f"{messages} messages"
    return fence([summary], note=f"A summary of {what}, in place of their words.", name="conversation_summary")

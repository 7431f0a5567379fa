"""From recorded messages to the lines of a window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain.fence import fence
from domain.settings import ExtractionLimits
from domain.transcript import Window
from gateways.extraction.windows import stated_at, window_of
from projections.ledger import MessageRecord

NOW = datetime(2026, 4, 15, 12, tzinfo=UTC)


def said(
    number: int, content: str, *, role: str = "user", at: datetime | None = None, offset: int = 0
) -> MessageRecord:
    """A message of one session."""
    return MessageRecord(
        id=f"m{number}",
        session="s",
        role=role,
        name="Ana",
        content=content,
        at=at,
        recorded_at=NOW + timedelta(seconds=number),
        position=number,
        occurrence=1,
        caller_id="",
        turn_id="",
        author="bot",
        author_type="agent",
        forgotten=False,
        contact="",
        utc_offset=offset,
    )


def window(*messages: MessageRecord, before: tuple[MessageRecord, ...] = ()) -> Window:
    """The window of these messages."""
    return window_of(messages, before, source="turn", contact="ana", limits=ExtractionLimits())


def test_lines_are_numbered_and_dated() -> None:
    """Lines count from 0 over context and window; relative dates are resolved where and when they were said."""
    at = datetime(2026, 4, 14, 16, tzinfo=UTC)
    made = window(said(2, "I moved yesterday.", at=at, offset=540), before=(said(1, "Hi"),))
    assert [(line.index, line.message, line.context) for line in made.lines] == [(0, "m1", True), (1, "m2", False)]
    assert made.lines[1].text == "I moved yesterday [2026-04-14]."
    assert made.lines[1].at == at
    assert (made.session, made.source, made.contact) == ("s", "turn", "ana")


def test_a_message_without_a_time_is_dated_by_its_recording() -> None:
    """A backfill's time is its own, never today by default; without one, the recording tells (graphiti PR#1492)."""
    assert window(said(1, "I moved yesterday.")).lines[0].text == "I moved yesterday [2026-04-14]."
    old = datetime(2020, 1, 2, tzinfo=UTC)
    assert window(said(1, "I moved yesterday.", at=old)).lines[0].text == "I moved yesterday [2020-01-01]."


def test_what_may_not_be_read_has_no_line() -> None:
    """System prompts, blank and recalled text leave no line; the rest of a message with recalled text stays."""
    recalled = fence(["The user lives in Oslo."])
    made = window(said(1, "Be brief.", role="system"), said(2, recalled), said(3, f"I sing. {recalled}"))
    assert [(line.index, line.text) for line in made.lines] == [(0, "I sing.")]


def test_when_a_statement_was_made() -> None:
    """The last of its lines tells when it was stated."""
    early, late = NOW - timedelta(days=2), NOW - timedelta(days=1)
    made = window(said(1, "a", at=early), said(2, "b", at=late))
    assert stated_at(made, (0, 1)) == late
    assert stated_at(made, (0,)) == early
    assert stated_at(made, ()) == made.now

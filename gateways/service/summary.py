"""A session on one page: what was said, what was learnt, what is open, and the session before it.

What was said is told by the summary of all and the overlays since, as far as there are any; the rest is drawn from the
messages by rules. Nothing is written and no model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from domain.errors import NotFoundError
from domain.fence import unfenced
from domain.grants import Reach
from domain.text import check_name
from domain.transcript import Line
from gateways.service.context import Core
from gateways.service.lending import look
from projections.ledger import Conversation, Ledger, MemoryRecord, MessageRecord
from umbriel.conversations import SummaryReply, SummaryRequest

__all__ = ["summarise_session"]

_MESSAGES, _MEMORIES = 200, 100
#: tokens of what was said, of the session and of the one before it
_SAID, _BEFORE = 400, 120
_EXTRACT = "Extract, not a model's summary:"


class _Told(msgspec.Struct, frozen=True):
    """What the ledger has of one session; ``earlier`` is what was summarised, and by what."""

    conversation: Conversation
    messages: list[MessageRecord]
    count: int
    earlier: str
    model: str


class _Page(msgspec.Struct, frozen=True):
    told: _Told
    memories: list[MemoryRecord]
    task: str
    notes: str
    before: _Told | None


async def summarise_session(core: Core, reach: Reach, profile: str, request: SummaryRequest) -> SummaryReply:
    """Return a session in Markdown; NotFoundError for one that does not exist or is out of reach."""
    check_name(request.session, field="session", max_chars=core.settings.limits.session_chars)
    now = datetime.now(UTC)
    page, position = await look(
        core, profile, request.at_least, lambda ledger: _read(ledger, reach, request.session, now)
    )
    if page is None:
        raise NotFoundError("no such session", expected="a session within reach", found=request.session)
    said, model = await _said(core, profile, page.told, _SAID)
    lines = [f"# Session {_plain(request.session)}", "", _heading(page.told), "", "## What was said", "", said]
    lines += _list("What was learnt", [one for one in page.memories if one.kind != "task"])
    lines += _open(page)
    if page.before is not None:
        earlier, _ = await _said(core, profile, page.before, _BEFORE)
        lines += ["", "## Last session", "", _heading(page.before), "", earlier]
    return SummaryReply(
        session=request.session,
        markdown="\n".join(lines) + "\n",
        model=model,
        position=position,
        last_session=page.before.conversation.session if page.before else "",
    )


def _read(ledger: Ledger, reach: Reach, session: str, now: datetime) -> _Page | None:
    conversation = ledger.conversation(session)
    if conversation is None or not reach.hears(conversation.contact):
        return None
    found = ledger.list_memories(now=now, session=session, contact="*", limit=_MEMORIES, within=reach.reads)
    notes, task = ledger.notes(session), ledger.task(session)
    earlier = [one for one in ledger.sessions_of(conversation.contact) if one.position < conversation.position]
    return _Page(
        _told(ledger, conversation),
        sorted((one for one in found.entries if reach.sees(one.scope)), key=lambda one: one.position),
        task.text if task else "",
        notes.text if notes else "",
        _told(ledger, earlier[-1]) if earlier else None,
    )


def _told(ledger: Ledger, conversation: Conversation) -> _Told:
    session = conversation.session
    summary = next((one for one in ledger.summaries(session, 1) if one.archived_at is None), None)
    upto = summary.upto if summary else 0
    parts = [summary.summary] if summary else []
    model = summary.model if summary else ""
    for overlay in ledger.overlays(session):
        if overlay.last_position > upto:
            parts.append(overlay.summary)
            upto, model = overlay.last_position, overlay.model
    messages = ledger.session_messages(session, limit=_MESSAGES)[::-1]
    places = ledger.outline(session)
    return _Told(conversation, [one for one in messages if one.position > upto], len(places), "\n".join(parts), model)


async def _said(core: Core, profile: str, told: _Told, tokens: int) -> tuple[str, str]:
    """Return what was said in a session, and what wrote that."""
    local = core.models.local_summariser
    lines = [
        Line(index=index, message=one.id, role=one.role, name=one.name, text=unfenced(one.content), at=one.at)
        for index, one in enumerate(told.messages)
    ]
    summary = await local.summarise(lines, earlier=told.earlier, tokens=tokens, profile=profile)
    words = summary.text.replace(_EXTRACT, "").strip() or "Nothing that is still there."
    return words, told.model or summary.model


def _heading(told: _Told) -> str:
    conversation = told.conversation
    whom = f"With {_plain(conversation.contact)}" if conversation.contact else "With nobody by name"
    through = f" on {_plain(conversation.channel)}" if conversation.channel else ""
    times = [one.at or one.recorded_at for one in told.messages] or [conversation.created_at]
    first, last = (f"{moment:%Y-%m-%d %H:%M}" for moment in (min(times), max(times)))
    return f"{whom}{through}, {told.count} messages, {first if first == last else f'{first} to {last}'} UTC."


def _list(title: str, memories: Sequence[MemoryRecord]) -> list[str]:
    if not memories:
        return []
    return ["", f"## {title}", "", *(f"- {_plain(one.text)} ({one.kind}, `{one.id}`)" for one in memories)]


def _open(page: _Page) -> list[str]:
    tasks = [f"- {_plain(one.text)} (`{one.id}`)" for one in page.memories if one.kind == "task"]
    working = [f"- Task: {_plain(page.task)}"] if page.task else []
    notes = [f"- Notes: {_plain(page.notes)}"] if page.notes else []
    rows = [*working, *notes, *tasks]
    return ["", "## Open", "", *rows] if rows else []


def _plain(text: str) -> str:
    """Return a text on one line, so that it cannot be a heading or a list of its own."""
    return " ".join(text.split())

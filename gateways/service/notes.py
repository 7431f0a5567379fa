"""The verbs of a conversation's working notes and task: set, get, clear."""

from __future__ import annotations

from collections.abc import Callable

from domain.conversation import Conversation
from domain.errors import InvalidInputError
from domain.grants import Reach
from domain.settings import Limits
from domain.text import check_name, check_text
from gateways.service.aggregates import change, ensure_profile
from gateways.service.context import Caller, Core
from gateways.service.lending import look, seen_by_all
from gateways.service.sessions import check_session
from projections.ledger import Ledger, NoteRecord
from umbriel import notes as wire

__all__ = ["clear_task", "get_notes", "get_task", "set_notes", "set_task"]


async def set_notes(core: Core, caller: Caller, profile: str, request: wire.SetNotesRequest) -> wire.NotesReply:
    """Replace, add to or clear the notes of a session."""
    limits = core.settings.limits
    _check(request.session, request.contact, request.request_id, limits)
    if (request.mode == "clear") is bool(request.notes):
        expected = "no notes with mode=clear" if request.notes else "notes, or mode=clear"
        raise InvalidInputError(f"notes do not go with mode={request.mode}", expected=expected, found=request.mode)
    if request.notes:
        check_text(request.notes, field="notes", max_bytes=limits.notes_bytes)

    def decide(conversation: Conversation) -> bool:
        return conversation.set_notes(
            request.session,
            request.mode,
            request.notes,
            caller.context(),
            max_bytes=limits.notes_bytes,
            request_id=request.request_id,
        )

    changed, conversation, position = await _change(core, caller, profile, request.session, request.contact, decide)
    return wire.NotesReply(session=request.session, notes=conversation.notes, position=position, changed=changed)


async def set_task(core: Core, caller: Caller, profile: str, request: wire.SetTaskRequest) -> wire.TaskReply:
    """Let a session work at a task."""
    limits = core.settings.limits
    _check(request.session, request.contact, request.request_id, limits)
    check_text(request.task, field="task", max_bytes=limits.task_bytes)

    def decide(conversation: Conversation) -> bool:
        return conversation.set_task(request.session, request.task, caller.context(), request_id=request.request_id)

    changed, conversation, position = await _change(core, caller, profile, request.session, request.contact, decide)
    return wire.TaskReply(session=request.session, task=conversation.task, position=position, changed=changed)


async def clear_task(core: Core, caller: Caller, profile: str, request: wire.ClearTaskRequest) -> wire.TaskReply:
    """Let a session be done with its task."""
    _check(request.session, "", request.request_id, core.settings.limits)

    def decide(conversation: Conversation) -> bool:
        return conversation.clear_task(request.session, caller.context(), request_id=request.request_id)

    changed, conversation, position = await _change(core, caller, profile, request.session, "", decide)
    return wire.TaskReply(session=request.session, task=conversation.task, position=position, changed=changed)


async def _change(
    core: Core, caller: Caller, profile: str, session: str, contact: str, decide: Callable[[Conversation], bool]
) -> tuple[bool, Conversation, str]:
    """Run a command on a conversation, attached to ``contact`` first where one is named; the ledger sees it then."""
    await check_session(core, caller.reach, profile, session, contact)
    await ensure_profile(core, caller, profile)
    aggregate_id = await core.events.subject_id(profile, Conversation.CATEGORY, session)

    def command(conversation: Conversation) -> tuple[bool, Conversation]:
        if conversation.contact:
            # Again: somebody else may have attached it since.
            caller.reach.check_write(conversation.contact)
        if contact:
            conversation.set_contact(session, contact, "", caller.context())
        return decide(conversation), conversation

    (changed, conversation), position = await change(core, Conversation, aggregate_id, command)
    return changed, conversation, await seen_by_all(core, position)


async def get_notes(core: Core, reach: Reach, profile: str, request: wire.NotesRequest) -> wire.NotesReply:
    """Return the notes of a session; those of a session out of reach are not there."""
    found, position = await _look(core, reach, profile, request, lambda ledger: ledger.notes(request.session))
    if found is None:
        return wire.NotesReply(session=request.session, notes="", position=position)
    return wire.NotesReply(
        session=request.session,
        notes=found.text,
        position=position,
        changed_at=found.at,
        author=found.author,
        author_type=found.author_type,
    )


async def get_task(core: Core, reach: Reach, profile: str, request: wire.NotesRequest) -> wire.TaskReply:
    """Return the task of a session; that of a session out of reach is not there."""
    found, position = await _look(core, reach, profile, request, lambda ledger: ledger.task(request.session))
    if found is None:
        return wire.TaskReply(session=request.session, task="", position=position)
    return wire.TaskReply(
        session=request.session,
        task=found.text,
        position=position,
        changed_at=found.at,
        author=found.author,
        author_type=found.author_type,
    )


async def _look(
    core: Core, reach: Reach, profile: str, request: wire.NotesRequest, read: Callable[[Ledger], NoteRecord | None]
) -> tuple[NoteRecord | None, str]:
    check_name(request.session, field="session", max_chars=core.settings.limits.session_chars)
    found, position = await look(core, profile, request.at_least, read)
    return (found if found is not None and reach.hears(found.contact) else None), position


def _check(session: str, contact: str, request_id: str, limits: Limits) -> None:
    check_name(session, field="session", max_chars=limits.session_chars)
    if contact == "*":
        raise InvalidInputError("a session is with one contact", expected="a contact's name", found="'*', which is all")
    if contact:
        check_name(contact, field="contact", max_chars=limits.contact_chars)
    if request_id:
        check_name(request_id, field="request_id", max_chars=limits.name_chars)

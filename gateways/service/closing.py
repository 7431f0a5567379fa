"""The verbs that end or delete a session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from domain.conversation import Conversation
from domain.errors import NotFoundError
from domain.events import MemoryRemembered
from domain.settings import Limits, TaskPreferences
from domain.text import check_name
from gateways.service.aggregates import change
from gateways.service.context import Caller, Core
from gateways.service.forgetting import Entailed, entailed_by, follow_up
from gateways.service.profiles import OpenProfile
from projections.ledger import Ledger
from umbriel.sessions import DeleteSessionReply, DeleteSessionRequest, EndSessionReply, EndSessionRequest

__all__ = ["delete_session", "end_session", "with_lifetime"]

_SHOWN = 10_000
_ALL = 1_000_000


async def end_session(core: Core, caller: Caller, profile: str, request: EndSessionRequest) -> EndSessionReply:
    """Say that a session is over: what was said last in it is read at once, and its tasks end.

    What is said before the end and read only afterwards brings no task that outlives it.
    """
    session = _check(request.session, core.settings.limits)
    await _check_profile(core, profile)
    async with core.profiles.use(profile) as opened:
        await _check_session(core, caller, opened, session)
        tasks = await core.in_thread(lambda: _ledger(core, opened).tasks_of(session, None, live=True))
        aggregate_id = opened.subject(Conversation.CATEGORY, session)
        _, ended = await change(core, Conversation, aggregate_id, lambda one: one.end(session, caller.context()))
        position = await follow_up(core, opened)
        if core.thinking is not None:
            core.thinking.hurry(profile, session)
        if request.wait:
            await core.settle(opened, ended, session=session)
            position = await follow_up(core, opened)
    return EndSessionReply(session=session, tasks=tasks, position=core.positions.show(position))


async def delete_session(core: Core, caller: Caller, profile: str, request: DeleteSessionRequest) -> DeleteSessionReply:
    """Forget every message of a session, with what was drawn from them alone, its tasks and its notes.

    The tombstone comes first: what it entails is done even if this process ends before.
    """
    session = _check(request.session, core.settings.limits)
    await _check_profile(core, profile)
    async with core.profiles.use(profile) as opened:
        await _check_session(core, caller, opened, session)
        ledger = _ledger(core, opened)
        messages = await core.in_thread(lambda: ledger.said_in(session, None, _ALL))
        tasks = await core.in_thread(lambda: ledger.tasks_of(session, None))
        entailed = await entailed_by(core, opened, messages, caller.reach.sees) if messages else Entailed()
        position = await core.events.log.last_position()
        if not request.preview:
            aggregate_id, said = opened.subject(Conversation.CATEGORY, session), bool(messages or tasks)
            await change(core, Conversation, aggregate_id, lambda one: one.delete(session, caller.context(), said=said))
            position = await follow_up(core, opened)
    gone = list(dict.fromkeys((*entailed.forgotten, *tasks)))
    return DeleteSessionReply(
        session=session,
        messages=len(messages),
        memories=gone[:_SHOWN],
        kept=[one for one in entailed.revised if one not in gone][:_SHOWN],
        position=core.positions.show(position),
        preview=request.preview,
    )


def _check(session: str, limits: Limits) -> str:
    return check_name(session, field="session", max_chars=limits.session_chars)


async def _check_profile(core: Core, profile: str) -> None:
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)


def _ledger(core: Core, profile: OpenProfile) -> Ledger:
    return core.profiles.current(profile).views.ledger


async def _check_session(core: Core, caller: Caller, profile: OpenProfile, session: str) -> None:
    """Raise NotFoundError for a session that is out of sight as for one that is not there; RefusedError for others'.

    One that has tasks and no messages belongs to the contacts of its tasks.
    """
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    core.check_running(profile)

    def owners() -> set[str]:
        ledger = _ledger(core, profile)
        known = ledger.conversation(session)
        if known is not None:
            return {known.contact}
        return {one.scope or "" for one in ledger.memories(ledger.tasks_of(session, None)).values()}

    found = await core.in_thread(owners)
    if not found or not all(map(caller.reach.hears, found)):
        raise NotFoundError("no such session", expected="a session with messages or tasks", found=repr(session))
    for contact in found:
        caller.reach.check_write(contact)


def with_lifetime(draft: MemoryRemembered, tasks: TaskPreferences, now: datetime) -> MemoryRemembered:
    """Return a task of a session with the time after which it is stale, where it has none of its own."""
    if draft.kind != "task" or not draft.session or draft.expires_at is not None or not tasks.ttl_days:
        return draft
    return msgspec.structs.replace(draft, expires_at=now.astimezone(UTC) + timedelta(days=tasks.ttl_days))

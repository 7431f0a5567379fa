"""The verbs of goals: set, progress, close, list."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from domain.errors import InvalidInputError, NotFoundError
from domain.events import GoalClosed, GoalProgressed, GoalSet
from domain.goal import Goal, goal_id
from domain.ids import check_profile
from domain.settings import Limits
from domain.text import check_name, check_text
from gateways.service.aggregates import change, ensure_profile
from gateways.service.context import Caller, Core
from gateways.service.fitting import how_many_fit
from gateways.service.lending import after_cursor, look, seen_by_all
from gateways.service.validate import check_limit, check_time
from projections.ledger import GoalEventRecord, GoalRecord
from umbriel import goals as wire

__all__ = ["close_goal", "list_goals", "progress_goal", "set_goal"]

_ID = re.compile(r"[a-z2-7]{26}\Z")
#: events shown of the goal that a command was about
_HISTORY = 20


async def set_goal(core: Core, caller: Caller, profile: str, request: wire.SetGoalRequest) -> wire.GoalReply:
    """Aim at something, or change what a goal says."""
    limits = core.settings.limits
    check_text(request.text, field="text", max_bytes=limits.goal_bytes)
    if request.name:
        check_name(request.name, field="name", max_chars=limits.key_chars)
    due = check_time(request.due, "due")
    _check_request(request.request_id, limits)
    event = GoalSet(
        goal=goal_id(request.text, request.name),
        text=request.text,
        name=request.name,
        due=due,
        request_id=request.request_id,
    )
    await ensure_profile(core, caller, profile)
    return await _change(core, profile, event.goal, lambda goal: goal.set(event, caller.context()))


async def progress_goal(core: Core, caller: Caller, profile: str, request: wire.ProgressGoalRequest) -> wire.GoalReply:
    """Note how far a goal is."""
    limits = core.settings.limits
    if not request.note and request.fraction is None:
        raise InvalidInputError("progress without anything", expected="a note, a fraction or both", found="neither")
    if request.note:
        check_text(request.note, field="note", max_bytes=limits.goal_bytes)
    if request.fraction is not None and not (math.isfinite(request.fraction) and 0 <= request.fraction <= 1):
        raise InvalidInputError("fraction is out of range", expected="0 to 1", found=str(request.fraction))
    _check_request(request.request_id, limits)
    goal = await _named(core, profile, request.goal)
    event = GoalProgressed(goal=goal, note=request.note, fraction=request.fraction, request_id=request.request_id)
    return await _change(core, profile, goal, lambda one: one.progress(event, caller.context()))


async def close_goal(core: Core, caller: Caller, profile: str, request: wire.CloseGoalRequest) -> wire.GoalReply:
    """End a goal."""
    limits = core.settings.limits
    if request.note:
        check_text(request.note, field="note", max_bytes=limits.goal_bytes)
    _check_request(request.request_id, limits)
    goal = await _named(core, profile, request.goal)
    event = GoalClosed(goal=goal, outcome=request.outcome, note=request.note, request_id=request.request_id)
    return await _change(core, profile, goal, lambda one: one.close(event, caller.context()))


async def _named(core: Core, profile: str, goal: str) -> str:
    check_profile(profile)
    named = _goal_of(goal, core.settings.limits)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    return named


def _goal_of(goal: str, limits: Limits) -> str:
    """Return the id of a goal that is named by it, or by its name."""
    check_name(goal, field="goal", max_chars=limits.key_chars)
    return goal if _ID.match(goal) else goal_id("", goal)


def _check_request(request_id: str, limits: Limits) -> None:
    if request_id:
        check_name(request_id, field="request_id", max_chars=limits.name_chars)


async def _change(core: Core, profile: str, goal: str, decide: Callable[[Goal], bool]) -> wire.GoalReply:
    aggregate_id = await core.events.subject_id(profile, Goal.CATEGORY, goal)
    changed, written = await change(core, Goal, aggregate_id, decide)
    position = await seen_by_all(core, written)
    found, _ = await look(
        core,
        profile,
        position,
        lambda ledger: ledger.goals(status="all", goal=goal, before=after_cursor(""), limit=1, events=_HISTORY),
    )
    if not found:
        raise NotFoundError("no such goal", expected="the id or the name of a goal", found=goal)
    return wire.GoalReply(goal=_shown(found[0], core), changed=changed, position=position)


async def list_goals(core: Core, profile: str, request: wire.GoalsRequest) -> wire.GoalsReply:
    """Return a page of goals, those set last first."""
    limits = core.settings.limits
    limit, before = check_limit(request.limit, limits.list_limit), after_cursor(request.cursor)
    if not 0 <= request.history <= limits.list_limit:
        raise InvalidInputError(
            "history is out of range", expected=f"0 to {limits.list_limit}", found=str(request.history)
        )
    goal = _goal_of(request.goal, limits) if request.goal else ""
    status = "all" if goal else request.status
    found, position = await look(
        core,
        profile,
        request.at_least,
        lambda ledger: ledger.goals(status=status, goal=goal, before=before, limit=limit + 1, events=request.history),
    )
    records = found or []
    shown = [_shown(one, core) for one in records[:limit]]
    count = how_many_fit(shown, limits.reply_bytes)
    cursor = str(records[count - 1].position) if count < len(records) else ""
    return wire.GoalsReply(goals=shown[:count], position=position, cursor=cursor)


def _shown(record: GoalRecord, core: Core) -> wire.GoalInfo:
    newest = [_event(one, core) for one in reversed(record.events)]
    # One goal must fit a reply: its newest events do.
    fit = newest[: how_many_fit(newest, core.settings.limits.reply_bytes // 2)]
    return wire.GoalInfo(
        id=record.id,
        text=record.text,
        state=record.state,
        set_at=record.set_at,
        changed_at=record.changed_at,
        name=record.name,
        due=record.due,
        fraction=record.fraction,
        author=record.author,
        author_type=record.author_type,
        history=fit[::-1],
        omitted=record.event_count - len(fit),
    )


def _event(record: GoalEventRecord, core: Core) -> wire.GoalEvent:
    return wire.GoalEvent(
        topic=record.topic,
        at=record.at,
        position=core.positions.show(record.position),
        text=record.text,
        fraction=record.fraction,
        outcome=record.outcome,
        author=record.author,
        author_type=record.author_type,
    )

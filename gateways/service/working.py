"""The verbs of the working and the reflective tier: turns, notes, tasks, reflections, goals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gateways.service.context import Caller, Core
from gateways.service.goals import close_goal, list_goals, progress_goal, set_goal
from gateways.service.grants import Needs, contact_named
from gateways.service.notes import clear_task, get_notes, get_task, set_notes, set_task
from gateways.service.reflecting import list_reflections, reflect
from gateways.service.turns import resume_turn, save_turn
from umbriel import goals, notes, turns

__all__ = ["WORKING", "WorkingVerb"]

Run = Callable[[Core, Caller, str, Any], Awaitable[msgspec.Struct]]


class WorkingVerb(msgspec.Struct, frozen=True):
    """A verb that needs nothing but the core: what it takes, what it answers, who does it, and what that needs."""

    name: str
    request: type[msgspec.Struct]
    reply: type[msgspec.Struct]
    run: Run
    needs: Needs


async def _get_notes(core: Core, caller: Caller, profile: str, request: notes.NotesRequest) -> msgspec.Struct:
    return await get_notes(core, caller.reach, profile, request)


async def _get_task(core: Core, caller: Caller, profile: str, request: notes.NotesRequest) -> msgspec.Struct:
    return await get_task(core, caller.reach, profile, request)


async def _list_reflections(core: Core, _: Caller, profile: str, request: goals.ReflectionsRequest) -> msgspec.Struct:
    return await list_reflections(core, profile, request)


async def _list_goals(core: Core, _: Caller, profile: str, request: goals.GoalsRequest) -> msgspec.Struct:
    return await list_goals(core, profile, request)


#: Of a session: whose it is decides, where the verb looks it up.
_READ = Needs("read", lambda _: ())
_WRITE = Needs("write", contact_named)
_CLEAR = Needs("write", lambda _: ())
#: What the profile thinks and aims at is about everybody it knows.
_ALL_READ, _ALL_WRITE = Needs("read"), Needs("write")

#: The verbs in the order of the operations table.
WORKING: tuple[WorkingVerb, ...] = (
    WorkingVerb("set_context", notes.SetNotesRequest, notes.NotesReply, set_notes, _WRITE),
    WorkingVerb("get_context", notes.NotesRequest, notes.NotesReply, _get_notes, _READ),
    WorkingVerb("set_task", notes.SetTaskRequest, notes.TaskReply, set_task, _WRITE),
    WorkingVerb("get_task", notes.NotesRequest, notes.TaskReply, _get_task, _READ),
    WorkingVerb("clear_task", notes.ClearTaskRequest, notes.TaskReply, clear_task, _CLEAR),
    WorkingVerb("save_turn", turns.SaveTurnRequest, turns.SaveTurnReply, save_turn, _WRITE),
    WorkingVerb("resume_turn", turns.ResumeTurnRequest, turns.ResumeTurnReply, resume_turn, _WRITE),
    WorkingVerb("reflect", goals.ReflectRequest, goals.ReflectReply, reflect, _ALL_WRITE),
    WorkingVerb("list_reflections", goals.ReflectionsRequest, goals.ReflectionsReply, _list_reflections, _ALL_READ),
    WorkingVerb("set_goal", goals.SetGoalRequest, goals.GoalReply, set_goal, _ALL_WRITE),
    WorkingVerb("progress_goal", goals.ProgressGoalRequest, goals.GoalReply, progress_goal, _ALL_WRITE),
    WorkingVerb("close_goal", goals.CloseGoalRequest, goals.GoalReply, close_goal, _ALL_WRITE),
    WorkingVerb("list_goals", goals.GoalsRequest, goals.GoalsReply, _list_goals, _ALL_READ),
)

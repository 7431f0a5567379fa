"""The verbs of reflections and goals; a part of the client."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from umbriel import goals as wire
from umbriel._transport import Transport

__all__ = ["GoalVerbs"]

_READ = 30.0
_WRITE = 60.0


class GoalVerbs:
    """What the profile thinks about itself and aims at, whoever it speaks with.

    A repeated request is carried out once: a ``request_id`` is made up when none is given.
    """

    _transport: Transport
    _profile: str

    async def reflect(
        self,
        topic: str,
        text: str,
        *,
        learnings: Iterable[str] = (),
        wait: bool = False,
        request_id: str = "",
        timeout: float = _WRITE,
    ) -> wire.ReflectReply:
        """Record a reflection and remember what was learnt, agent-wide, under ``reflection:{date}:{topic}``.

        Each of ``learnings`` becomes a memory of its own (``…:2`` is the second of the day), or the text where there
        are none. What is known already is not written again; what a person rejected stays out.
        """
        request = wire.ReflectRequest(
            topic=topic,
            text=text,
            learnings=list(learnings),
            wait=wait,
            request_id=request_id or uuid.uuid4().hex,
        )
        return await self._transport.call(self._profile, "reflect", request, wire.ReflectReply, timeout=timeout)

    async def list_reflections(
        self,
        *,
        topic: str = "",
        day: str = "",
        cursor: str = "",
        limit: int = 50,
        at_least: str = "",
        timeout: float = _READ,
    ) -> wire.ReflectionsReply:
        """Return a page of reflections, newest first: on a topic, of a UTC day, or all."""
        request = wire.ReflectionsRequest(topic=topic, day=day, cursor=cursor, limit=limit, at_least=at_least)
        return await self._transport.call(
            self._profile, "list_reflections", request, wire.ReflectionsReply, timeout=timeout
        )

    async def set_goal(
        self,
        text: str,
        *,
        name: str = "",
        due: datetime | None = None,
        request_id: str = "",
        timeout: float = _WRITE,
    ) -> wire.GoalReply:
        """Aim at something; under the same ``name`` other words change the goal, and a closed one is open again."""
        request = wire.SetGoalRequest(text=text, name=name, due=due, request_id=request_id or uuid.uuid4().hex)
        return await self._transport.call(self._profile, "set_goal", request, wire.GoalReply, timeout=timeout)

    async def progress_goal(
        self,
        goal: str,
        note: str = "",
        *,
        fraction: float | None = None,
        request_id: str = "",
        timeout: float = _WRITE,
    ) -> wire.GoalReply:
        """Say how far a goal (its id or name) is: in words, as a fraction in [0, 1], or both."""
        request = wire.ProgressGoalRequest(
            goal=goal, note=note, fraction=fraction, request_id=request_id or uuid.uuid4().hex
        )
        return await self._transport.call(self._profile, "progress_goal", request, wire.GoalReply, timeout=timeout)

    async def close_goal(
        self,
        goal: str,
        outcome: Literal["achieved", "dropped", "failed"] = "achieved",
        *,
        note: str = "",
        request_id: str = "",
        timeout: float = _WRITE,
    ) -> wire.GoalReply:
        """End a goal (its id or name) with an outcome."""
        request = wire.CloseGoalRequest(
            goal=goal, outcome=outcome, note=note, request_id=request_id or uuid.uuid4().hex
        )
        return await self._transport.call(self._profile, "close_goal", request, wire.GoalReply, timeout=timeout)

    async def list_goals(
        self,
        *,
        status: Literal["open", "closed", "achieved", "dropped", "failed", "all"] = "open",
        goal: str = "",
        history: int = 20,
        cursor: str = "",
        limit: int = 50,
        at_least: str = "",
        timeout: float = _READ,
    ) -> wire.GoalsReply:
        """Return a page of goals, newest first, each with its newest ``history`` events."""
        request = wire.GoalsRequest(
            status=status, goal=goal, history=history, cursor=cursor, limit=limit, at_least=at_least
        )
        return await self._transport.call(self._profile, "list_goals", request, wire.GoalsReply, timeout=timeout)

"""The verbs of a conversation's working notes and task; a part of the client."""

from __future__ import annotations

import uuid
from typing import Literal

from umbriel import notes as wire
from umbriel._transport import Transport

__all__ = ["NoteVerbs"]

_READ = 30.0
_WRITE = 60.0


class NoteVerbs:
    """What a conversation keeps for its next turn; neither is a memory, and neither is ever recalled.

    A repeated request is carried out once: a ``request_id`` is made up when none is given.
    """

    _transport: Transport
    _profile: str

    async def set_context(
        self,
        session: str,
        notes: str = "",
        *,
        mode: Literal["replace", "append", "clear"] = "replace",
        contact: str = "",
        request_id: str = "",
        timeout: float = _WRITE,
    ) -> wire.NotesReply:
        """Replace, add to or clear the working notes of a session; the reply holds them as they are now.

        ``contact`` attaches the session to a contact, which a grant for some contacts needs for a new session.
        """
        request = wire.SetNotesRequest(
            session=session, notes=notes, mode=mode, contact=contact, request_id=request_id or uuid.uuid4().hex
        )
        return await self._transport.call(self._profile, "set_context", request, wire.NotesReply, timeout=timeout)

    async def get_context(self, session: str, *, at_least: str = "", timeout: float = _READ) -> wire.NotesReply:
        """Return the working notes of a session, empty for none."""
        request = wire.NotesRequest(session=session, at_least=at_least)
        return await self._transport.call(self._profile, "get_context", request, wire.NotesReply, timeout=timeout)

    async def set_task(
        self, session: str, task: str, *, contact: str = "", request_id: str = "", timeout: float = _WRITE
    ) -> wire.TaskReply:
        """Say what a session works at from now on."""
        request = wire.SetTaskRequest(
            session=session, task=task, contact=contact, request_id=request_id or uuid.uuid4().hex
        )
        return await self._transport.call(self._profile, "set_task", request, wire.TaskReply, timeout=timeout)

    async def get_task(self, session: str, *, at_least: str = "", timeout: float = _READ) -> wire.TaskReply:
        """Return what a session works at, empty for nothing."""
        request = wire.NotesRequest(session=session, at_least=at_least)
        return await self._transport.call(self._profile, "get_task", request, wire.TaskReply, timeout=timeout)

    async def clear_task(self, session: str, *, request_id: str = "", timeout: float = _WRITE) -> wire.TaskReply:
        """Be done with what a session works at."""
        request = wire.ClearTaskRequest(session=session, request_id=request_id or uuid.uuid4().hex)
        return await self._transport.call(self._profile, "clear_task", request, wire.TaskReply, timeout=timeout)

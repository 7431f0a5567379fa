"""The verbs of a turn that is under way; a part of the client."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

import msgspec

from umbriel import turns as wire
from umbriel._transport import Transport

__all__ = ["TurnVerbs"]

_WRITE = 60.0
#: rows, and characters of a call and of what it returned, that are sent at most: one request holds them
_ROWS, _ARGUMENTS, _RESULT = 40, 1_000, 3_000


class TurnVerbs:
    """Keeps what a turn's tools returned, and hands it to whoever takes the turn over."""

    _transport: Transport
    _profile: str

    async def save_turn(
        self,
        session: str,
        turn_id: str,
        rows: Iterable[wire.ToolRow],
        *,
        sessions: Mapping[str, str] | None = None,
        contact: str = "",
        timeout: float = _WRITE,
    ) -> wire.SaveTurnReply:
        """Keep the turn's tool calls so far, after every round: the newest 40, of each result 3,000 characters.

        What was kept of the turn before is replaced. It ends when the assistant's message with this ``turn_id`` is
        ingested, and expires after a day. ``contact`` is needed where the caller's grant is for some contacts and
        nothing was recorded in the session yet.
        """
        given = list(rows)
        request = wire.SaveTurnRequest(
            session=session,
            turn_id=turn_id,
            rows=[_cut(row) for row in given[-_ROWS:]],
            sessions=dict(sessions or {}),
            contact=contact,
            omitted_rows=max(len(given) - _ROWS, 0),
        )
        return await self._transport.call(self._profile, "save_turn", request, wire.SaveTurnReply, timeout=timeout)

    async def resume_turn(
        self, session: str, *, contact: str = "", request_id: str = "", timeout: float = _WRITE
    ) -> wire.ResumeTurnReply:
        """Take over what a turn of the session left that was not touched for 45 seconds; nobody else gets it.

        The reply's ``note`` goes in front of the model's input. Its ``turn_id`` is empty where there is nothing: no
        such turn, one whose answer is recorded, or one that somebody else took.
        """
        request = wire.ResumeTurnRequest(session=session, contact=contact, request_id=request_id or uuid.uuid4().hex)
        return await self._transport.call(self._profile, "resume_turn", request, wire.ResumeTurnReply, timeout=timeout)


def _cut(row: wire.ToolRow) -> wire.ToolRow:
    """Return the row as it can be sent; what a tool returned may be anything, and of any length."""
    result = row.result
    over = max(len(result) - _RESULT, 0) if result else 0
    over += max(len(row.arguments) - _ARGUMENTS, 0)
    return msgspec.structs.replace(
        row,
        arguments=_text(row.arguments[:_ARGUMENTS]),
        result=None if result is None else _text(result[:_RESULT]),
        omitted=row.omitted + over,
    )


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode()

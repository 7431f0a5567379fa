"""Wire types of a turn that is under way: what its tools returned, kept and handed on."""

from __future__ import annotations

from datetime import datetime

import msgspec

from umbriel._wire import Reply, Request

__all__ = ["ResumeTurnReply", "ResumeTurnRequest", "SaveTurnReply", "SaveTurnRequest", "ToolRow"]


class ToolRow(Request, frozen=True):
    """One tool call: what it was called with and, once it returned, what it returned.

    ``omitted`` counts characters of both that are cut.
    """

    tool: str
    id: str = ""
    arguments: str = ""
    result: str | None = None
    omitted: int = 0


class SaveTurnRequest(Request, frozen=True):
    """Everything the turn has done so far, in place of what was kept of it before.

    ``sessions`` names what is open elsewhere (``{"browser": "b-17"}``); ``contact`` is whose a session is that nothing
    was recorded in yet; ``omitted_rows`` counts rows that were left out already.
    """

    session: str
    turn_id: str
    rows: list[ToolRow] = msgspec.field(default_factory=list)
    sessions: dict[str, str] = msgspec.field(default_factory=dict)
    contact: str = ""
    omitted_rows: int = 0


class SaveTurnReply(Reply, frozen=True):
    """How many rows are kept until ``expires_at``, how many older ones are not, and how many characters were cut."""

    turn_id: str
    rows: int
    expires_at: datetime
    omitted_rows: int = 0
    omitted_chars: int = 0


class ResumeTurnRequest(Request, frozen=True):
    """Take over what a turn of this session left, if one stopped; a repeated ``request_id`` is answered alike."""

    session: str
    contact: str = ""
    request_id: str = ""


class ResumeTurnReply(Reply, frozen=True):
    """What is handed over, to this caller alone; an empty ``turn_id`` is nothing.

    ``rows`` returned, ``unfinished`` did not; ``note`` says so in front of the model's input, fenced. ``others`` counts
    turns of the session that stopped earlier.
    """

    turn_id: str = ""
    rows: list[ToolRow] = msgspec.field(default_factory=list)
    unfinished: list[ToolRow] = msgspec.field(default_factory=list)
    sessions: dict[str, str] = msgspec.field(default_factory=dict)
    note: str = ""
    touched_at: datetime | None = None
    omitted_rows: int = 0
    others: int = 0

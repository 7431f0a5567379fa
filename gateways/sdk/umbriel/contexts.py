"""The wire types of the context: everything a model is to see of a conversation in one turn."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request

__all__ = ["ChatMessage", "ContextFormat", "ContextPart", "ContextReply", "ContextRequest", "PartKind"]

ContextFormat = Literal["parts", "openai", "anthropic"]
PartKind = Literal["head", "summary", "overlay", "tail", "notes", "task", "resumed", "memories"]


class ContextRequest(Request, frozen=True):
    """What a model is to see of a session within ``budget`` tokens, by our estimate.

    ``query`` is what is recalled for; empty, the last thing the user said. ``contact`` is whose memories are recalled
    in a session that is not attached to one. With ``resume`` a turn that stopped is taken over (see `resume_turn`).
    """

    session: str
    query: str = ""
    budget: int = 8_000
    format: ContextFormat = "parts"
    contact: str = ""
    limit: int = 20
    resume: bool = False
    request_id: str = ""
    reference_date: datetime | None = None
    at_least: str = ""


class ContextPart(Reply, frozen=True):
    """One piece, with its tokens; ``ids`` are the messages or memories in it, ``cut`` says that not all is there.

    Messages of head and tail are as they were said; everything else is fenced as data.
    """

    kind: PartKind
    text: str
    tokens: int
    role: str = ""
    name: str = ""
    ids: list[str] = []
    cut: bool = False
    at: datetime | None = None


class ChatMessage(Reply, frozen=True):
    """One message of a model's input."""

    role: str
    content: str


class ContextReply(Reply, frozen=True):
    """Parts in the order a model is to see them, what stays the same from turn to turn first.

    ``messages`` are the parts in the shape that was asked for. ``tokens`` are those of each kind of part, ``total`` is
    never above ``budget``. ``covering`` says that a summary is being made of what there was no room for.
    """

    parts: list[ContextPart]
    messages: list[ChatMessage]
    tokens: dict[str, int]
    total: int
    budget: int
    position: str
    turn_id: str = ""
    covering: bool = False

"""A long story cut to what one reply carries: every cut is marked, none is an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from umbriel.types import HistoryEvent, Memory, SourceLine, WhyReply

__all__ = ["fitted", "how_many_fit"]

#: characters that a text keeps, tried one after the other; what was said is cut before what was drawn from it
_KEPT = (16_384, 4_096, 1_024, 256, 64)


def how_many_fit(entries: Sequence[msgspec.Struct], limit: int) -> int:
    """Return how many of the entries one reply of ``limit`` bytes carries, at least one."""
    size = 0
    for count, entry in enumerate(entries):
        size += len(msgspec.json.encode(entry)) + 1
        if size > limit:
            return max(count, 1)
    return len(entries)


def fitted(reply: WhyReply, limit: int) -> WhyReply:
    """Return the reply with as little left out as makes it at most ``limit`` bytes of JSON.

    Texts end in a mark with the characters left out; where that is not enough the oldest versions, events and
    sources go, and ``omitted`` counts them.
    """
    whole = reply
    for kept in _KEPT:
        if _size(reply) <= limit:
            return reply
        # From the whole texts every time, so that each mark tells how long a text was.
        reply = msgspec.structs.replace(reply, sources=[_source(one, kept) for one in whole.sources])
        if _size(reply) <= limit:
            return reply
        reply = msgspec.structs.replace(
            reply,
            versions=[_version(one, kept) for one in whole.versions],
            events=[_event(one, kept) for one in whole.events],
        )
    return _latest(reply, limit)


def _latest(reply: WhyReply, limit: int) -> WhyReply:
    total = len(reply.versions) + len(reply.events) + len(reply.sources)
    while _size(reply) > limit and (reply.versions or reply.events or reply.sources):
        reply = msgspec.structs.replace(
            reply, versions=_later(reply.versions), events=_later(reply.events), sources=_later(reply.sources)
        )
        left = len(reply.versions) + len(reply.events) + len(reply.sources)
        reply = msgspec.structs.replace(reply, omitted=total - left)
    return reply


def _later(items: Sequence[Any]) -> list[Any]:
    return list(items[(len(items) + 1) // 2 :])


def _size(reply: WhyReply) -> int:
    return len(msgspec.json.encode(reply))


def _source(line: SourceLine, kept: int) -> SourceLine:
    return msgspec.structs.replace(line, text=_cut(line.text, kept))


def _version(version: Memory, kept: int) -> Memory:
    metadata = version.metadata if len(msgspec.json.encode(version.metadata)) <= kept else {"cut": True}
    return msgspec.structs.replace(version, text=_cut(version.text, kept), metadata=metadata)


def _event(event: HistoryEvent, kept: int) -> HistoryEvent:
    return msgspec.structs.replace(event, detail={name: _detail(one, kept) for name, one in event.detail.items()})


def _detail(value: Any, kept: int) -> Any:
    if isinstance(value, str):
        return _cut(value, kept)
    if isinstance(value, list | dict) and len(msgspec.json.encode(value)) > kept:
        return f"[cut: {len(value)} entries]"
    return value


#: the end of a text that was cut
_MARK = " … [cut, {full} characters]"


def _cut(text: str, kept: int) -> str:
    """Return the beginning of a text with a mark of how long it was."""
    return text if len(text) <= kept else text[:kept] + _MARK.format(full=len(text))

"""The moments of a coding agent's session, and what is done at each.

What is printed goes into the model's context as it stands, so all of it is fenced as data. A moment that keeps
something prints nothing. What is listed at the start of a session counts as no access.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from domain.fence import fence
from domain.tokens import estimated_tokens
from gateways.hooks.payload import Payload
from gateways.hooks.transcript import read_transcript
from gateways.importers.conversation import split_long
from gateways.provenance import fenced
from umbriel import InvalidInputError, Message, NotFoundError, Umbriel

__all__ = ["MOMENTS", "run"]

_CHANNEL = "coding-agent"
_QUERY_BYTES = 1_024
_RECALLED = 8
_RECALL_TOKENS = 900
_START_TOKENS = 1_500
_LISTED = 30
_GOALS = 10
#: after each answer only the end of a long transcript is sent; before it is cut, all of it
_TAIL = 60


async def session_start(client: Umbriel, payload: Payload) -> str:
    """Return standing instructions, open goals and the newest memories; after a resumption what was said before."""
    lines = [f"[instruction] {one.text}" for one in (await client.list(kind="instruction", limit=_LISTED)).entries]
    try:
        goals = (await client.list_goals(limit=_GOALS)).goals
    except NotFoundError:
        goals = []
    lines += [f"[goal] {one.text}" for one in goals]
    newest = (await client.list(limit=_LISTED)).entries
    lines += [f"[{one.kind} · {one.recorded_at.date()}] {one.text}" for one in newest if one.kind != "instruction"]
    blocks = [_within(lines, _START_TOKENS)]
    if payload.source in ("resume", "compact") and payload.session_id:
        with suppress(NotFoundError):  # where nothing of it was kept
            blocks.append(fence([(await client.summary(payload.session_id)).markdown]))
    return "\n".join(filter(None, blocks))


async def prompt(client: Umbriel, payload: Payload) -> str:
    """Return what is known about a prompt, but for what was said in this very session."""
    if not payload.prompt.strip():
        return ""
    query = payload.prompt.encode(errors="replace")[:_QUERY_BYTES].decode(errors="ignore")
    reply = await client.recall(query, limit=2 * _RECALLED, token_budget=_RECALL_TOKENS)
    results = [one for one in reply.results if one.kind != "message" or one.session != payload.session_id]
    shown = [*reply.suppressions, *results[:_RECALLED]]
    return fenced(shown, before=reply.facts) if shown else ""


async def stop(client: Umbriel, payload: Payload) -> str:
    """Keep the end of the conversation; what is kept already changes nothing."""
    await _keep(client, payload, _said(payload)[-_TAIL:])
    return ""


async def pre_compact(client: Umbriel, payload: Payload) -> str:
    """Keep the whole conversation before the agent cuts it."""
    await _keep(client, payload, _said(payload))
    return ""


def _said(payload: Payload) -> list[Message]:
    if payload.messages:
        return [Message(role=one.role, content=one.content, id=one.id, at=one.at) for one in payload.messages]
    return read_transcript(Path(payload.transcript_path).expanduser()) if payload.transcript_path else []


async def _keep(client: Umbriel, payload: Payload, said: Iterable[Message]) -> None:
    messages = list(split_long(said))
    if messages:
        await client.ingest(messages, session=payload.session_id, channel=_CHANNEL)


def _within(lines: Iterable[str], tokens: int) -> str:
    """Return as many of the lines, from the first, as fit so many tokens inside a fence."""
    kept: list[str] = []
    for line in lines:
        if estimated_tokens(fence([*kept, line])) > tokens:
            break
        kept.append(line)
    return fence(kept) if kept else ""


MOMENTS: Mapping[str, Callable[[Umbriel, Payload], Awaitable[str]]] = {
    "session-start": session_start,
    "prompt": prompt,
    "stop": stop,
    "pre-compact": pre_compact,
    "session-end": pre_compact,
}


async def run(moment: str, client: Umbriel, payload: Payload) -> str:
    """Do what a moment asks for and return what the model is to read; InvalidInputError for an unknown moment."""
    try:
        do = MOMENTS[moment]
    except KeyError:
        raise InvalidInputError("no such moment", expected=", ".join(MOMENTS), found=repr(moment[:40])) from None
    if payload.agent_id:
        return ""  # a subagent's own conversation is not the user's
    return await do(client, payload)

"""``umbriel ingest``: a file of conversations, each recorded once however often it is sent."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.progress import Progress

from gateways.cli import output
from gateways.cli.session import DEFAULT_PROFILE, Session, verb
from gateways.importers import Conversation, read_conversations
from umbriel import InvalidInputError, Umbriel, sequence_of

__all__ = ["IngestSummary", "ProfileSummary", "Source", "by_profile", "ingest"]

#: Profiles written at the same time; the conversations of one profile go in the file's order.
_AT_ONCE = 4
_POLL_SECONDS = 0.25
#: Seconds without any advance after which waiting for the views ends.
_PATIENCE = 60.0

Advance = Callable[[int], None]


class ProfileSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the messages of one profile; ``position`` is the last one of theirs."""

    profile: str
    conversations: int
    recorded: int
    duplicate: int
    blocked: int
    position: str


class IngestSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file; ``skipped`` messages had no text. ``complete``: every channel finds it all."""

    recorded: int
    duplicate: int
    blocked: int
    skipped: int
    complete: bool
    profiles: list[ProfileSummary]


class Source(msgspec.Struct, frozen=True):
    """A file that was read and checked whole, before any service is asked."""

    conversations: list[Conversation]


def _source(path: str) -> Source:
    return Source(read_conversations(Path(path)))


@verb
async def ingest(
    session: Session,
    file: Annotated[
        Source, typer.Argument(parser=_source, metavar="FILE", help="LoCoMo, chat-message JSON, or JSON Lines.")
    ],
    name: Annotated[str, typer.Option("--session", help="Session of a conversation that names none.")] = "",
    contact: Annotated[str, typer.Option("--contact", help="Contact of conversations that name none.")] = "",
    channel: Annotated[str, typer.Option("--channel", help="Where the conversations took place.")] = "",
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Return only when every channel finds what was recorded.")
    ] = True,
) -> None:
    """Record the conversations of a file; a second time records nothing.

    One profile for each conversation's own name in the file, unless --profile is given.
    """
    found = _named(file.conversations, name, contact)
    with output.progress(shown=not session.json) as bar:
        task = bar.add_task("recording", total=sum(len(one.messages) for one in found))
        sent = await _send_all(
            session.client, by_profile(found, session.profile), channel, lambda done: bar.advance(task, done)
        )
        complete = not wait or await _wait_all(session.client, sent, bar)
    summary = IngestSummary(
        recorded=sum(one.recorded for one in sent),
        duplicate=sum(one.duplicate for one in sent),
        blocked=sum(one.blocked for one in sent),
        skipped=sum(one.skipped for one in found),
        complete=wait and complete,
        profiles=sent,
    )
    session.show(summary, lambda: _show(summary))


def _named(found: Sequence[Conversation], session: str, contact: str) -> list[Conversation]:
    nameless = sum(not one.session for one in found)
    if session and nameless != 1:
        raise InvalidInputError(
            "--session names one conversation", expected="a file with one that has no session", found=str(nameless)
        )
    return [
        msgspec.structs.replace(one, session=one.session or session, contact=one.contact or contact) for one in found
    ]


def by_profile(found: Sequence[Conversation], given: str | None) -> dict[str, list[Conversation]]:
    """Return the conversations by profile: the one given, else the file's own name for each.

    Where several named groups go into one profile, their sessions are told apart by those names.
    """
    apart = given is not None and len({one.profile_hint for one in found}) > 1
    profiles: dict[str, list[Conversation]] = {}
    for one in found:
        session = f"{one.profile_hint}/{one.session}" if apart and one.profile_hint and one.session else one.session
        profile = given or one.profile_hint or DEFAULT_PROFILE
        profiles.setdefault(profile, []).append(msgspec.structs.replace(one, session=session))
    return profiles


async def _send_all(
    client: Umbriel, profiles: dict[str, list[Conversation]], channel: str, advance: Advance
) -> list[ProfileSummary]:
    # Every name is checked before the first message is sent.
    clients = {profile: client.for_profile(profile) for profile in profiles}
    gate = asyncio.Semaphore(_AT_ONCE)

    async def send(profile: str) -> ProfileSummary:
        async with gate:
            return await _send(clients[profile], profiles[profile], channel, advance)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(send(profile)) for profile in profiles]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return [task.result() for task in tasks]


async def _send(
    client: Umbriel, conversations: Sequence[Conversation], channel: str, advance: Advance
) -> ProfileSummary:
    outcomes: Counter[str] = Counter()
    position = ""
    for one in conversations:
        reply = await client.ingest(one.messages, session=one.session, contact=one.contact, channel=channel)
        outcomes.update(outcome.outcome for outcome in reply.outcomes)
        position = max(position, reply.position, key=sequence_of)
        advance(len(one.messages))
    return ProfileSummary(
        profile=client.profile,
        conversations=len(conversations),
        recorded=outcomes["recorded"],
        duplicate=outcomes["duplicate"],
        blocked=outcomes["blocked"],
        position=position,
    )


async def _wait_all(client: Umbriel, sent: Sequence[ProfileSummary], bar: Progress) -> bool:
    """Wait until the views hold what was recorded; False when they stopped advancing before."""
    task = bar.add_task("indexing", total=sum(one.recorded for one in sent))
    for one in sent:
        if one.recorded and not await _wait(client.for_profile(one.profile), one.position):
            return False
        bar.advance(task, one.recorded)
    return True


async def _wait(client: Umbriel, position: str) -> bool:
    wanted, last, since = sequence_of(position), (-1, -1), time.monotonic()
    while True:
        status = await client.status()
        if sequence_of(status.complete) >= wanted:
            return True
        now = (sequence_of(status.applied), -status.pending)
        if now > last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > _PATIENCE:
            return False
        await asyncio.sleep(_POLL_SECONDS)


def _show(summary: IngestSummary) -> None:
    rows = [
        (one.profile, one.conversations, one.recorded, one.duplicate, one.blocked, one.position)
        for one in summary.profiles
    ]
    output.table("Ingested", ("profile", "conversations", "recorded", "duplicate", "blocked", "position"), rows)
    parts = [f"{summary.recorded} recorded, {summary.duplicate} duplicate, {summary.blocked} blocked"]
    if summary.skipped:
        parts.append(f"{summary.skipped} without text skipped")
    if summary.recorded and not summary.complete:
        parts.append("still being indexed; keyword recall finds them first")
    output.say("; ".join(parts) + ".")

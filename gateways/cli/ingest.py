"""``umbriel ingest``: a file of conversations, each recorded once however often it is sent."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.progress import Progress

from gateways.cli import output
from gateways.cli.session import DEFAULT_PROFILE, Session, verb_after
from gateways.importers import ORDERS, WHATSAPP, Conversation, Hints, Imported, read_export
from umbriel import InvalidInputError, Umbriel, sequence_of

__all__ = ["IngestSummary", "ProfileSummary", "by_profile", "ingest"]

#: Profiles written at the same time; the conversations of one profile go in the file's order.
_AT_ONCE = 4
_POLL_SECONDS = 0.25
#: Seconds without any advance after which waiting for the views ends.
_PATIENCE = 60.0

_NOTHING = Conversation(messages=[])

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
    """What a file was recognised as and what became of it.

    ``skipped`` messages said nothing that is kept, ``reasons`` says why; ``left_out`` parts of messages are no text.
    ``complete``: every channel finds it all.
    """

    recognised: str
    recorded: int
    duplicate: int
    blocked: int
    skipped: int
    reasons: dict[str, int]
    left_out: dict[str, int]
    complete: bool
    profiles: list[ProfileSummary]


def _read(
    file: Annotated[
        Path,
        typer.Argument(
            help="An export of ChatGPT, Claude, Slack (a folder or zip), Telegram or WhatsApp (_chat.txt); "
            "chat-message JSON or JSON Lines; LoCoMo, LongMemEval, BEAM."
        ),
    ],
    name: Annotated[
        str, typer.Option("--session", help="Session of a conversation without one, or the name of a WhatsApp chat.")
    ] = "",
    contact: Annotated[str, typer.Option("--contact", help="Contact of conversations that name none.")] = "",
    channel: Annotated[str, typer.Option("--channel", help="Where the conversations took place.")] = "",
    me: Annotated[
        str, typer.Option("--me", metavar="NAME", help="Which person of a chat is the user; give the same each time.")
    ] = "",
    date_order: Annotated[
        str, typer.Option("--date-order", metavar="|".join(ORDERS), help="How a WhatsApp chat writes its dates.")
    ] = "",
    skip_broken: Annotated[
        bool,
        typer.Option(
            "--skip-broken", help="Leave out broken conversations of ChatGPT, Claude and Telegram, and name them."
        ),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Return only when every channel finds what was recorded.")
    ] = True,
) -> dict[str, object]:
    """Read the file and check it whole, before any service is asked."""
    if date_order not in ("", *ORDERS):
        raise InvalidInputError("no order of dates", expected=" or ".join(ORDERS), found=ascii(date_order)[:40])
    with output.progress() as bar:
        bar.add_task("reading", total=None)
        found = read_export(file, Hints(me=me, date_order=date_order, chat=name, skip_broken=skip_broken))
    if name and found.nameless != 1 and found.shape != WHATSAPP:
        raise InvalidInputError(
            "--session names one conversation",
            expected="a file with one that has no session",
            found=str(found.nameless),
        )
    defaults = Conversation(messages=[], session=name, contact=contact, channel=channel)
    return {"found": found, "defaults": defaults, "wait": wait}


@verb_after(_read)
async def ingest(session: Session, *, found: Imported, defaults: Conversation, wait: bool) -> None:
    """Record the conversations of a file; a second time, or a longer export of them, records only what is new.

    One profile for each conversation's own name in the file, unless --profile is given. A chat among people has a
    session for each of its days, and everybody in it is a user by name; --me makes one person the user.
    """
    profiles = by_profile(found, session.profile, defaults)
    with output.progress(shown=not session.json) as bar:
        task = bar.add_task("recording", total=found.messages)
        sent = await _send_all(session.client, profiles, lambda done: bar.advance(task, done))
        complete = not wait or await _wait_all(session.client, sent, bar)
    summary = IngestSummary(
        recognised=found.shape,
        recorded=sum(one.recorded for one in sent),
        duplicate=sum(one.duplicate for one in sent),
        blocked=sum(one.blocked for one in sent),
        skipped=sum(found.skipped.values()),
        reasons=found.skipped,
        left_out=found.left_out,
        complete=wait and complete,
        profiles=sent,
    )
    session.show(summary, lambda: _show(summary))


def by_profile(
    found: Imported, given: str | None, defaults: Conversation = _NOTHING
) -> dict[str, Iterable[Conversation]]:
    """Return the conversations by profile: the one given, else the file's own name for each.

    Where several named groups go into one profile, their sessions are told apart by those names. What goes into one
    profile is read as it is asked for, and not before.
    """
    apart = given is not None and len(found.hints) > 1
    completed = (_completed(one, defaults, apart=apart) for one in found)
    if given or len(found.hints) == 1:
        return {given or next(iter(found.hints)) or DEFAULT_PROFILE: completed}
    profiles: dict[str, list[Conversation]] = {}
    for one in completed:
        profiles.setdefault(one.profile_hint or DEFAULT_PROFILE, []).append(one)
    return {**profiles}


def _completed(one: Conversation, defaults: Conversation, *, apart: bool) -> Conversation:
    session = one.session or defaults.session
    return msgspec.structs.replace(
        one,
        session=f"{one.profile_hint}/{session}" if apart and one.profile_hint and session else session,
        contact=one.contact or defaults.contact,
        channel=defaults.channel or one.channel,
    )


async def _send_all(
    client: Umbriel, profiles: dict[str, Iterable[Conversation]], advance: Advance
) -> list[ProfileSummary]:
    # Every name is checked before the first message is sent.
    clients = {profile: client.for_profile(profile) for profile in profiles}
    gate = asyncio.Semaphore(_AT_ONCE)

    async def send(profile: str) -> ProfileSummary:
        async with gate:
            return await _send(clients[profile], profiles[profile], advance)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(send(profile)) for profile in profiles]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return [task.result() for task in tasks]


async def _send(client: Umbriel, conversations: Iterable[Conversation], advance: Advance) -> ProfileSummary:
    outcomes: Counter[str] = Counter()
    position, number = "", 0
    for one in conversations:
        reply = await client.ingest(one.messages, session=one.session, contact=one.contact, channel=one.channel)
        number += 1
        outcomes.update(outcome.outcome for outcome in reply.outcomes)
        position = max(position, reply.position, key=sequence_of)
        advance(len(one.messages))
    return ProfileSummary(
        profile=client.profile,
        conversations=number,
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
    output.table(
        f"Ingested: {summary.recognised}",
        ("profile", "conversations", "recorded", "duplicate", "blocked", "position"),
        rows,
    )
    parts = [f"{summary.recorded} recorded, {summary.duplicate} duplicate, {summary.blocked} blocked"]
    if summary.skipped:
        parts.append(f"{summary.skipped} skipped ({_counts(summary.reasons)})")
    if summary.left_out:
        parts.append(f"parts that are no text left out ({_counts(summary.left_out)})")
    if summary.recorded and not summary.complete:
        parts.append("still being indexed; keyword recall finds them first")
    output.say("; ".join(parts) + ".")


def _counts(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in reasons.items())

"""Commands that look after a profile: status, retry, settings, contacts, link, unlink."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import typer

from gateways.cli import output
from gateways.cli.options import AtLeast
from gateways.cli.session import Session, verb
from umbriel import InvalidInputError, RetryReply, StatusReply
from umbriel.backups import BackupsStatus
from umbriel.imports import ImportStatus
from umbriel.upkeep import PassStatus
from umbriel.usage import ModelUsage

__all__ = ["contacts", "link", "retry", "settings", "status", "unlink"]

_ContactName = Annotated[str, typer.Argument(metavar="CONTACT", help="A contact, as written.")]


@verb
async def status(session: Session) -> None:
    """Show positions, lag, cost and outstanding work of a --profile, or of the whole service."""
    reply = await session.client.status(service=session.profile is None)
    session.show(reply, lambda: _show_status(reply))


def _show_status(reply: StatusReply) -> None:
    committed = (
        f"{output.when(reply.committed_at)}, took {reply.commit_seconds * 1000:.0f} ms" if reply.committed_at else ""
    )
    facts = {
        "version": reply.version,
        "uptime": f"{reply.uptime_seconds:.0f} s",
        "log": f"{reply.log_position}, {reply.log_events} events, {output.size(reply.log_bytes)}",
        "halted": reply.halted,
        "applied": reply.applied,
        "complete": reply.complete,
        "lag": f"{reply.lag_events} events, {reply.lag_seconds:.1f} s",
        "last commit": committed,
        "pending": reply.pending,
        "failed": reply.failed,
        "to be read": f"{reply.unread} messages, {reply.unreadable} stretches failed",
        "to be judged": f"{reply.unjudged} memories",
        "views": f"{output.size(reply.views_bytes)} on disk, {output.size(reply.resident_bytes)} of vectors in memory",
        "profiles": f"{reply.profiles}, {reply.open_profiles} open",
        "backups": _backups(reply.backup) if reply.backup else "",
        "importing": _importing(reply.importing) if reply.importing else "",
        "instance": f"{reply.instance}, works for {reply.partitions} of 64 partitions" if reply.instance else "",
    }
    output.table("Status", ("field", "text"), [(name, value) for name, value in facts.items() if value != ""])
    if reply.views:
        rows = [
            (one.view, one.generation, one.position, one.items, output.size(one.bytes), one.stopped or "running")
            for one in reply.views
        ]
        output.table("Views", ("view", "generation", "position", "items", "on disk", "text"), rows)
    if reply.forwarding:
        sent = [(one.subject, one.position, one.lag, one.failed, one.reason) for one in reply.forwarding]
        output.table("Forwarding", ("content", "position", "lag", "failed", "text"), sent)
    if reply.passes:
        done = [(one.name, output.when(one.due), one.day, one.done, one.waiting, _counts(one)) for one in reply.passes]
        output.table("Daily passes", ("pass", "last due", "day", "done", "waiting", "text"), done)
    if reply.usage:
        used = [
            (one.provider, one.model, one.calls, one.input_tokens, one.output_tokens, _cost(one), one.figures)
            for one in reply.usage
        ]
        output.table("Model calls", ("provider", "model", "calls", "tokens in", "tokens out", "cost", "figures"), used)
    if reply.work:
        work = [(one.state, one.profile, one.work, one.position, one.reason) for one in reply.work]
        output.table("Outstanding work", ("state", "profile", "work", "position", "text"), work)
        if any(one.state != "pending" for one in reply.work):
            output.say("Try again what failed or stopped: umbriel retry --profile PROFILE")


def _backups(one: BackupsStatus) -> str:
    last = f"the last at {output.when(one.last)}, {output.size(one.bytes)}" if one.last else "none yet"
    failed = f"; the last try failed: {one.error}" if one.error else ""
    return f"{last}, the next due at {output.when(one.due)}, {one.kept} are kept in {one.directory}{failed}"


def _importing(one: ImportStatus) -> str:
    of = f" of {one.lines}" if one.lines else ""
    began = f" since {output.when(one.began)}" if one.began else ""
    how = "import the file again to finish it, or give it up with `umbriel import --abandon`"
    return f"{one.written}{of} events of {one.source or 'a file'}{began} (SHA-256 {one.run[:12]}…); {how}"


def _counts(one: PassStatus) -> str:
    return ", ".join(f"{count} {what}" for what, count in one.counts.items() if count)


def _cost(one: ModelUsage) -> str:
    return "no price" if one.cost is None else f"{one.cost:.4f}"


@verb
async def retry(session: Session) -> None:
    """Try again what failed, and let stopped views go on."""
    with output.progress(shown=not session.json) as bar:
        bar.add_task(f"trying again in {session.client.profile}", total=None)
        reply = await session.client.retry()
    session.show(reply, lambda: _show_retry(reply))
    if reply.stopped or reply.reasons:
        raise typer.Exit(1)


def _show_retry(reply: RetryReply) -> None:
    output.say(f"Tried {reply.tried} embeddings again: {reply.computed} came, {reply.tried - reply.computed} did not.")
    output.say(f"Read {reply.read} stretches of conversation again.")
    if reply.forwarded:
        output.say(f"The managed memory took {reply.forwarded} of what it had not taken before.")
    for reason in reply.reasons:
        output.say(f"  {reason}")
    if reply.restarted:
        output.say(f"Views that had stopped: {', '.join(reply.restarted)}.")
    for view, reason in reply.stopped.items():
        output.say(f"  {view} stopped again: {reason}; run `umbriel rebuild`")


@verb
async def settings(
    session: Session,
    changes: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE …]", help="Settings to change.")] = None,
    expected: Annotated[int | None, typer.Option("--expected", help="Only if this is still their version.")] = None,
) -> None:
    """Show a profile's settings, or change some; they count from the next request on."""
    reply = await session.client.settings(_changes(changes or ()), expected=expected)
    rows = [(name, msgspec.json.encode(value).decode().strip('"')) for name, value in reply.settings.items()]
    title = f"Settings of {session.client.profile}, version {reply.version}"
    session.show(reply, lambda: output.table(title, ("setting", "text"), rows))


def _changes(arguments: Iterable[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for argument in arguments:
        name, sign, value = argument.partition("=")
        if not sign:
            raise InvalidInputError("not a setting", expected="KEY=VALUE", found=repr(argument))
        try:
            changes[name] = msgspec.json.decode(value)
        except msgspec.MsgspecError:
            changes[name] = value
    return changes


@verb
async def contacts(
    session: Session,
    cursor: Annotated[str, typer.Option("--cursor", help="Where the page before ended.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many, up to 500.")] = 100,
    at_least: AtLeast = "",
) -> None:
    """List contacts with what each has, and who are linked."""
    reply = await session.client.list_contacts(cursor=cursor, limit=limit, at_least=at_least)
    rows = [
        (
            one.contact,
            one.conversations,
            one.memories,
            ", ".join(one.channels),
            ", ".join(one.links),
            ", ".join(one.group),
        )
        for one in reply.contacts
    ]

    def people() -> None:
        columns = ("contact", "conversations", "memories", "channels", "linked to", "one with")
        output.table(f"Contacts of {session.client.profile}", columns, rows)
        if reply.cursor:
            output.say(f"More: --cursor {reply.cursor}")

    session.show(reply, people)


@verb
async def link(
    session: Session,
    contact: _ContactName,
    to: Annotated[str, typer.Argument(metavar="CONTACT", help="Another name of the same person.")],
) -> None:
    """Say that two contacts are one person; what is asked about either is answered from both."""
    reply = await session.client.link_contact(contact, to)
    session.show(reply, lambda: output.say(f"One person: {', '.join(reply.group)}."))


@verb
async def unlink(
    session: Session,
    contact: _ContactName,
    other: Annotated[str, typer.Argument(metavar="[CONTACT]", help="Only from this one; from all without it.")] = "",
) -> None:
    """Take a link between contacts back; each keeps what is its own."""
    reply = await session.client.unlink_contact(contact, other)
    undone = ", ".join(f"{one} and {two}" for one, two in reply.changed) or "nothing: there was no such link"
    session.show(reply, lambda: output.say(f"Unlinked {undone}."))

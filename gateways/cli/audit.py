"""``umbriel audit``: who did what, newest first."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.options import Contact, Time
from gateways.cli.session import Session, verb
from umbriel.auditing import AuditEntry, AuditReply

__all__ = ["audit"]

_PAGE = 500


@verb
async def audit(
    session: Session,
    *,
    by: Annotated[str, typer.Option("--by", help="Only what this principal did.")] = "",
    action: Annotated[
        str, typer.Option("--action", help="Only this: wrote, recalled, forgot, refused, grants … or an event's topic.")
    ] = "",
    contact: Contact = "",
    memory: Annotated[str, typer.Option("--memory", help="Only this memory: an id, or all before its @.")] = "",
    since: Time = None,
    until: Time = None,
    cursor: Annotated[str, typer.Option("--cursor", help="Where the page before ended.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 100,
    service: Annotated[
        bool, typer.Option("--service", help="What happened to the service: principals, refusals, recoveries.")
    ] = False,
) -> None:
    """Show who wrote, recalled, forgot, erased, was refused, or changed grants or settings; never what it said."""
    entries: list[AuditEntry] = []
    with output.progress(shown=not session.json) as bar:
        bar.add_task("reading the log", total=None)
        while True:
            reply = await session.client.audit(
                principal=by,
                action=action,
                contact=contact,
                memory=memory,
                since=since,
                until=until,
                cursor=cursor,
                limit=min(_PAGE, limit - len(entries)),
                service=service,
            )
            entries += reply.entries
            cursor = reply.cursor
            if not cursor or len(entries) >= limit:
                break
    shown = AuditReply(entries=entries, position=reply.position, cursor=cursor)
    session.show(shown, lambda: _show(shown))


def _show(reply: AuditReply) -> None:
    rows = [
        (
            _at(one.at),
            one.action,
            _by(one),
            one.via,
            _about(one),
            one.contact,
        )
        for one in reply.entries
    ]
    output.table("Audit", ("at", "action", "by", "via", "text", "contact"), rows)
    if reply.cursor:
        output.say(f"More: --cursor {reply.cursor}")


def _at(moment: datetime) -> str:
    return f"{output.when(moment)}:{moment:%S}"


def _by(one: AuditEntry) -> str:
    return "(erased)" if one.erased else one.principal


def _about(one: AuditEntry) -> str:
    what = one.detail or " ".join(one.memories) or one.message or one.session or one.topic
    return f"{what} (× {one.count})" if one.count > 1 else what

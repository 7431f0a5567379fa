"""Commands that follow the log: feed and export."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TextIO

import msgspec
import typer
from rich.progress import Progress

from gateways.cli import output
from gateways.cli.options import Contact
from gateways.cli.session import Session, verb
from umbriel import FeedEvent, InvalidInputError, Umbriel, sequence_of

__all__ = ["CloudEvent", "ExportSummary", "as_cloud_event", "export", "feed"]

_PAGE = 500

Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="An event category, as message or memory; repeat. Default: all but the quiet ones."),
]
After = Annotated[str, typer.Option("--after", help="Only events after this position.")]


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event in the form of CloudEvents 1.0, with the log's position as an extension."""

    id: str
    source: str
    type: str
    time: datetime
    subject: str
    data: dict[str, Any]
    umbrielposition: str
    umbrielactor: str
    umbrielactortype: str
    specversion: str = "1.0"
    datacontenttype: str = "application/json"


class ExportSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What an export wrote, and the position to go on after."""

    profile: str
    events: int
    position: str
    file: str


@verb
async def feed(
    session: Session,
    after: After = "",
    kinds: Kinds = None,
    contact: Contact = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many events.")] = 100,
    wait: Annotated[float, typer.Option("--wait", help="Seconds to wait for the first event, up to 30.")] = 0.0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on for ever, across reconnects.")] = False,
) -> None:
    """Show a profile's events in the order of the log."""
    if follow:
        async for event in session.client.subscribe(after=after, kinds=kinds or (), contact=contact):
            if session.json:
                output.write_json_line(event)
            else:
                output.say(_one_line(event))
        return
    reply = await session.client.feed(after=after, kinds=kinds or (), contact=contact, limit=limit, wait=wait)

    def people() -> None:
        for event in reply.events:
            output.say(_one_line(event))
        output.say(f"Next: --after {reply.position}")

    session.show(reply, people)


def _one_line(event: FeedEvent) -> str:
    said = next((str(event.data[field]) for field in ("content", "text", "reason") if event.data.get(field)), "")
    if event.redacted:
        said = f"{said} (forgotten)".strip()
    return f"{output.when(event.recorded_at)}  {event.position}  {event.topic}  {event.actor}  {said}".rstrip()


@verb
async def export(
    session: Session,
    target: Annotated[Path | None, typer.Option("--output", "-o", help="A file; stdout when not given.")] = None,
    after: After = "",
    kinds: Kinds = None,
) -> None:
    """Write a profile's events as JSON Lines of CloudEvents 1.0."""
    count, position = 0, after
    with output.progress(shown=target is not None and not session.json) as bar, _opened(target) as stream:
        async for event in _events(session.client, after, kinds or [], bar):
            stream.write(msgspec.json.encode(as_cloud_event(event, session.client.profile)).decode() + "\n")
            count, position = count + 1, event.position
    if target is None:
        return
    summary = ExportSummary(profile=session.client.profile, events=count, position=position, file=str(target))
    session.show(summary, lambda: output.say(f"{count} events of {summary.profile} in {target}."))


def as_cloud_event(event: FeedEvent, profile: str) -> CloudEvent:
    """Return a feed event in the form of CloudEvents 1.0; its subject is the memory or message it is about."""
    about = (event.data.get(field) for field in ("memory", "message", "session", "name"))
    return CloudEvent(
        id=event.event_id,
        source=f"umbriel/{profile}",
        type=event.topic,
        time=event.recorded_at,
        subject=next((str(one) for one in about if one), profile),
        data=event.data,
        umbrielposition=event.position,
        umbrielactor=event.actor,
        umbrielactortype=event.actor_type,
    )


async def _events(client: Umbriel, after: str, kinds: list[str], bar: Progress) -> AsyncIterator[FeedEvent]:
    """Yield the events up to where the log ended when this began."""
    end = sequence_of((await client.status()).log_position)
    task = bar.add_task(f"exporting {client.profile}", total=end, completed=sequence_of(after))
    while sequence_of(after) < end:
        page = await client.feed(after=after, kinds=kinds, limit=_PAGE)
        for event in page.events:
            yield event
        if page.position == after and not page.events:
            return
        after = page.position
        bar.update(task, completed=min(end, sequence_of(after)))


@contextmanager
def _opened(target: Path | None) -> Iterator[TextIO]:
    """Lend stdout, or a file that appears under its name only when it is whole."""
    if target is None:
        yield sys.stdout
        return
    partial = target.with_name(target.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            partial.chmod(0o600)
            yield stream
        partial.replace(target)
    except OSError as error:
        raise InvalidInputError(f"cannot write {target}", expected="a writable file", found=str(error)) from error
    finally:
        partial.unlink(missing_ok=True)

"""The command that shows a profile's events in the order of the log."""

from __future__ import annotations

from typing import Annotated

import typer

from gateways.cli import output
from gateways.cli.options import Contact
from gateways.cli.session import Session, verb
from umbriel import FeedEvent

__all__ = ["After", "Kinds", "feed"]

Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="An event category, as message or memory; repeat. Default: all but the quiet ones."),
]
After = Annotated[str, typer.Option("--after", help="Only events after this position.")]


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
    return f"{output.when(event.recorded_at)}  {event.position}  {event.topic}  {event.actor}  {said}".rstrip()

"""``umbriel subscribe``: follows a profile's events for ever, one line each."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from gateways.cli import errors, output
from gateways.cli.feed import After, Kinds
from gateways.cli.options import Contact
from gateways.cli.session import Session, verb
from umbriel import FeedEvent, InvalidInputError, Subscription, UmbrielError

__all__ = ["subscribe"]

_FromStart = Annotated[
    bool | None,
    typer.Option(
        "--from-start/--new", help="Begin with the log's first event, or with the first from now on (default)."
    ),
]


@verb
async def subscribe(
    session: Session, after: After = "", kinds: Kinds = None, contact: Contact = "", from_start: _FromStart = None
) -> None:
    """Follow a profile's events for ever, across reconnects; Ctrl-C says where to go on."""
    if after and from_start is not None:
        raise InvalidInputError(
            "two places to begin are named", expected="--after, --from-start or --new", found="two of them"
        )
    start = after or ("" if from_start else "new")
    subscription = session.client.subscribe(after=start, kinds=kinds or (), contact=contact)
    try:
        await subscription.start()
        async for event in subscription:
            if session.json:
                output.write_json_line(event)
            else:
                _write(event)
    except (asyncio.CancelledError, UmbrielError):
        _say_where(subscription)
        raise


def _write(event: FeedEvent) -> None:
    said = next((str(event.data[field]) for field in ("content", "text", "reason") if event.data.get(field)), "")
    parts = (output.when(event.recorded_at), event.position, event.topic, event.actor, " ".join(said.split()))
    sys.stdout.write(output.visible("  ".join(parts).rstrip()) + "\n")
    sys.stdout.flush()


def _say_where(subscription: Subscription) -> None:
    where = f"--after {subscription.position}" if subscription.position else "--from-start"
    errors.line(f"stopped; to go on: umbriel subscribe {where}")

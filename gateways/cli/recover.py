"""``umbriel recover``: goes on with a log that lost something, and puts on record what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from gateways.cli import output
from gateways.cli.options import Data, Json
from umbriel import data_directory

if TYPE_CHECKING:
    from gateways.recovering import Recovery

__all__ = ["Recovered", "recover"]


class LostShown(msgspec.Struct, frozen=True):
    """Something that is lost, as the views still knew it."""

    profile: str
    position: int
    what: str
    id: str
    text: str


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or would be: why, what is lost, and where the log goes on.

    ``lost`` are ranges of positions without what was written there, ``after`` the last position that is left where
    the end is gone up to ``seen``. ``known`` is what the views still knew of it: they are discarded.
    """

    dry_run: bool
    incarnation: str
    after: int
    seen: int
    lost: list[tuple[int, int]]
    changed: list[tuple[int, int]]
    profiles: list[str]
    views: list[str]
    reasons: list[str]
    known: list[LostShown]


def recover(
    data: Data = None,
    json: Json = False,
    nats: Annotated[str | None, typer.Option("--nats", help="The NATS of the log, where it is not embedded.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
) -> None:
    """Go on with a restored or damaged log: record what is lost, discard the views, give the log a new incarnation.

    The service must not run. A backup that has what is lost is better: restored, it leaves nothing to recover.
    """
    place = data_directory(data)
    with output.progress(shown=not json, eta=True) as bar:
        task = bar.add_task("looking at the log", total=None)
        found = asyncio.run(
            _run(place, nats, dry_run, lambda done, total: bar.update(task, completed=done, total=total))
        )
    if json:
        output.write_json(found)
    else:
        _show(found)


async def _run(place: Path, nats: str | None, dry_run: bool, tell: Callable[[int, int], None]) -> Recovered:
    from gateways import recovering
    from gateways.offline import opened

    async with opened(place, nats) as log:
        looking = log.examination()
        running = asyncio.create_task(looking.run())
        while not running.done():
            tell(looking.done, looking.total)
            await asyncio.wait({running}, timeout=0.3)
        await running
        recovery = recovering.recovery_of(log, looking)
        incarnation = log.standing.incarnation
        if not dry_run:
            incarnation = (await recovering.recover(log, recovery)).incarnation
    return _shown(recovery, incarnation, dry_run=dry_run)


def _shown(recovery: Recovery, incarnation: str, *, dry_run: bool) -> Recovered:
    event = recovery.event
    return Recovered(
        dry_run=dry_run,
        incarnation=incarnation,
        after=event.end,
        seen=event.seen,
        lost=[(one.first, one.last) for one in event.lost],
        changed=[(one.first, one.last) for one in event.changed],
        profiles=list(event.profiles),
        views=list(event.views),
        reasons=recovery.reasons,
        known=[LostShown(one.profile, one.position, one.what, one.id, one.text) for one in recovery.known],
    )


def _show(found: Recovered) -> None:
    for reason in found.reasons:
        output.write_text(reason)
    if found.known:
        rows = [(one.position, one.profile, one.what, one.id, one.text) for one in found.known]
        output.table("Lost, as the views still knew it", ("position", "profile", "what", "id", "text"), rows)
    lost = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in found.lost)
    parts = [
        f"what was at {lost}" if lost else "",
        f"everything after {found.after} up to {found.seen}" if found.seen > found.after else "",
    ]
    gone = " and ".join(part for part in parts if part) or "nothing of this log"
    would = "would be " if found.dry_run else ""
    output.say(f"On record as lost {would}: {gone}.".replace(" :", ":"))
    output.say(f"Views {would}discarded, and made again from the log: {', '.join(found.views) or 'none'}.")
    if not found.dry_run:
        output.say(f"The log goes on as incarnation {found.incarnation}; positions of the earlier one are refused.")

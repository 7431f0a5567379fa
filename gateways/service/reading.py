"""What every read goes through: the views lent once they have got far enough, now or as of a point of the past."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from domain.errors import InvalidInputError, MismatchError, NotFoundError
from domain.ids import check_profile
from gateways.service.context import Core
from gateways.service.positions import is_position
from gateways.service.profiles import OpenProfile
from gateways.service.validate import check_time
from projections.ledger import AsOf, Ledger
from umbriel.types import Visibility

__all__ = ["Point", "check_point", "point_in", "reach_point", "reading", "reading_then"]

T = TypeVar("T")
#: A position, or a time of recording.
Point = int | datetime


async def reading(
    core: Core,
    profile: str,
    at_least: str,
    work: Callable[[OpenProfile], Awaitable[T]],
    *,
    absent: T | None = None,
    visibility: Visibility = "keyword",
) -> T:
    """Lend the profile's views, once they have reached ``at_least``, to ``work``.

    A profile that does not exist answers ``absent``, or NotFoundError where there is no empty answer.
    """
    check_profile(profile)
    position = core.positions.read(at_least, field="at_least")
    ended = core.ended.get(profile, 0)
    if max(position, ended) > core.reader.passed:
        await core.reader.wait_for(max(position, ended), core.settings.wait_seconds)
    if not await core.known_profile(profile):
        if absent is not None:
            return absent
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    if position:
        # Lent twice: a rebuild may have put other views in the place of those that were waited with.
        async with core.profiles.use(profile) as opened:
            await core.wait_for(opened, position, visibility)
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        return await work(opened)


async def reading_then(
    core: Core, profile: str, as_of: str, at_least: str, work: Callable[[OpenProfile, AsOf | None], Awaitable[T]]
) -> T:
    """Lend the profile's views to ``work`` with the point that ``as_of`` means, or with None where it is empty.

    Raises InvalidInputError for what is no point of the profile's past and MismatchError for a position of another
    log or beyond this one.
    """
    if not as_of:
        return await reading(core, profile, at_least, lambda opened: work(opened, None))
    point = check_point(core, as_of, field="as_of")
    await reach_point(core, point, field="as_of")

    async def then(opened: OpenProfile) -> T:
        return await work(
            opened, await core.in_thread(lambda: point_in(core, opened.views.ledger, point, field="as_of"))
        )

    return await reading(core, profile, at_least, then)


def check_point(core: Core, text: str, *, field: str) -> Point:
    """Return a time in UTC or a sequence of this log, or raise InvalidInputError or MismatchError."""
    if is_position(text):
        return core.positions.read(text, field=field)
    try:
        at = check_time(datetime.fromisoformat(text), field)
    except ValueError as error:
        raise InvalidInputError(
            f"{field} is neither a time nor a position",
            expected="RFC 3339 with Z or an offset, or <stream>.<incarnation>:<sequence>",
            found=repr(text[:80]),
        ) from error
    assert at is not None  # noqa: S101 -- a time was given
    if at > (now := datetime.now(UTC)):
        raise InvalidInputError(f"{field} is in the future", expected=f"at most {now.isoformat()}", found=text)
    return at


async def reach_point(core: Core, point: Point, *, field: str) -> None:
    """Wait until the views hold everything up to a point: what was acknowledged by then is a part of it."""
    if isinstance(point, int) and point <= core.reader.passed:
        return
    last = await core.events.log.last_position()
    if isinstance(point, int) and point > last:
        raise MismatchError(
            f"{field} is a position that this log has not reached",
            expected=f"at most {core.positions.show(last)}",
            found=core.positions.show(point),
        )
    await core.reader.wait_for(min(point, last) if isinstance(point, int) else last, core.settings.wait_seconds)


def point_in(core: Core, ledger: Ledger, point: Point, *, field: str) -> AsOf:
    """Return a point of a profile's past, or raise InvalidInputError for one before the profile was there."""
    found = ledger.as_of(point)
    if found is None:
        began = ledger.began()
        first = f"from {began.clock.isoformat()}, {core.positions.show(began.position)}" if began else "a later point"
        shown = core.positions.show(point) if isinstance(point, int) else point.isoformat()
        raise InvalidInputError(f"the profile did not exist at {field}", expected=first, found=shown)
    return found

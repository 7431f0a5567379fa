"""A profile's ledger for a short look, once it has reached what the reader asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from domain.errors import InvalidInputError
from domain.ids import check_profile
from gateways.service.context import Core
from projections.ledger import Ledger

__all__ = ["after_cursor", "look", "seen_by_all"]

T = TypeVar("T")
#: above every position of a log
_END = 2**63 - 1


async def look(core: Core, profile: str, at_least: str, read: Callable[[Ledger], T]) -> tuple[T | None, str]:
    """Return what ``read`` finds in the profile's ledger (None without such a profile), and the position it is at."""
    check_profile(profile)
    # What has ended here is gone at once, as in every other read.
    least = max(core.positions.read(at_least, field="at_least"), core.ended.get(profile, 0))
    await core.reader.wait_for(least, core.settings.wait_seconds)
    if not await core.known_profile(profile):
        return None, core.positions.show(core.reader.passed)
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        # Taken before the reading: what is applied meanwhile may not be in it.
        position = core.positions.show(core.applied(opened))
        return await core.in_thread(lambda: read(opened.views.ledger)), position


async def seen_by_all(core: Core, position: int) -> str:
    """Wait until the ledger has seen a write, so that the next read of anybody here does; returns its position."""
    position = position or await core.events.log.last_position()
    await core.reader.wait_until(lambda: core.reader.passed >= position, core.settings.wait_seconds)
    return core.positions.show(position)


def after_cursor(cursor: str) -> int:
    """Return the position that a page ends before; the whole list without a cursor."""
    if not cursor:
        return _END
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < len(str(_END))):
        raise InvalidInputError("not a cursor of this list", expected="a cursor as returned", found=repr(cursor[:40]))
    return int(cursor)

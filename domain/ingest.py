"""Which messages of a call are new: occurrences of equal messages told apart, without a window in time.

Two messages are equal when session, role and content are. What tells a new occurrence from one that
is sent again is the caller's own message id; else its ordinal among equal messages of the call; a time
separates only where it differs from the earlier one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from domain.ids import digest128, moment_text

__all__ = ["Incoming", "Resolution", "Seen", "derive_session", "resolve"]


class Seen(msgspec.Struct, frozen=True):
    """An occurrence that is in the log (or planned earlier in the same call)."""

    caller_id: str = ""
    at: datetime | None = None
    forgotten: bool = False
    position: int = 0


class Incoming(msgspec.Struct, frozen=True):
    """A message of a call; ``ordinal`` counts from 1 among the equal messages of that call.

    A caller id that comes again in the call is the same message and is not counted again.
    """

    ordinal: int
    caller_id: str = ""
    at: datetime | None = None


class Resolution(msgspec.Struct, frozen=True):
    """``occurrence`` is the n of the message id; position is 0 for one still to be recorded."""

    occurrence: int
    outcome: Literal["recorded", "duplicate", "blocked"]
    position: int = 0


def resolve(seen: Sequence[Seen | None], message: Incoming) -> Resolution:
    """Decide whether ``message`` is one of ``seen`` or a new occurrence.

    ``seen[n - 1]`` is the n-th occurrence, None where it was never recorded: a caller may send the third of
    three equal messages alone. A new occurrence takes its ordinal where that is free, else the next free number.
    """
    index = _match(seen, message)
    if index is None:
        return Resolution(_free(seen, message.ordinal), "recorded")
    found = seen[index]
    assert found is not None  # noqa: S101 -- a match is one of those seen
    return Resolution(index + 1, "blocked" if found.forgotten else "duplicate", found.position)


def _free(seen: Sequence[Seen | None], ordinal: int) -> int:
    if ordinal > len(seen) or seen[ordinal - 1] is None:
        return ordinal
    return next((n for n, one in enumerate(seen, 1) if one is None), len(seen) + 1)


def _match(seen: Sequence[Seen | None], message: Incoming) -> int | None:
    known = [(index, one) for index, one in enumerate(seen) if one is not None]
    if message.caller_id:
        for index, one in known:
            if one.caller_id == message.caller_id:
                return index
    candidate = seen[message.ordinal - 1] if message.ordinal <= len(seen) else None
    if candidate is None or _told_apart(candidate, message):
        return None
    if message.at is None or candidate.at is None or message.at == candidate.at:
        return message.ordinal - 1
    return next((i for i, one in known if one.at == message.at and not _told_apart(one, message)), None)


def _told_apart(one: Seen, message: Incoming) -> bool:
    # Equal ids were found before: two ids here are two messages, whatever their times.
    return bool(one.caller_id and message.caller_id)


def derive_session(contact: str, channel: str, first: tuple[str, str], caller_id: str, at: datetime | None) -> str:
    """Return the session id of a call that names none; ``first`` is the first message's (role, content)."""
    return digest128("session", contact, channel, *first, caller_id, moment_text(at))

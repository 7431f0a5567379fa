"""Copies of memories in other profiles: where they come from, and what becomes of them when the original ends.

What is forgotten, retracted or rejected is so in every copy, and in the copies of copies. An original that is
superseded, or brought back, changes no copy: in its own profile the copy may hold still, so the change is only
noted at it. A copy that somebody states in its profile as well is that one's statement, and is only noted to.

A copy may have been corrected where it is. What somebody says there in words of their own stays; a later version that
still says what the copy said goes with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domain.errors import InvalidInputError, RefusedError
from domain.events import (
    CopyFollowed,
    Followed,
    MemoryCopied,
    MemoryRejected,
    MemoryRemembered,
    MemoryRetracted,
    OriginChanged,
)
from domain.indexing import memory_key_scope
from domain.kernel import Context
from domain.resting import forget_versions
from domain.text import clauses_of, skeleton, words_of
from domain.version import Remembered

if TYPE_CHECKING:
    from domain.memory import Memory

__all__ = ["CopyState", "check_original", "copied", "follow_original", "followed", "receive_copy", "still_saying"]


class CopyState:
    """What copying leaves in a memory's state: which copies were told of what."""

    told: frozenset[tuple[str, str, str]] = frozenset()

    def on_copied(self, event: MemoryCopied) -> None:
        """It has a copy elsewhere."""

    def on_copy_followed(self, event: CopyFollowed) -> None:
        """A copy was told."""
        self.told |= {(event.profile, event.copy, event.event)}

    def on_origin_changed(self, event: OriginChanged) -> None:
        """The original is not what it was."""


def check_original(memory: Memory, one: str, context: Context) -> MemoryRemembered:
    """Return what a version that can be copied states; only what is live can be (InvalidInputError)."""
    version = memory.find(one)
    if not version.live_at(context.now):
        raise InvalidInputError("only a live memory can be copied", expected="live", found=version.status)
    return version.written


def receive_copy(memory: Memory, draft: MemoryRemembered, context: Context, *, rejected: bool) -> Remembered:
    """State a copy at its address in the profile that it comes to.

    Where a person states something else there, an agent's copy is refused (RefusedError): nothing of it is noted.
    """
    done = memory.remember(draft, context, rejected=rejected)
    if done.outcome == "noted":
        raise RefusedError(
            "a person states something else there", expected="a person to copy it", found=context.actor.type
        )
    return done


def copied(memory: Memory, one: str, profile: str, copy: str, context: Context) -> None:
    """Record at the original that it has a copy."""
    event = MemoryCopied(memory=one, profile=profile, copy=copy)
    memory.emit(event, context, key_scope=memory_key_scope(memory.find(one).written))


def followed(memory: Memory, told: CopyFollowed, context: Context) -> bool:
    """Record at the original that a copy was told of an event; False when that was done before."""
    if (told.profile, told.copy, told.event) in memory.told:
        return False
    memory.emit(told, context, key_scope=memory_key_scope(memory.find(told.memory).written))
    return True


def follow_original(memory: Memory, copy: str, how: Followed, context: Context) -> bool:
    """Let a copy follow its original; False where nothing is left to do."""
    version = memory.find(copy)
    if version.status == "forgotten":
        return False
    scope = memory_key_scope(version.written)
    ends = not version.affirmed and how in ("forgotten", "retracted", "rejected")
    if ends and how == "forgotten":
        forget_versions(memory, (copy, *still_saying(memory, copy)), context)
        return True
    memory.emit(OriginChanged(memory=copy, status=how), context, key_scope=scope)
    if ends and how == "rejected" and version.status != "rejected":
        rejection = MemoryRejected(memory=copy, skeleton=skeleton(version.written.text))
        memory.emit(rejection, context, key_scope=scope)
    elif ends and how == "retracted" and version.status == "live":
        memory.emit(MemoryRetracted(memory=copy), context, key_scope=scope)
    return True


def still_saying(memory: Memory, copy: str) -> list[str]:
    """Return the later versions that were made of a copy and still say what it said, in whole or in part.

    They say nothing that the copy did not, or they say all of what one of its clauses did.
    """
    written = memory.find(copy).written
    return [
        one.written.memory
        for one in memory.versions
        if one.written.version > written.version
        and one.written.origin is not None
        and one.written.origin == written.origin
        and one.status != "forgotten"
        and _repeats(one.written.text, written.text)
    ]


def _repeats(text: str, copied: str) -> bool:
    said, here = words_of(copied), words_of(text)
    if here <= said:
        return True
    parts = (words_of(clause) for clause in clauses_of(copied))
    # A single word stands in too many statements to tell whose it is.
    return any(len(part) > 1 and part <= here for part in parts)

"""What a memory rests on: messages it was drawn from, and what is left of it when they are forgotten.

A version rests on one or more grounds: the messages it was drawn from, taken together, and every later stretch that
said the same. It stays as long as one ground is whole, or what is left of one still says every word of it. What a
person states, and what a caller stated explicitly, rests on nobody's messages and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import msgspec

from domain.events import MemoryExpired, MemoryForgotten, MemoryRevised
from domain.indexing import memory_key_scope
from domain.kernel import Context
from domain.version import Version

if TYPE_CHECKING:
    from domain.memory import Memory

__all__ = ["Loss", "Lost", "affirm", "end_task", "forget_version", "forget_versions", "lose"]


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """Source messages of one version that are forgotten, those it has left, and whether these bear it out."""

    memory: str
    lost: tuple[str, ...]
    left: tuple[str, ...] = ()
    supported: bool = False


class Lost(msgspec.Struct, frozen=True):
    """Which versions were forgotten for want of sources, and which stay with fewer."""

    forgotten: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()


def affirm(memory: Memory, version: Version, context: Context) -> bool:
    """Record that a caller states what was drawn from messages; False where somebody stands for it already.

    A person who affirms what an agent stated makes it a person's statement.
    """
    person = context.actor.type == "person"
    original = version.stands_alone and (version.affirmed or version.written.source != "copy")
    if original and not (person and version.author_type != "person"):
        return False
    event = MemoryRevised(memory=version.written.memory, affirmed=True)
    memory.emit(event, context, key_scope=memory_key_scope(version.written))
    return True


def lose(memory: Memory, losses: Sequence[Loss], context: Context) -> Lost:
    """Forget those versions that nothing bears out any more; the others stay, and their history says what they lost.

    Done twice, nothing more is written.
    """
    forgotten: list[Loss] = []
    revised: list[Loss] = []
    for loss in losses:
        version = memory.find(loss.memory)
        if version.status != "forgotten":
            (revised if version.stands_alone or loss.supported else forgotten).append(loss)
    for loss in revised:
        version = memory.find(loss.memory)
        if not version.lost.issuperset(loss.lost):
            event = MemoryRevised(memory=loss.memory, sources=loss.left, lost=loss.lost)
            memory.emit(event, context, key_scope=memory_key_scope(version.written))
    lost = tuple(dict.fromkeys(message for loss in forgotten for message in loss.lost))
    forget_versions(memory, [one.memory for one in forgotten], context, lost=lost)
    return Lost(tuple(one.memory for one in forgotten), tuple(one.memory for one in revised))


def end_task(memory: Memory, task: str, context: Context) -> bool:
    """End a task with its session; False when it is not live any more."""
    version = memory.find(task)
    if version.status != "live":
        return False
    memory.emit(MemoryExpired(memory=task), context, key_scope=memory_key_scope(version.written))
    return True


def forget_versions(
    memory: Memory,
    versions: Collection[str],
    context: Context,
    *,
    with_sources: bool = False,
    request_id: str = "",
    lost: tuple[str, ...] = (),
) -> None:
    """Forget versions, in an event for each key: what ends one must not be unreadable while it can be read."""
    by_scope: dict[str, list[Version]] = {}
    for version in memory.versions:
        if version.written.memory in versions:
            by_scope.setdefault(memory_key_scope(version.written), []).append(version)
    for scope, some in by_scope.items():
        event = MemoryForgotten(
            address=some[0].written.address,
            memories=tuple(one.written.memory for one in some),
            with_sources=with_sources,
            request_id=request_id,
            lost=lost,
        )
        memory.emit(event, context, key_scope=scope)


def forget_version(memory: Memory, one: str, context: Context) -> bool:
    """Forget one version, whoever stated it; False when that was done before."""
    version = memory.find(one)
    if version.status == "forgotten":
        return False
    event = MemoryForgotten(address=version.written.address, memories=(one,))
    memory.emit(event, context, key_scope=memory_key_scope(version.written))
    return True

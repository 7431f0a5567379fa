"""What a file was found to hold: its shape, how much is in it, what is not taken over, and its conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from gateways.importers.conversation import Conversation

__all__ = ["Imported", "taken_stock"]


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read and checked whole. Its conversations are read anew each time they are iterated over.

    ``skipped`` messages and ``left_out`` parts of messages are counted by reason; ``hints`` are the names of
    profiles, ``nameless`` the number of conversations without a session of their own.
    """

    shape: str
    conversations: int
    messages: int
    skipped: dict[str, int]
    left_out: dict[str, int]
    hints: frozenset[str]
    nameless: int
    read: Callable[[], Iterator[Conversation]]

    def __iter__(self) -> Iterator[Conversation]:
        """Yield the conversations that have messages, in the file's order."""
        return (one for one in self.read() if one.messages)


def taken_stock(shape: str, read: Callable[[], Iterator[Conversation]]) -> Imported:
    """Return what is in a file, all of which is read for it; nothing of it is kept."""
    counts: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    hints: set[str] = set()
    for one in read():
        skipped.update(one.skipped)
        left_out.update(one.left_out)
        if one.messages:
            counts.update(conversations=1, messages=len(one.messages), nameless=not one.session)
            hints.add(one.profile_hint)
    return Imported(
        shape=shape,
        conversations=counts["conversations"],
        messages=counts["messages"],
        skipped=dict(skipped.most_common()),
        left_out=dict(left_out.most_common()),
        hints=frozenset(hints),
        nameless=counts["nameless"],
        read=read,
    )

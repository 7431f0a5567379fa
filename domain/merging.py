"""What merging duplicates needs from outside: whether two statements say the same, and a wording for several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

__all__ = ["Comparer", "Relation", "Worded", "Worder"]

#: ``same``: the same in other words, by rule; ``apart``: not to be merged, whatever a model thinks; ``alike``: neither.
Relation = Literal["same", "alike", "apart"]


class Comparer(Protocol):
    """Compares statements by rule, deterministically."""

    def relation(self, one: str, other: str) -> Relation:
        """Return how two statements are related; differing numbers, names, dates or negations keep them apart."""

    def objection(self, text: str, members: Sequence[str]) -> str:
        """Return why ``text`` cannot stand for all ``members``, empty when it can.

        It can when it holds no number, name or date that they do not, and none of theirs is missing.
        """


class Worded(msgspec.Struct, frozen=True):
    """One sentence for several statements, and the model it is from; empty where they do not say the same."""

    text: str
    model: str


class Worder(Protocol):
    """Puts several statements that say the same into one sentence."""

    @property
    def name(self) -> str:
        """What is recorded with its wording."""

    async def word(self, statements: Sequence[str], *, profile: str) -> Worded:
        """Return one sentence; raises what `domain.ports.Chat` raises."""

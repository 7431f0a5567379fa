"""What was read of rows that no event has changed since, so that recall need not read them again.

Every recall asks for the same few hundred rows, most of which never change. They are kept here with the position from
which on they are true. An event that may change a row that was read ends that: what is kept is dropped with the
commit that applies it, and so is a text that was forgotten. Readers of an older snapshot go on with what was kept
before until that commit can be seen. A reader whose position nobody here applied keeps nothing, for another process
may have written then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from domain.envelope import Envelope
from domain.events import (
    AccessCounted,
    ContactsLinked,
    ContactsUnlinked,
    ContradictionNoted,
    EmbeddingComputed,
    EmbeddingFailed,
    ExtractionCompleted,
    ExtractionFailed,
    GoalClosed,
    GoalProgressed,
    GoalSet,
    MemoryJudged,
    MemoryRemembered,
    MessageRecorded,
    NotesSet,
    RecallServed,
    ReflectionRecorded,
    RefusalRecorded,
    SettingsChanged,
    TaskCleared,
    TaskSet,
    UsageRecorded,
)
from projections.ledger.records import LiveItem

__all__ = ["Kept", "Remembered"]

_MOST = 16_384
#: Events that add rows, or change nothing of a row that is kept; of any other the worst is assumed.
_HARMLESS = (
    AccessCounted,
    ContactsLinked,
    ContactsUnlinked,
    ContradictionNoted,
    EmbeddingComputed,
    EmbeddingFailed,
    ExtractionCompleted,
    ExtractionFailed,
    GoalClosed,
    GoalProgressed,
    GoalSet,
    MemoryJudged,
    MemoryRemembered,
    MessageRecorded,
    NotesSet,
    RecallServed,
    ReflectionRecorded,
    RefusalRecorded,
    SettingsChanged,
    TaskCleared,
    TaskSet,
    UsageRecorded,
)


class Kept:
    """What is true from the position ``since`` on, until an event changes it; any number of threads may share it."""

    def __init__(self, since: int) -> None:
        self.since = since
        self._lock = threading.Lock()
        self._items: dict[str, tuple[LiveItem, int | None]] = {}
        self._beside: dict[str, tuple[str, ...]] = {}

    def live(self, ids: Iterable[str], position: int, now: int) -> tuple[dict[str, LiveItem], list[str]]:
        """Return the items known to be live at ``now`` (microseconds) for a reader at ``position``, and unknown ids."""
        found: dict[str, LiveItem] = {}
        unknown = []
        get = self._items.get
        for id_ in ids:
            if (known := get(id_)) is None:
                unknown.append(id_)
                continue
            item, expires = known
            if item.position <= position and (expires is None or expires > now):
                found[id_] = item
        return found, unknown

    def keep(self, items: Iterable[tuple[LiveItem, int | None]]) -> None:
        """Keep live items with when they expire."""
        with self._lock:
            for entry in items:
                self._items[entry[0].id] = entry
            _shorten(self._items)

    def beside(self, ids: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
        """Return the neighbours of those messages that have known ones, and the other ids."""
        found: dict[str, tuple[str, ...]] = {}
        unknown = []
        for id_ in ids:
            if (near := self._beside.get(id_)) is None:
                unknown.append(id_)
            else:
                found[id_] = near
        return found, unknown

    def keep_beside(self, neighbours: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        """Keep the neighbours of messages that have one after them: no later message comes between."""
        with self._lock:
            self._beside.update(neighbours)
            _shorten(self._beside)


class Remembered:
    """What a ledger keeps of its rows, for the present state and for the one before it."""

    def __init__(self, position: int) -> None:
        self._upto = position
        self._kept: tuple[Kept, ...] = (Kept(position),)

    def at(self, position: int) -> Kept:
        """Return what is kept for a reader at a position; something empty that nobody shares where nothing fits."""
        if position <= self._upto:
            for kept in self._kept:
                if kept.since <= position:
                    return kept
        return Kept(position)

    def change(self, before: int, position: int, events: Iterable[Envelope]) -> None:
        """Note that a commit from ``before`` up to ``position`` is about to apply these; before anybody can see it."""
        if before != self._upto or not all(isinstance(one.data, _HARMLESS) for one in events):
            self._kept = (Kept(position), self._kept[0])
        self._upto = position

    def changed(self) -> None:
        """Note that the commit can be seen: what was true before it is let go of, a text that was forgotten with it."""
        self._kept = self._kept[:1]


def _shorten(known: dict[str, tuple[LiveItem, int | None]] | dict[str, tuple[str, ...]]) -> None:
    """Let go of what was kept first."""
    while len(known) > _MOST:
        del known[next(iter(known))]

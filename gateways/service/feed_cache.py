"""Recently read stretches of the log, decrypted, decoded and encoded once for every subscriber of a profile.

A stretch holds every event of one view of a profile (with or without the quiet categories) between two positions.
The *live* stretch grows with the log; when it is full it is sealed and becomes one of the others, which are
dropped, least recently used first, when they are too many bytes. Dropping any of them is always right: what is
not here is read from the log.
"""

from __future__ import annotations

import time
from bisect import bisect_right, insort
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Literal

import msgspec

from domain.redacting import Forgotten

__all__ = ["BETWEEN", "About", "FeedCache", "Item", "Stretch", "View"]

#: what stands between the two contacts of a link; no contact's name holds it
BETWEEN = "\0"
#: A profile, and whether the quiet categories are part of the view.
View = tuple[str, bool]

_LIVE_EVENTS = 500
_LIVE_BYTES = 128 * 1024
_LIVE_VIEWS = 256
#: what an event costs beside its text
_OVERHEAD = 200


class About(msgspec.Struct, frozen=True):
    """What tells whose an event is: a session or a memory, or the contact itself (empty: nobody).

    The contact is named where it was ``said`` with whom, or ``remembered`` about whom; a link names two.
    """

    by: Literal["said", "remembered", "link", "session", "memory"]
    value: str


class Item(msgspec.Struct, frozen=True):
    """One event as it goes out; ``raw`` is the JSON of a `FeedEvent`, ``quotes`` what it may quote."""

    position: int
    category: str
    about: About | None
    raw: bytes
    quotes: tuple[str, ...] = ()


class Stretch:
    """Every event of a view after ``start``, up to and with ``end``."""

    __slots__ = ("_forgotten", "_positions", "_redacted", "end", "items", "size", "start", "used")

    def __init__(self, start: int, end: int, items: Iterable[Item] = (), *, used: float = 0.0) -> None:
        self.used = used
        self.start = start
        self.end = end
        self.items: list[Item] = []
        self.size = _OVERHEAD
        self._positions: list[int] = []
        #: how many of the items were held against what was forgotten, and what that was
        self._redacted = 0
        self._forgotten: Forgotten | None = None
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Append an event; positions rise."""
        self.items.append(item)
        self._positions.append(item.position)
        self.size += len(item.raw) + _OVERHEAD

    def redact(self, forgotten: Forgotten, redacted: Callable[[Item, Forgotten], Item]) -> None:
        """Take the words that are forgotten out of every event; ``size`` stays, as the most that it may be."""
        if forgotten is not self._forgotten:
            self._forgotten, self._redacted = forgotten, 0
        for index in range(self._redacted, len(self.items)):
            if forgotten.hits(self.items[index].quotes):
                self.items[index] = redacted(self.items[index], forgotten)
        self._redacted = len(self.items)

    def after(self, position: int) -> list[Item]:
        """Return the events after a position."""
        return self.items[bisect_right(self._positions, position) :]


class FeedCache:
    """The stretches of every view, at most ``max_bytes`` of sealed ones. Lives on one event loop."""

    def __init__(self, max_bytes: int) -> None:
        self.bytes = 0
        self._max_bytes = max_bytes
        self._live: OrderedDict[View, Stretch] = OrderedDict()
        self._sealed: OrderedDict[tuple[View, int], Stretch] = OrderedDict()
        self._starts: dict[View, list[int]] = {}

    def find(self, view: View, after: int) -> Stretch | None:
        """Return the stretch that knows what comes next after a position."""
        live = self._live.get(view)
        if live is not None and live.start <= after < live.end:
            self._live.move_to_end(view)
            live.used = time.monotonic()
            return live
        starts = self._starts.get(view, [])
        before = bisect_right(starts, after)
        if not before:
            return None
        found = self._sealed[view, starts[before - 1]]
        if after >= found.end:
            return None
        self._sealed.move_to_end((view, found.start))
        return found

    def next_start(self, view: View, after: int) -> int:
        """Return where the first stretch after a position begins; the view's live stretch must be open."""
        starts = self._starts.get(view, [])
        behind = bisect_right(starts, after)
        return min([self._live[view].start, *starts[behind : behind + 1]])

    def insert(self, view: View, stretch: Stretch) -> None:
        """Keep a stretch that overlaps no other one."""
        key = view, stretch.start
        if key in self._sealed or stretch.end <= stretch.start:
            return
        self._sealed[key] = stretch
        insort(self._starts.setdefault(view, []), stretch.start)
        self.bytes += stretch.size
        while self.bytes > self._max_bytes:
            (old_view, start), old = self._sealed.popitem(last=False)
            self.bytes -= old.size
            self._forget_start(old_view, start)

    def _forget_start(self, view: View, start: int) -> None:
        starts = self._starts[view]
        starts.remove(start)
        if not starts:
            del self._starts[view]

    # -- what comes live -----------------------------------------------------------------------

    def open(self, view: View, position: int) -> None:
        """Begin a live stretch at the position passed, unless there is one."""
        if view in self._live:
            self._live.move_to_end(view)
            self._live[view].used = time.monotonic()
            return
        self._live[view] = Stretch(position, position, used=time.monotonic())
        if len(self._live) > _LIVE_VIEWS:
            self._live.popitem(last=False)

    def restart(self, view: View, position: int) -> None:
        """Begin the live stretch anew, without what it may have missed."""
        self._live[view] = Stretch(position, position, used=self._live[view].used)

    def close_unused(self, since: float, kept: Container[str]) -> None:
        """Close live stretches that nobody asked for since a time, but not of these profiles."""
        for view, live in list(self._live.items()):
            if live.used < since and view[0] not in kept:
                del self._live[view]

    def opened(self) -> set[View]:
        """Return the views that have a live stretch."""
        return set(self._live)

    def is_behind(self, view: View, position: int) -> bool:
        """Whether what follows a position is older than the view's live stretch."""
        return position < self._live[view].start

    def live_after(self, view: View, position: int) -> list[Item]:
        """Return the events of the view's live stretch after a position."""
        return self._live[view].after(position)

    def is_open(self, view: View) -> bool:
        """Whether the view has a live stretch."""
        return view in self._live

    def extend(self, view: View, items: Sequence[Item]) -> None:
        """Append what was read to the view's live stretch."""
        for item in items:
            self._live[view].add(item)

    def advance(self, position: int) -> None:
        """Let every live stretch reach the position passed; full ones are sealed."""
        for view, live in list(self._live.items()):
            live.end = max(live.end, position)
            if live.size > _LIVE_BYTES or len(live.items) >= _LIVE_EVENTS:
                self._live[view] = Stretch(live.end, live.end, used=live.used)
                self.insert(view, live)

    def drop(self, profile: str) -> None:
        """Forget everything of a profile: a key was destroyed, or an event could not be read."""
        for view in ((profile, False), (profile, True)):
            self._live.pop(view, None)
            for start in self._starts.pop(view, []):
                self.bytes -= self._sealed.pop((view, start)).size

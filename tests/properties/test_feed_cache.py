"""Whatever is kept, dropped or sealed, a reader that walks the cache and the log sees each event once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateways.service.feed_cache import FeedCache, Item, Stretch, View

VIEW: View = ("p", False)


def item(position: int) -> Item:
    """An event of 100 bytes."""
    return Item(position, "message", None, b"x" * 100)


class Reading:
    """A log and a cache over it, read as the feed reads them."""

    def __init__(self, max_bytes: int) -> None:
        self.cache = FeedCache(max_bytes)
        self.log: list[int] = []
        self.passed = 0
        self.reads = 0

    def append(self, count: int, foreign: int) -> None:
        """The reader brings some events of ours and then passes some of others."""
        new = list(range(self.passed + 1, self.passed + 1 + count))
        self.log += new
        self.passed += count + foreign
        if self.cache.is_open(VIEW):
            self.cache.extend(VIEW, [item(position) for position in new])
        self.cache.advance(self.passed)

    def step(self, after: int, page: int) -> tuple[list[int], int]:
        """Return the next positions after one, and how far they reach."""
        found = self.cache.find(VIEW, after)
        if found is None:
            self.reads += 1
            self.cache.open(VIEW, self.passed)
            limit = self.cache.next_start(VIEW, after)
            read = [position for position in self.log if position > after][:page]
            kept = [position for position in read if position <= limit]
            found = Stretch(after, kept[-1] if kept and len(kept) == len(read) else limit, map(item, kept))
            self.cache.insert(VIEW, found)
        return [one.position for one in found.after(after)], found.end


steps = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 700), st.integers(0, 3)),
    st.tuples(st.just("read"), st.integers(0, 2), st.integers(1, 40)),
    st.tuples(st.just("drop"), st.just(0), st.just(0)),
)


@given(steps=st.lists(steps, max_size=60), max_bytes=st.sampled_from([1_000, 20_000, 10**7]))
def test_each_event_once(steps: list[tuple[str, int, int]], max_bytes: int) -> None:
    """Three readers that take turns with appends, evictions and drops each see the whole log in order."""
    reading = Reading(max_bytes)
    places, seen = [0, 0, 0], [[], [], []]  # type: tuple[list[int], list[list[int]]]

    def step(reader: int, page: int) -> None:
        if places[reader] < reading.passed:
            positions, end = reading.step(places[reader], page)
            seen[reader] += positions
            assert end > places[reader]
            places[reader] = end

    for kind, one, other in steps:
        if kind == "append":
            reading.append(one, other)
        elif kind == "read":
            step(one, other)
        else:
            reading.cache.drop("p")
        assert reading.cache.bytes <= max_bytes
    for reader in range(3):
        while places[reader] < reading.passed:
            step(reader, 500)
    assert seen == [reading.log] * 3


def test_a_second_reader_costs_no_read() -> None:
    """What one reader read from the log the next one finds, and what comes live nobody reads."""
    reading = Reading(10**7)
    reading.append(1_000, 0)
    for first in (True, False):
        place = 0
        while place < reading.passed:
            place = reading.step(place, 100)[1]
        if first:
            once = reading.reads
            reading.append(300, 2)
    assert reading.reads == once == 10

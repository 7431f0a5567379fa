"""Windows of a conversation: each message together with what stands around it, scored as one text.

What answers a question often says it in words that stand beside it. A window is measured in words, not in lines: it
grows by the lines before and after as long as there is room, so that a short line is heard with much around it and
a long one by itself. Nothing is indexed twice for that: a term's postings are spread to the neighbours when a query
is made, and BM25 counts over windows (lengths and frequencies).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

import numpy as np
import numpy.typing as npt

__all__ = ["K1", "REACH", "WORDS", "B", "Windows"]

#: BM25's constants, as `whoosh.scoring.BM25F` has them
K1 = 1.2
B = 0.75
#: the most scored terms that a window has room for, unless its own message has more
WORDS = 120
#: the most lines before, and the most after
REACH = 2

_Numbers = npt.NDArray[np.int64]
_Values = npt.NDArray[np.float64]
_Mask = npt.NDArray[np.bool_]


class Windows:
    """The messages of all segments as one row of documents, with the windows that each is heard in.

    ``sizes`` are the segments' documents; the other columns are theirs, one after the other. Documents that are no
    live message (``messages``) have no window and are in nobody's.
    """

    def __init__(
        self,
        *,
        sizes: Sequence[int],
        messages: _Mask,
        scopes: npt.NDArray[np.int32],
        positions: _Numbers,
        lengths: _Values,
    ) -> None:
        self.size = int(sum(sizes))
        self.offsets = [int(at) for at in np.cumsum([0, *sizes])[: len(sizes)]]
        self._messages = messages
        numbers = np.flatnonzero(messages)
        self.count = len(numbers)
        before, after = _beside(numbers, scopes, positions, self.size)
        # For each step away from a document, the message in whose window it stands there (-1 for none).
        self._hearers = list(_hearers(messages, before, after, lengths))
        self._lengths = self._spread(numbers, lengths[numbers])
        self._average = float(self._lengths[numbers].mean()) if self.count else 1.0

    def add(self, documents: _Numbers, frequencies: _Values, scores: _Values) -> None:
        """Add a term's score to every window that holds it; ``documents`` are those that have the term themselves."""
        live = self._messages[documents]
        within = self._spread(documents[live], frequencies[live])
        found = np.flatnonzero(within)
        if not len(found):
            return
        idf = log(self.count / (len(found) + 1)) + 1
        norm = K1 * ((1 - B) + B * (self._lengths[found] / (self._average or 1.0)))
        scores[found] += idf * (within[found] * (K1 + 1) / (within[found] + norm))

    def _spread(self, documents: _Numbers, values: _Values) -> _Values:
        """Return for each document the sum of the values in its window."""
        total = np.zeros(self.size)
        total[documents] += values
        for hearers in self._hearers:
            hearing = hearers[documents]
            # Each document has one at a given distance at most, so that no place is added to twice here.
            total[hearing[hearing >= 0]] += values[hearing >= 0]
        return total


def _beside(
    numbers: _Numbers, scopes: npt.NDArray[np.int32], positions: _Numbers, size: int
) -> tuple[_Numbers, _Numbers]:
    """Return for each document the message before it and the one after it in its session, -1 for none."""
    ordered = numbers[np.lexsort((positions[numbers], scopes[numbers]))]
    together = scopes[ordered][1:] == scopes[ordered][:-1]
    before, after = np.full(size, -1), np.full(size, -1)
    before[ordered[1:][together]] = ordered[:-1][together]
    after[ordered[:-1][together]] = ordered[1:][together]
    return before, after


def _hearers(messages: _Mask, before: _Numbers, after: _Numbers, lengths: _Values) -> Iterator[_Numbers]:
    """Yield, for each side and distance, who hears a document there: -1 where a window ends before it."""
    sides = [(before, np.arange(len(messages))), (after, np.arange(len(messages)))]
    room = np.where(messages, WORDS - lengths, -1.0)
    for _ in range(REACH):
        sides = [(step, np.where(at >= 0, step[at], -1)) for step, at in sides]
        for_both = sum(np.where(at >= 0, lengths[at], 0.0) for _, at in sides)
        # A window that has no room for a distance is closed, also for shorter lines farther off.
        room = np.where(for_both <= room, room - for_both, -1.0)
        for _, at in sides:
            hearing = np.flatnonzero((room >= 0) & (at >= 0))
            hearers = np.full(len(messages), -1)
            hearers[at[hearing]] = hearing
            yield hearers

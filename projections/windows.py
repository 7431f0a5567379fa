"""Windows of a conversation: each message together with the one before and the one after it, scored as one text.

What answers a question often says it in words that stand beside it. Nothing is indexed twice for that: a term's
postings are spread to the neighbours when a query is made, and BM25 counts over windows (lengths and frequencies).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import numpy.typing as npt

__all__ = ["K1", "B", "Windows"]

#: BM25's constants, as `whoosh.scoring.BM25F` has them
K1 = 1.2
B = 0.75

_Numbers = npt.NDArray[np.int64]
_Values = npt.NDArray[np.float64]


class Windows:
    """The messages of all segments as one row of documents, with the neighbours of each (-1 for none).

    ``sizes`` are the segments' documents; the other columns are theirs, one after the other. Documents that are no
    live message (``messages``) have no window and are nobody's neighbour.
    """

    def __init__(
        self,
        *,
        sizes: Sequence[int],
        messages: npt.NDArray[np.bool_],
        scopes: npt.NDArray[np.int32],
        positions: _Numbers,
        lengths: _Values,
    ) -> None:
        self.size = int(sum(sizes))
        self.offsets = [int(at) for at in np.cumsum([0, *sizes])[: len(sizes)]]
        self._messages = messages
        numbers = np.flatnonzero(messages)
        self.count = len(numbers)
        ordered = numbers[np.lexsort((positions[numbers], scopes[numbers]))]
        together = scopes[ordered][1:] == scopes[ordered][:-1]
        self._before, self._after = np.full(self.size, -1), np.full(self.size, -1)
        self._before[ordered[1:][together]] = ordered[:-1][together]
        self._after[ordered[:-1][together]] = ordered[1:][together]
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
        """Return for each document the sum of the values of itself and its neighbours."""
        total = np.zeros(self.size)
        total[documents] += values
        for near in (self._before, self._after):
            beside = near[documents]
            # Each document has one on either side at most, so that no place is added to twice here.
            total[beside[beside >= 0]] += values[beside >= 0]
        return total

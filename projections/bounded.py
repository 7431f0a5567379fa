"""A cache of arrays, bounded by how many numbers it holds; what was asked for least lately leaves first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Bounded"]

K = TypeVar("K")
V = TypeVar("V")
#: What an entry costs beside its numbers.
_ENTRY_COST = 16


class Bounded(Generic[K, V]):
    """Values by key, made where they are missing; safe to share between threads, and each is made once."""

    def __init__(self, most: int, size: Callable[[V], int]) -> None:
        """``most`` numbers are kept, ``size`` says how many a value has; the last value is kept whatever its size."""
        self._most, self._size = most, size
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()
        self._held = 0

    def get(self, key: K, make: Callable[[K], V]) -> V:
        """Return the value of a key, made now if it is not there."""
        with self._lock:
            if (found := self._values.get(key)) is not None:
                self._values.move_to_end(key)
                return found
            found = self._values[key] = make(key)
            self._held += self._size(found) + _ENTRY_COST
            while self._held > self._most and len(self._values) > 1:
                _, dropped = self._values.popitem(last=False)
                self._held -= self._size(dropped) + _ENTRY_COST
            return found

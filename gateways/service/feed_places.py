"""How many feeds of one principal may wait at once, over every surface together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from domain.errors import UnavailableError
from domain.grants import Principal

__all__ = ["FeedPlaces", "check_unchanged"]


def check_unchanged(asked: Principal, now: Principal | None) -> None:
    """Raise UnavailableError when a principal is not what it was when its feed began to wait.

    What a feed found is for the grant that asked, not for what became of it.
    """
    if now != asked:
        raise UnavailableError(
            "the caller's grant changed while the feed waited; ask again", expected="the same", found="another"
        )


class FeedPlaces:
    """Counts the feeds that each principal has open."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    @contextmanager
    def place(self, principal: str) -> Iterator[None]:
        """Hold a place while a feed is answered; raises UnavailableError when the principal has no more."""
        if self._taken[principal] >= self._most:
            raise UnavailableError(
                "too many feeds of this principal wait", expected=f"at most {self._most}", found=f"{self._most + 1}"
            )
        self._taken[principal] += 1
        try:
            yield
        finally:
            self._taken[principal] -= 1
            if not self._taken[principal]:
                del self._taken[principal]

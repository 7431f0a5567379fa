"""An index that is off: it was made by another version or model, and finds nothing until it is made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from domain.indexing import IndexChange
from projections.hit import Hit
from projections.outcome import Outcome

__all__ = ["OffView"]


class OffView:
    """Stands in for an index whose files cannot be asked; it holds nothing and is never behind the ledger."""

    count = 0
    bytes_on_disk = 0
    resident_bytes = 0

    def __init__(self, position: Callable[[], int]) -> None:
        self._position = position

    @property
    def position(self) -> int:
        """The ledger's position."""
        return self._position()

    def waiting(self) -> int:
        """Return 0: nothing waits for vectors here."""
        return 0

    def apply(self, changes: Sequence[IndexChange], *, upto: int, event_id: str) -> Outcome:  # noqa: ARG002
        """Change nothing."""
        return Outcome.SEEN

    def search(
        self,
        query: object,  # noqa: ARG002
        k: int,  # noqa: ARG002
        *,
        kinds: frozenset[str] | None = None,  # noqa: ARG002
        scopes: frozenset[str] | None = None,  # noqa: ARG002
    ) -> list[Hit]:
        """Find nothing."""
        return []

    def search_windows(self, query: object, k: int, *, scopes: frozenset[str] | None = None) -> list[Hit]:  # noqa: ARG002
        """Find nothing."""
        return []

    def close(self) -> None:
        """Nothing to let go of."""

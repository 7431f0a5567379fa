"""Wire types of what model calls came to."""

from __future__ import annotations

from typing import Literal

from umbriel._wire import Reply

__all__ = ["ModelUsage"]


class ModelUsage(Reply, frozen=True):
    """Calls of one model for a profile since its first one, and what they came to.

    ``figures`` says whose the tokens are: the ``provider``'s, ``estimated`` by us where it did not say, or ``both``.
    ``cost`` is in the currency of the configured prices, None where there is none for the model.
    """

    provider: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    figures: Literal["provider", "estimated", "both"]
    cost: float | None = None
    purposes: list[str] = []
    first_day: str = ""
    last_day: str = ""

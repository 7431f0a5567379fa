"""What model calls came to since it was last asked: counted here, recorded in the log by a flusher."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import msgspec

from domain.events import Usage
from domain.ports import Tokens

__all__ = ["Meter", "Prices"]

_MILLION = 1_000_000


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a million tokens cost, in any currency that all prices share."""

    input: float
    output: float

    def of(self, tokens: Tokens) -> float:
        """Return the cost of a call."""
        return (tokens.input * self.input + tokens.output * self.output) / _MILLION


_Key = tuple[str, str, str]


class Meter:
    """Counts per profile, provider, model and purpose; used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, dict[_Key, Usage]] = defaultdict(dict)

    def count(
        self, profile: str, *, provider: str, model: str, purpose: str, tokens: Tokens, prices: Prices | None = None
    ) -> None:
        """Note one answered call."""
        call = Usage(
            provider=provider,
            model=model,
            purpose=purpose,
            calls=1,
            input_tokens=tokens.input,
            output_tokens=tokens.output,
            cost=None if prices is None else prices.of(tokens),
            estimated=tokens.estimated,
        )
        self.put_back(profile, (call,))

    def put_back(self, profile: str, entries: Iterable[Usage]) -> None:
        """Add what was taken and could not be recorded."""
        with self._lock:
            counts = self._counts[profile]
            for entry in entries:
                key = (entry.provider, entry.model, entry.purpose)
                counts[key] = _sum(counts[key], entry) if key in counts else entry

    def take(self, *, without: AbstractSet[str] = frozenset()) -> dict[str, tuple[Usage, ...]]:
        """Return and forget what was counted, except for the profiles ``without``."""
        with self._lock:
            taken = [profile for profile in self._counts if profile not in without]
            return {profile: tuple(self._counts.pop(profile).values()) for profile in taken}


def _sum(one: Usage, other: Usage) -> Usage:
    costs = [cost for cost in (one.cost, other.cost) if cost is not None]
    return Usage(
        provider=one.provider,
        model=one.model,
        purpose=one.purpose,
        calls=one.calls + other.calls,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cost=sum(costs) if costs else None,
        estimated=one.estimated or other.estimated,
    )

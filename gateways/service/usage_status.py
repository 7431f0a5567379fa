"""What model calls of profiles came to, by model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from projections.ledger import UsageRecord
from umbriel.usage import ModelUsage

__all__ = ["usage_of"]


def usage_of(records: Iterable[UsageRecord]) -> list[ModelUsage]:
    """Return what the calls of each model came to, the model with the most tokens first."""
    by_model: dict[tuple[str, str], list[UsageRecord]] = {}
    for one in records:
        by_model.setdefault((one.provider, one.model), []).append(one)
    found = [_summed(calls) for calls in by_model.values()]
    return sorted(found, key=lambda one: (-one.input_tokens - one.output_tokens, one.provider, one.model))


def _summed(records: Sequence[UsageRecord]) -> ModelUsage:
    costs = [one.cost for one in records if one.cost is not None]
    estimated = {one.estimated for one in records}
    return ModelUsage(
        provider=records[0].provider,
        model=records[0].model,
        calls=sum(one.calls for one in records),
        input_tokens=sum(one.input_tokens for one in records),
        output_tokens=sum(one.output_tokens for one in records),
        figures="both" if len(estimated) > 1 else "estimated" if estimated.pop() else "provider",
        cost=round(sum(costs), 6) if costs else None,
        purposes=sorted({one.purpose for one in records}),
        first_day=min(one.day for one in records),
        last_day=max(one.day for one in records),
    )

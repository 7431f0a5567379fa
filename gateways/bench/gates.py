"""Gates: the least a total may be, such as ``R@10=60`` or ``sessions:hit@1=75``, in per cent."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gateways.bench.metrics import NAMES
from gateways.bench.report import Report
from umbriel import InvalidInputError

__all__ = ["Gate", "failures", "parse_gate"]

_LEVELS = {"": "turns", "turns": "turns", "session": "sessions", "sessions": "sessions"}
_MOST = 100.0
_METRICS = {name.replace("@", "").casefold(): name for name in NAMES}


class Gate(msgspec.Struct, frozen=True):
    """The least a metric's total may be. Turns count without category 5, sessions with it."""

    level: str
    metric: str
    least: float

    def found(self, report: Report) -> float:
        """Return the total that this gate is about, in per cent."""
        return report.total(self.level, adversarial=self.level == "sessions").scores.get(self.metric, 0.0)


def parse_gate(text: str) -> Gate:
    """Return the gate that ``[sessions:]METRIC=PERCENT`` names; ``r10`` is ``R@10``.

    Raises InvalidInputError for an unknown level or metric, and for what is no percentage.
    """
    name, _, least = text.partition("=")
    level, _, metric = name.rpartition(":")
    try:
        return Gate(
            _LEVELS[level.strip().casefold()],
            _METRICS[metric.strip().replace("@", "").casefold()],
            _percent(least),
        )
    except (KeyError, ValueError):
        expected = f"[sessions:]METRIC=PERCENT, with a metric of {', '.join(NAMES)}"
        raise InvalidInputError("not a gate", expected=expected, found=ascii(text)[:60]) from None


def failures(gates: Iterable[Gate], report: Report) -> list[str]:
    """Return one line for each gate that the report does not pass."""
    return [
        f"{gate.level} {gate.metric} is {gate.found(report):.2f}, the gate is {gate.least:g}"
        for gate in gates
        if gate.found(report) < gate.least
    ]


def _percent(text: str) -> float:
    value = float(text)
    if not 0 <= value <= _MOST:
        raise ValueError(text)
    return value

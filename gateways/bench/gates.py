"""Gates: the least a total may be, such as ``R@10=60``, ``sessions:hit@1=75`` or ``beam:R@10=56``, in per cent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from gateways.bench.metrics import NAMES
from gateways.bench.report import Report
from umbriel import InvalidInputError

__all__ = ["BENCHMARKS", "Gate", "failures", "parse_gate"]

#: The sets that can be measured; a gate that names none is about the first.
BENCHMARKS = ("locomo", "beam", "longmemeval", "observations")

_LEVELS = {"": "turns", "turns": "turns", "session": "sessions", "sessions": "sessions"}
_MOST = 100.0
_METRICS = {name.replace("@", "").casefold(): name for name in NAMES}


class Gate(msgspec.Struct, frozen=True):
    """The least a metric's total may be. LoCoMo's turns count without category 5, its sessions with it."""

    benchmark: str
    level: str
    metric: str
    least: float

    def found(self, reports: Iterable[Report]) -> float | None:
        """Return the total that this gate is about, in per cent; None when it was not measured."""
        for report in reports:
            if report.benchmark == self.benchmark:
                total = report.total(self.level, adversarial=self.level == "sessions")
                return None if total is None else total.scores.get(self.metric)
        return None

    def __str__(self) -> str:
        """Name it as it is written."""
        return f"{self.benchmark} {self.level} {self.metric}"


def parse_gate(text: str) -> Gate:
    """Return the gate that ``[SET:][sessions:]METRIC=PERCENT`` names; ``r10`` is ``R@10``, the set else ``locomo``.

    Raises InvalidInputError for an unknown set, level or metric, and for what is no percentage.
    """
    name, _, least = text.partition("=")
    *where, metric = (part.strip().casefold() for part in name.split(":"))
    benchmark = where.pop(0) if where and where[0] in BENCHMARKS else BENCHMARKS[0]
    try:
        (level,) = where or [""]
        return Gate(benchmark, _LEVELS[level], _METRICS[metric.replace("@", "")], _percent(least))
    except (KeyError, ValueError):
        expected = f"[{'|'.join(BENCHMARKS)}:][sessions:]METRIC=PERCENT, with a metric of {', '.join(NAMES)}"
        raise InvalidInputError("not a gate", expected=expected, found=ascii(text)[:60]) from None


def failures(gates: Iterable[Gate], reports: Sequence[Report]) -> list[str]:
    """Return one line for each gate that the reports do not pass; what was not measured passes nothing."""
    lines = []
    for gate in gates:
        found = gate.found(reports)
        if found is None:
            lines.append(f"{gate} was not measured, the gate is {gate.least:g}")
        elif found < gate.least:
            lines.append(f"{gate} is {found:.2f}, the gate is {gate.least:g}")
    return lines


def _percent(text: str) -> float:
    value = float(text)
    if not 0 <= value <= _MOST:
        raise ValueError(text)
    return value

"""What a speed run found, as one Struct: figures by size, ratios beside their limit or peer, targets and gates.

Milliseconds of one machine say little about another; a ratio to what was measured in the same run does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from gateways.bench.metrics import percentile
from gateways.bench.speed_peer import PeerFigures
from umbriel import InvalidInputError

__all__ = ["RATIOS", "Figure", "Ratio", "SizeReport", "SpeedGate", "SpeedReport", "figure", "misses", "parse", "ratios"]

#: The names of what a gate may bound, each with what it is.
RATIOS = {
    "recall/embedding": "recall p50 over one query embedding alone, p50",
    "recall/peer": "recall p50 over the peer's search, p50",
    "remember/peer": "remember p50 over the peer's add, p50",
    "remember-p99/peer": "remember p99 over the peer's add, p99",
    "visible": "a write until recall finds it by its words, p95 in milliseconds",
}
#: Recall may take this many times one embedding, up to so many memories.
_RECALL_TARGETS = ((1_000, 2.0), (10_000, 3.0), (100_000, 8.0))
_REMEMBER_TARGET = 0.1
_VISIBLE_TARGET = 250.0


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of ``count`` measurements of one kind."""

    count: int
    p50: float
    p95: float
    p99: float


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """One of `RATIOS` at one size, and the most it should be (None: no target is set)."""

    name: str
    value: float
    target: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met, None where there is none."""
        return None if self.target is None else self.value <= self.target


class SizeReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything measured with ``size`` memories in a profile. ``loaded_per_second`` is until every view was complete.

    ``found_by_meaning`` waits for the embedding as well, ``found_by_words`` does not.
    """

    size: int
    loaded_per_second: float
    remember: Figure
    recall: Figure
    embedding: Figure
    found_by_words: Figure
    found_by_meaning: Figure
    peer: PeerFigures | None = None
    ratios: list[Ratio] = []


class SpeedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run: the service's version, the embedding model of the limit, the peer's name, and the sizes."""

    version: str
    model: str
    peer: str
    sizes: list[SizeReport]


class SpeedGate(msgspec.Struct, frozen=True):
    """The most a ratio may be, at one size or (None) at every size."""

    name: str
    size: int | None
    most: float

    def __str__(self) -> str:
        """Name it as it is written."""
        return self.name if self.size is None else f"{self.name}@{self.size}"


def figure(seconds: Sequence[float]) -> Figure:
    """Return the percentiles of measurements in seconds, as milliseconds."""
    p50, p95, p99 = (round(1000 * percentile(seconds, percent), 3) for percent in (50, 95, 99))
    return Figure(count=len(seconds), p50=p50, p95=p95, p99=p99)


def ratios(report: SizeReport) -> list[Ratio]:
    """Return the ratios that can be made of what was measured, each with its target."""
    peer = report.peer or PeerFigures()
    recall_target = next((most for size, most in _RECALL_TARGETS if report.size <= size), None)
    parts: list[tuple[str, float, float | None, float | None]] = [
        ("recall/embedding", report.recall.p50, report.embedding.p50, recall_target),
        ("recall/peer", report.recall.p50, peer.search_p50, None),
        ("remember/peer", report.remember.p50, peer.add_p50, _REMEMBER_TARGET),
        ("remember-p99/peer", report.remember.p99, peer.add_p99, _REMEMBER_TARGET),
        ("visible", report.found_by_words.p95, 1.0, _VISIBLE_TARGET),
    ]
    return [
        Ratio(name=name, value=round(value / beside, 3), target=target)
        for name, value, beside, target in parts
        if beside
    ]


def parse(text: str) -> SpeedGate:
    """Return the gate that ``NAME[@SIZE]=MOST`` names; raises InvalidInputError for what is none."""
    name, _, most = text.partition("=")
    name, at, size = name.strip().partition("@")
    try:
        gate = SpeedGate(name.casefold(), int(size) if at else None, float(most))
    except ValueError:
        gate = SpeedGate("", None, 0.0)
    if gate.name not in RATIOS or not gate.most > 0:
        expected = f"NAME[@SIZE]=MOST, with a name of {', '.join(RATIOS)}"
        raise InvalidInputError("not a gate", expected=expected, found=ascii(text)[:60])
    return gate


def misses(gates: Iterable[SpeedGate], report: SpeedReport) -> list[str]:
    """Return one line for each gate that a report does not pass; what was not measured passes nothing."""
    lines = []
    for gate in gates:
        sizes = [one for one in report.sizes if gate.size in (None, one.size)]
        found = [(one.size, ratio.value) for one in sizes for ratio in one.ratios if ratio.name == gate.name]
        if not found or len(found) < len(sizes):
            lines.append(f"{gate} was not measured, the gate is {gate.most:g}")
        lines.extend(
            f"{gate.name}@{size} is {value:.2f}, the gate is {gate.most:g}"
            for size, value in found
            if value > gate.most
        )
    return lines

"""How a scale run looks to people: figures by size, a chart of their growth, and how profiles open among many."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.table import Table

from gateways.bench.scale_report import ProfilesReport, ScaleReport, ScaleSize
from gateways.bench.show import make_console

__all__ = ["show_scale"]

_BAR = 40
_MIB = 1024**2


def show_scale(report: ScaleReport) -> None:
    """Print the figures, the chart, and what they were measured on."""
    console = make_console()
    console.print(_sizes(report.sizes))
    for line in chart(report.sizes):
        console.print(line)
    if report.profiles:
        console.print(_profiles(report.profiles))
    made = "sums of word vectors, no model" if report.vectors == "words" else report.vectors
    console.print(f"a replayed log of made-up memories, not the public path; vectors: {made}; times of processor")


def _sizes(sizes: Iterable[ScaleSize]) -> Table:
    found = list(sizes)
    table = Table(title="growth, by memories in a profile", title_justify="left", header_style="bold")
    table.add_column("figure", no_wrap=True)
    for one in found:
        table.add_column(f"{one.memories:,}", justify="right", no_wrap=True)
    for name, cell in _ROWS:
        table.add_row(name, *map(cell, found))
    return table


_ROWS: tuple[tuple[str, Callable[[ScaleSize], str]], ...] = (
    ("recall p50, ms", lambda one: f"{one.recall.p50:.1f}"),
    ("recall p95, ms", lambda one: f"{one.recall.p95:.1f}"),
    ("recall p99, ms", lambda one: f"{one.recall.p99:.1f}"),
    ("embedding of a query p50, ms", lambda one: f"{one.embedding.p50:.1f}"),
    ("recall / embedding", lambda one: f"{one.recall_ratio:.2f}"),
    ("target", lambda one: "-" if one.target is None else f"≤ {one.target:g}"),
    ("of the ten nearest by exact search, found", lambda one: f"{one.recall_at_10:.3f}"),
    ("memories rebuilt a second", lambda one: f"{one.rebuilt_per_second:.0f}"),
    ("of Whoosh alone", lambda one: f"{one.rebuild_ratio:.0%}"),
    ("opening, s", lambda one: f"{one.open_seconds:.2f}"),
    ("memory, MiB", lambda one: f"{one.resident_bytes / _MIB:.0f}"),
    ("mapped pages of files, MiB", lambda one: f"{one.mapped_bytes / _MIB:.0f}"),
    ("bytes on disk for each memory", lambda one: f"{one.disk_bytes / one.memories:.0f}"),
    ("disk / (texts + vectors)", lambda one: f"{one.disk_ratio:.2f}"),
)


def chart(sizes: Iterable[ScaleSize]) -> list[str]:
    """Return a bar a size: recall as a multiple of one embedding, with a mark at the target."""
    rows = list(sizes)
    most = max([one.recall_ratio for one in rows] + [one.target or 0.0 for one in rows], default=0.0) or 1.0
    lines = []
    for one in rows:
        bar = list("█" * max(1, round(_BAR * one.recall_ratio / most))) + [" "] * _BAR
        if one.target is not None:
            bar[min(_BAR, round(_BAR * one.target / most))] = "|"
        lines.append(f"{one.memories:>10,} {''.join(bar[: _BAR + 1])} {one.recall_ratio:.1f}")
    return lines


def _profiles(found: Iterable[ProfilesReport]) -> Table:
    table = Table(title="cold profiles, milliseconds of wall clock", title_justify="left", header_style="bold")
    for name in ("profiles", "memories each", "p50", "p95", "p99", "target p95", "files left open"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        values = (one.cold_recall.p50, one.cold_recall.p95, one.cold_recall.p99)
        table.add_row(
            f"{one.profiles:,}",
            str(one.memories),
            *(f"{value:.1f}" for value in values),
            "≤ 150",
            str(one.descriptors_left),
        )
    return table

"""How a speed run looks to people: figures by size, then ratios beside their targets."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from gateways.bench.show import make_console
from gateways.bench.speed_report import RATIOS, Figure, Ratio, SizeReport, SpeedReport

__all__ = ["show_speed"]

_VERDICTS = {None: "", True: "met", False: "missed"}


def show_speed(report: SpeedReport) -> None:
    """Print the figures, the ratios, and what is missing with why."""
    console = make_console()
    console.print(_figures(report))
    console.print(_ratios(report))
    for one in report.sizes:
        if one.peer is not None and one.peer.missing:
            console.print(f"{report.peer} at {one.size:,} is missing: {one.peer.missing}")
    if not report.peer:
        console.print("no peer was measured: name one with --peer")


def _figures(report: SpeedReport) -> Table:
    table = Table(title="speed, milliseconds, through NATS", title_justify="left", header_style="bold")
    table.add_column("memories", justify="right")
    table.add_column("figure", no_wrap=True)
    for name in ("n", "p50", "p95", "p99"):
        table.add_column(name, justify="right", no_wrap=True)
    for size in report.sizes:
        for name, found in _rows(size, report):
            table.add_row(f"{size.size:,}", name, *found)
        table.add_section()
    return table


def _rows(size: SizeReport, report: SpeedReport) -> Iterable[tuple[str, tuple[str, ...]]]:
    yield "remember until acknowledged, durable", _cells(size.remember)
    yield "recall", _cells(size.recall)
    yield f"embedding of a query alone ({report.model})", _cells(size.embedding)
    yield "write until found by words", _cells(size.found_by_words)
    yield "write until found by meaning", _cells(size.found_by_meaning)
    yield "loading until complete, memories a second", ("", f"{size.loaded_per_second:.0f}", "", "")
    if size.peer is not None and not size.peer.missing:
        for name, p50, p99 in (
            ("add", size.peer.add_p50, size.peer.add_p99),
            ("search", size.peer.search_p50, size.peer.search_p99),
        ):
            yield f"{report.peer}: {name}", ("", _number(p50), "", _number(p99))


def _cells(found: Figure) -> tuple[str, ...]:
    return str(found.count), *(_number(value) for value in (found.p50, found.p95, found.p99))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _ratios(report: SpeedReport) -> Table:
    table = Table(title="ratios of this run", title_justify="left", header_style="bold")
    for name in ("memories", "ratio"):
        table.add_column(name, justify="right" if name == "memories" else "left", no_wrap=True)
    for name in ("found", "target", ""):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("what it is")
    for size in report.sizes:
        for one in size.ratios:
            table.add_row(
                f"{size.size:,}", one.name, f"{one.value:.2f}", _target(one), _VERDICTS[one.met], RATIOS[one.name]
            )
        table.add_section()
    return table


def _target(one: Ratio) -> str:
    return "-" if one.target is None else f"≤ {one.target:g}"

"""How a run looks to people: tables on stdout, progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from gateways.bench.ablation_show import ablation_table
from gateways.bench.conversations import YieldReport
from gateways.bench.extraction import ExtractionReport, Part
from gateways.bench.metrics import NAMES
from gateways.bench.report import TOTAL, Group, Report

__all__ = ["make_console", "note", "progress", "show", "show_extraction", "show_yield"]

_PIPE_WIDTH = 120
_SESSION_METRICS = ("R@5", "R@10", "hit@1", "hit@5", "MRR")


def show(report: Report) -> None:
    """Print a report: turns, sessions, and what it cost."""
    console = make_console()
    for level, metrics, groups in (("turns", NAMES, report.turns), ("sessions", _SESSION_METRICS, report.sessions)):
        if groups:
            console.print(_table(f"{report.benchmark} {level}, {report.file}, per cent", metrics, groups))
    if report.ablation:
        console.print(ablation_table(f"{report.benchmark} by channel, {report.file}, per cent", report.ablation))
    for line in _lines(report):
        console.print(line)


def show_extraction(report: ExtractionReport) -> None:
    """Print a report on labelled lines: precision and recall by fact type, then what was wrong and what was missed."""
    console = make_console()
    for part in report.parts:
        console.print(_extraction_table(f"{report.extractor} on {report.file}, {part.name}, per cent", part))
        console.print(
            f"{part.lines} lines, {part.silent} of which state nothing; {part.items} items, "
            f"{part.items_per_100:.1f} per 100 lines; {part.ms_per_line:.3f} ms per line"
        )
        for title, entries in (("wrong", part.wrong), ("missed", part.missed)):
            for entry in entries:
                console.print(f"{title}: {entry}")


def show_yield(report: YieldReport) -> None:
    """Print what was found in conversations without labels, and the sample."""
    console = make_console()
    console.print(
        f"{report.extractor}: {report.items} items in {report.lines} lines of {report.conversations} conversations, "
        f"{report.items_per_100:.1f} per 100 lines; {report.ms_per_line:.3f} ms per line"
    )
    console.print(", ".join(f"{name} {count}" for name, count in report.by_type.items()))
    for item in report.sample:
        console.print(f"{item.fact_type}: {item.text}  <- {item.line}")


def _extraction_table(title: str, part: Part) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("fact type", no_wrap=True)
    for name in ("expected", "found", "right", "precision", "recall"):
        table.add_column(name, justify="right", no_wrap=True)
    for score in part.scores:
        shares = ("-" if share is None else f"{share:.1f}" for share in (score.precision, score.recall))
        counts = (str(count) for count in (score.expected, score.found, score.right))
        table.add_row(score.fact_type, *counts, *shares, style="bold" if score.fact_type == TOTAL else "")
    return table


def make_console() -> Console:
    """Return a console on stdout; where that is a pipe, of a width that tables fit in."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def progress() -> Progress:
    """Return a progress display on stderr; nothing where stderr is no terminal."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def note(bar: Progress, text: str) -> None:
    """Write one line to stderr, above the bars where there are any."""
    bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


def _table(title: str, metrics: Sequence[str], groups: Iterable[Group]) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("category", no_wrap=True)
    for name in ("n", *metrics):
        table.add_column(name, justify="right", no_wrap=True)
    for group in groups:
        cells = [f"{group.scores[name]:.1f}" if name in group.scores else "-" for name in metrics]
        style = "bold" if group.name.startswith(TOTAL) else ""
        table.add_row(group.name, str(group.questions), *cells, style=style)
    return table


def _lines(report: Report) -> Iterable[str]:
    index, query = report.index, report.query
    yield (
        f"index: {index.messages} items ({index.recorded} new) in {index.seconds:.1f} s "
        f"until complete, {index.messages_per_second:.0f}/s"
    )
    yield f"query: {query.questions} questions, p50 {query.p50_ms:.1f} ms, p95 {query.p95_ms:.1f} ms"
    if report.skipped or report.unresolved:
        yield (
            f"left out: {report.skipped} questions without evidence that can be found; "
            f"{len(report.unresolved)} entries of evidence name no turn"
        )

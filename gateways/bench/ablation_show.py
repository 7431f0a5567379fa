"""How an ablation looks to people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from gateways.bench.ablation import Row

__all__ = ["ablation_table"]


def ablation_table(title: str, rows: Iterable[Row]) -> Table:
    """Return a table of what each way of asking scores, how far that is from all channels, and what it takes."""
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("asked", no_wrap=True)
    for name in ("n", "R@10", "±", "MRR", "±", "ms"):
        table.add_column(name, justify="right", no_wrap=True)
    kind = ""
    for row in rows:
        if kind not in ("", row.kind):
            table.add_section()
        kind = row.kind
        cells = (cell for metric in ("R@10", "MRR") for cell in _cells(row, metric))
        table.add_row(
            row.name, str(row.questions), *cells, f"{row.mean_ms:.1f}", style="bold" if kind == "full" else ""
        )
    return table


def _cells(row: Row, metric: str) -> tuple[str, str]:
    change = "" if row.kind == "full" else f"{row.change.get(metric, 0.0):+.1f}"
    return f"{row.scores[metric]:.1f}", change

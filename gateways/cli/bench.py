"""``umbriel bench``: hands its arguments to the benchmarks, which are loaded only then."""

from __future__ import annotations

import importlib

import typer

__all__ = ["bench"]


def bench(context: typer.Context) -> None:
    """Run a benchmark, as `bench retrieval --locomo FILE`; `bench --help` says which there are."""
    benchmarks: typer.Typer = importlib.import_module("gateways.bench.cli").app
    command = typer.main.get_command(benchmarks)
    outcome = command.main(context.args, prog_name="umbriel bench", standalone_mode=False)
    raise typer.Exit(outcome if isinstance(outcome, int) else 0)

"""``umbriel bench``: hands its arguments to the benchmarks, which are loaded only then."""

from __future__ import annotations

import importlib

import typer

__all__ = ["bench"]


def bench(context: typer.Context) -> None:
    """Run a benchmark, as `bench retrieval --locomo FILE`; `bench --help` says which there are."""
    code: int = importlib.import_module("gateways.bench").main(context.args)
    raise typer.Exit(code)

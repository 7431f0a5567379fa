"""Benchmarks: retrieval on conversations with known evidence, measured through the public API."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run ``umbriel bench`` with these arguments and return its exit code; errors are raised as they are."""
    from typer.main import get_command

    from gateways.bench.cli import app

    outcome = get_command(app).main(list(arguments) or ["--help"], prog_name="umbriel bench", standalone_mode=False)
    return outcome if isinstance(outcome, int) else 0

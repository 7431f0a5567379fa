"""The command line: the service's verbs for people and scripts."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with a code that means something."""
    from gateways.cli.app import run

    run()

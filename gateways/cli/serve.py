"""``umbriel serve``: the service itself, in the foreground."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from umbriel import data_directory

__all__ = ["serve"]


def serve(
    data: Annotated[
        Path | None, typer.Option("--data", envvar="UMBRIEL_DATA", help="The data directory; made when missing.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="Port of the embedded NATS; a free one by default.")
    ] = None,
    nats: Annotated[str | None, typer.Option("--nats", help="Use this NATS instead of an embedded one.")] = None,
    exit_when_idle: Annotated[bool, typer.Option("--exit-when-idle", help="Stop when nobody asks any more.")] = False,
) -> None:
    """Run the service in the foreground, with its own NATS unless --nats is given."""
    from gateways import bootstrap

    asyncio.run(bootstrap.serve(data_directory(data), port=port, nats=nats, exit_when_idle=exit_when_idle))

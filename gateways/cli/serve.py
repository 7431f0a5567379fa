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
    *,
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="Port of the embedded NATS; a free one by default.")
    ] = None,
    nats: Annotated[
        str | None,
        typer.Option(
            "--nats", help="Use this NATS instead of an embedded one; several servers of a cluster with commas."
        ),
    ] = None,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            help="What this instance does besides keeping views: api (answer requests), worker (think), with a comma.",
        ),
    ] = "api,worker",
    replicas: Annotated[
        int, typer.Option("--replicas", min=1, max=5, help="Copies of every stream, on as many servers of --nats.")
    ] = 1,
    exit_when_idle: Annotated[bool, typer.Option("--exit-when-idle", help="Stop when nobody asks any more.")] = False,
    bind: Annotated[
        str, typer.Option("--bind", help="The address to listen on; another than loopback needs TLS.")
    ] = "127.0.0.1",
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="The certificate chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="The certificate's key, PEM.")] = None,
    tls_ca: Annotated[
        Path | None, typer.Option("--tls-ca", help="Authorities, PEM: the chain's, or that of the server at --nats.")
    ] = None,
    http: Annotated[
        str,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            envvar="UMBRIEL_HTTP",
            help="Serve the REST API too; port 0 is a free one. Another host than loopback needs TLS.",
        ),
    ] = "",
    thinking: Annotated[
        bool, typer.Option("--thinking/--no-thinking", help="Read conversations for memories, and judge new memories.")
    ] = True,
) -> None:
    """Run the service in the foreground, with its own NATS unless --nats is given."""
    from domain.settings import Settings
    from gateways import bootstrap, serving

    tls = bootstrap.tls_of(tls_cert, tls_key, tls_ca)
    asyncio.run(
        serving.serve(
            data_directory(data),
            port=port,
            nats=nats,
            exit_when_idle=exit_when_idle,
            bind=bind,
            tls=tls,
            tls_ca=tls_ca,
            settings=Settings(thinking=thinking, replicas=replicas, roles=_roles(role, http)),
            http=http,
        )
    )


def _roles(text: str, http: str) -> tuple[str, ...]:
    """Return the roles that are named, or raise InvalidInputError."""
    from domain.errors import InvalidInputError

    named = tuple(part.strip() for part in text.split(","))
    if not {"api", "worker"}.issuperset(named):
        raise InvalidInputError("no such role", expected="api, worker, or both", found=text)
    if http and "api" not in named:
        raise InvalidInputError("what serves HTTP answers requests", expected="--role with api", found=text)
    return named

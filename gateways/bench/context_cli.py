"""``umbriel bench context``: how long a context takes, beside an empty one and an embedding in the same run."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from gateways.bench import show
from gateways.bench.context_speed import TARGET, ContextReport, measure_context
from gateways.bench.place import Place
from gateways.bench.speed_report import Figure
from gateways.models.minilm import MiniLMEmbedder
from umbriel import InvalidInputError

__all__ = ["context"]


def context(
    messages: Annotated[int, typer.Option("--messages", min=2, help="How long the conversation is.")] = 2_000,
    budget: Annotated[int, typer.Option("--budget", min=100, help="Tokens of a context.")] = 8_000,
    queries: Annotated[int, typer.Option("--queries", min=1, help="How many contexts to measure of each.")] = 100,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the report as JSON to this file.")] = None,
    gate: Annotated[
        float | None, typer.Option("--gate", min=0.001, metavar="MS", help="Fail when the p50 is more milliseconds.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Measure on this data directory; a temporary one when not given.")
    ] = None,
    nats: Annotated[str | None, typer.Option("--nats", help="Measure the running service at this NATS URL.")] = None,
    principal: Annotated[
        str, typer.Option("--principal", envvar="UMBRIEL_PRINCIPAL", help="Who asks; with --nats see UMBRIEL_PASSWORD.")
    ] = "local",
) -> None:
    """Measure how long a context over a long conversation in English, German and Japanese takes.

    It is written into a new profile, which stays where --data or --nats name a place.
    """
    if out is not None and not out.absolute().parent.is_dir():
        raise InvalidInputError(f"cannot write {out}", expected="a file in a directory that exists", found="none")
    report = asyncio.run(_run(Place(data=data, nats=nats, principal=principal), messages, budget, queries))
    encoded = msgspec.json.format(msgspec.json.encode(report), indent=2)
    if out is not None:
        out.write_bytes(encoded + b"\n")
    if json:
        sys.stdout.write(encoded.decode() + "\n")
    else:
        _show(report)
    if gate is not None and report.context.p50 > gate:
        sys.stderr.write(f"umbriel: gate failed: context p50 is {report.context.p50:.1f} ms, the gate is {gate:g}\n")
        raise typer.Exit(1)


async def _run(place: Place, messages: int, budget: int, queries: int) -> ContextReport:
    embedder = MiniLMEmbedder()
    with show.progress() as bar:
        loading = bar.add_task("loading", total=2 * messages)
        measuring = bar.add_task("measuring", total=queries)
        async with place.connected() as client:
            return await measure_context(
                client.for_profile(f"context-{messages}-{secrets.token_hex(4)}"),
                embedder,
                version=(await client.status(service=True)).version,
                model=embedder.model,
                messages=messages,
                budget=budget,
                queries=queries,
                loaded=lambda done: bar.advance(loading, done),
                measured=lambda done: bar.advance(measuring, done),
            )


def _show(report: ContextReport) -> None:
    title = f"context of {report.budget:,} tokens, milliseconds, through NATS"
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("figure", no_wrap=True)
    for name in ("n", "p50", "p95", "p99"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, found in (
        (f"context of a conversation of {report.messages:,} messages", report.context),
        ("context of an empty conversation", report.empty),
        (f"embedding of a query alone ({report.model})", report.embedding),
    ):
        table.add_row(name, *_cells(found))
    console = show.make_console()
    console.print(table)
    kinds = ", ".join(f"{count} {kind}" for kind, count in report.parts.items())
    console.print(f"{report.tokens:,} tokens shown: {kinds}")
    verdict = "met" if report.met else "missed"
    console.print(f"target: p50 of {TARGET:g} ms over 2,000 messages: {verdict}" if report.messages >= 2_000 else "")  # noqa: PLR2004 -- what the target is about


def _cells(found: Figure) -> tuple[str, ...]:
    return str(found.count), *(f"{value:.1f}" for value in (found.p50, found.p95, found.p99))

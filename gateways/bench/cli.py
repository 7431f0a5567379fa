"""``umbriel bench``: benchmarks on files that people bring."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateways.bench import show
from gateways.bench.gates import failures, parse_gate
from gateways.bench.locomo import Sample, read_samples
from gateways.bench.place import Place
from gateways.bench.report import Report, make_report
from gateways.bench.run import Measured, Watcher, measure
from umbriel import InvalidInputError, Umbriel

__all__ = ["app"]

app = typer.Typer(name="bench", add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def bench() -> None:
    """Benchmarks on files that you bring."""


@app.command()
def retrieval(
    locomo: Annotated[Path, typer.Option("--locomo", metavar="FILE", help="A LoCoMo file, such as locomo10.json.")],
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N conversations.")] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the report as JSON to this file.")] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="METRIC=PERCENT",
            help="Fail when a total is less: R@10=60, sessions:hit@1=75; repeatable.",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Measure on this data directory; a temporary one when not given.")
    ] = None,
    nats: Annotated[str | None, typer.Option("--nats", help="Measure the running service at this NATS URL.")] = None,
    principal: Annotated[
        str, typer.Option("--principal", envvar="UMBRIEL_PRINCIPAL", help="Who asks; with --nats see UMBRIEL_PASSWORD.")
    ] = "local",
) -> None:
    """Measure how well recall finds the evidence for each question of a conversation.

    Each conversation is written into a profile of its own name; a second run on the same data writes nothing.
    """
    gates = [parse_gate(text) for text in gate or []]
    if out is not None and not out.absolute().parent.is_dir():
        raise InvalidInputError(f"cannot write {out}", expected="a file in a directory that exists", found="none")
    samples = read_samples(locomo, limit=limit)
    place = Place(data=data, nats=nats, principal=principal)
    report = asyncio.run(_run(place, locomo, samples))
    encoded = msgspec.json.format(msgspec.json.encode(report), indent=2)
    if out is not None:
        out.write_bytes(encoded + b"\n")
    if json:
        sys.stdout.write(encoded.decode() + "\n")
    else:
        show.show(report)
    if failed := failures(gates, report):
        sys.stderr.writelines(f"umbriel: gate failed: {line}\n" for line in failed)
        raise typer.Exit(1)


async def _run(place: Place, file: Path, samples: list[Sample]) -> Report:
    runs: list[Measured] = []
    with show.progress() as bar:
        messages = sum(len(session.messages) for sample in samples for session in sample.sessions)
        indexing = bar.add_task("indexing", total=messages)
        asking = bar.add_task("asking", total=sum(len(sample.questions) for sample in samples))
        watcher = Watcher(lambda done: bar.advance(indexing, done), lambda done: bar.advance(asking, done))
        async with place.connected() as client:
            for sample in samples:
                runs.append(await measure(client, sample, sample.name, watcher))
                show.note(bar, _line(runs[-1]))
            version = await _version(client)
    return make_report(file, samples, runs, version)


def _line(run: Measured) -> str:
    return f"{run.name}: {run.messages} messages in {run.index_seconds:.1f} s, {len(run.answers)} questions"


async def _version(client: Umbriel) -> str:
    return (await client.status(service=True)).version

"""``umbriel bench``: benchmarks on files that people bring."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.progress import Progress

from gateways.bench import beam as beam_set
from gateways.bench import locomo as locomo_set
from gateways.bench import longmemeval as longmemeval_set
from gateways.bench import show
from gateways.bench.ablation import Ablated, Ablation, parse_settings
from gateways.bench.ablation import ablate as ablate_sample
from gateways.bench.context_cli import context
from gateways.bench.conversations import YieldReport, measure_yield
from gateways.bench.exporting import export
from gateways.bench.extraction import ExtractionReport, measure_extraction, read_labelled
from gateways.bench.gates import failures, parse_gate
from gateways.bench.judging import judge
from gateways.bench.mutating import mutate
from gateways.bench.place import Place
from gateways.bench.report import Report, apart_of, make_report
from gateways.bench.run import Asking, Measured, Watcher, measure
from gateways.bench.samples import Sample
from gateways.bench.scale_cli import scale
from gateways.bench.speed_cli import speed
from gateways.extraction.offline import OfflineExtractor
from umbriel import InvalidInputError, Umbriel

__all__ = ["app"]

app = typer.Typer(name="bench", add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def bench() -> None:
    """Benchmarks on files that you bring."""


_READERS: dict[str, Callable[..., list[Sample]]] = {
    "locomo": locomo_set.read_samples,
    "beam": beam_set.read_samples,
    "longmemeval": longmemeval_set.read_samples,
    "observations": locomo_set.read_observations,
}


class _Task(msgspec.Struct, frozen=True):
    """One set to measure."""

    benchmark: str
    path: Path
    samples: list[Sample]


@app.command()
def retrieval(
    locomo: Annotated[
        Path | None, typer.Option("--locomo", metavar="FILE", help="A LoCoMo file, such as locomo10.json.")
    ] = None,
    beam: Annotated[Path | None, typer.Option("--beam", metavar="FOLDER", help="A folder of BEAM chats.")] = None,
    longmemeval: Annotated[
        Path | None, typer.Option("--longmemeval", metavar="FILE", help="A LongMemEval file.")
    ] = None,
    observations: Annotated[
        Path | None,
        typer.Option("--observations", metavar="FILE", help="A LoCoMo file, whose observations become memories."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N conversations.")] = None,
    *,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Ask again without each channel, and with each alone.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--settings", metavar="KEY=VALUE[,…]", help="Ask again under these settings; repeatable."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON on stdout.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the reports as JSON to this file.")] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="METRIC=PERCENT",
            help="Fail when a total is less: R@10=60, sessions:hit@1=75, beam:R@10=56; repeatable.",
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

    Each conversation is written into a profile of its own; a second run on the same data writes nothing.
    """
    gates = [parse_gate(text) for text in gate or []]
    ablation = Ablation(channels=ablate, settings=tuple(map(parse_settings, settings or ())))
    if out is not None and not out.absolute().parent.is_dir():
        raise InvalidInputError(f"cannot write {out}", expected="a file in a directory that exists", found="none")
    named = {"locomo": locomo, "beam": beam, "longmemeval": longmemeval, "observations": observations}
    tasks = [_Task(name, path, _READERS[name](path, limit=limit)) for name, path in named.items() if path is not None]
    if not tasks:
        raise InvalidInputError("nothing to measure", expected="--" + ", --".join(named), found="none of them")
    reports = asyncio.run(_run(Place(data=data, nats=nats, principal=principal), tasks, ablation))
    encoded = msgspec.json.format(msgspec.json.encode(reports), indent=2)
    if out is not None:
        out.write_bytes(encoded + b"\n")
    if json:
        sys.stdout.write(encoded.decode() + "\n")
    else:
        for report in reports:
            show.show(report)
    if failed := failures(gates, reports):
        sys.stderr.writelines(f"umbriel: gate failed: {line}\n" for line in failed)
        raise typer.Exit(1)


@app.command()
def extract(
    labelled: Annotated[
        Path | None, typer.Option("--set", metavar="FILE", help="Labelled lines; the set that ships when not given.")
    ] = None,
    locomo: Annotated[
        Path | None, typer.Option("--locomo", metavar="FILE", help="Show what is found in a LoCoMo file instead.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N conversations.")] = None,
    sample: Annotated[int, typer.Option("--sample", min=1, help="How many items of conversations to show.")] = 100,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
) -> None:
    """Measure how precise the extraction without a model is on labelled lines, or what it finds in conversations.

    Lines that were written before anything was run on them are reported apart.
    """
    report: ExtractionReport | YieldReport
    if locomo is not None:
        samples = locomo_set.read_samples(locomo, limit=limit)
        report = asyncio.run(measure_yield(OfflineExtractor(), samples, sample=sample))
    else:
        lines = read_labelled(labelled)
        name = labelled.name if labelled is not None else "the set that ships"
        report = asyncio.run(measure_extraction(OfflineExtractor(), lines, name))
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    elif isinstance(report, ExtractionReport):
        show.show_extraction(report)
    else:
        show.show_yield(report)


async def _run(place: Place, tasks: list[_Task], ablation: Ablation) -> list[Report]:
    samples = [sample for task in tasks for sample in task.samples]
    with show.progress() as bar:
        indexing = bar.add_task("indexing", total=sum(sample.size for sample in samples))
        asking = bar.add_task("asking", total=sum(len(sample.questions) for sample in samples))
        watcher = Watcher(lambda done: bar.advance(indexing, done), lambda done: bar.advance(asking, done))
        async with place.connected() as client:
            version = await _version(client)
            reports = []
            for task in tasks:
                runs: list[Measured] = []
                ablated: list[Ablated] = []
                for sample in task.samples:
                    profile = f"observed-{sample.name}" if sample.observations else sample.name
                    runs.append(
                        await measure(client, sample, profile, watcher, _again(task, sample, ablation, ablated, bar))
                    )
                    show.note(bar, _line(runs[-1]))
                reports.append(make_report(task.benchmark, task.path, task.samples, runs, version, ablated))
    return reports


def _again(
    task: _Task, sample: Sample, ablation: Ablation, ablated: list[Ablated], bar: Progress
) -> Callable[[Asking], Awaitable[None]] | None:
    """Return what asks the questions of a sample again, in every way that is wanted; None when none is."""
    if not ablation.channels and not ablation.settings:
        return None
    questions = [question for question in sample.questions if question.category != apart_of(task.benchmark)]

    async def again(asking: Asking) -> None:
        row = bar.add_task("asking again", total=None)
        ablated.extend(
            await ablate_sample(
                asking, questions, ablation, lambda way: bar.update(row, advance=1, description=f"asking: {way}")
            )
        )
        bar.remove_task(row)

    return again


def _line(run: Measured) -> str:
    return f"{run.name}: {run.messages} items in {run.index_seconds:.1f} s, {len(run.answers)} questions"


async def _version(client: Umbriel) -> str:
    return (await client.status(service=True)).version


app.command()(judge)
app.command()(context)
app.command()(mutate)
app.command()(speed)
app.command()(scale)
app.command()(export)

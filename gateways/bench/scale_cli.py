"""``umbriel bench scale``: what recall, rebuilding, memory and disk cost as profiles grow and become many."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from gateways.bench import show
from gateways.bench.scale import measure_profiles, measure_scale
from gateways.bench.scale_log import EmbedsTexts, WordVectors
from gateways.bench.scale_report import ProfilesReport, ScaleReport, ScaleSize
from gateways.bench.scale_show import show_scale
from gateways.models.minilm import MiniLMEmbedder
from umbriel import InvalidInputError, UnavailableError

__all__ = ["scale"]

_PER_PROFILE = 100
_Kind = Literal["size", "profiles"]


def scale(
    memories: Annotated[
        str, typer.Option("--memories", metavar="N,N", help="How many memories a profile holds, one profile each.")
    ] = "1000,10000",
    profiles: Annotated[
        str, typer.Option("--profiles", metavar="N,N", help="How many profiles of 100 memories to open in turn.")
    ] = "",
    queries: Annotated[int, typer.Option("--queries", min=2, help="How many recalls to measure.")] = 200,
    *,
    real: Annotated[
        bool, typer.Option("--real", help="Embed every text with the model; a million takes hours.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the report as JSON to this file.")] = None,
) -> None:
    """Measure what growth costs: recall, rebuilding, opening, memory and disk, on a replayed log of made-up memories.

    What is written through the service, and how soon it is found, is measured by `bench speed`.
    """
    sizes, many = _numbers(memories), _numbers(profiles) if profiles else []
    if out is not None and not out.absolute().parent.is_dir():
        raise InvalidInputError(f"cannot write {out}", expected="a file in a directory that exists", found="none")
    found: list[ScaleSize] = []
    with show.progress() as bar:
        row = bar.add_task("replaying", total=sum(sizes) + sum(many))

        def advance(done: int) -> None:
            bar.advance(row, done)

        for size in sizes:
            found.append(msgspec.convert(_apart("size", size, queries, real, advance), ScaleSize))
            show.note(bar, f"{size:,} memories: recall {found[-1].recall_ratio:.1f} times an embedding")
        opened = [msgspec.convert(_apart("profiles", count, queries, real, advance), ProfilesReport) for count in many]
    vectors = MiniLMEmbedder().model if real else WordVectors.model
    report = ScaleReport(version=version("umbriel-server"), vectors=vectors, sizes=found, profiles=opened)
    encoded = msgspec.json.format(msgspec.json.encode(report), indent=2)
    if out is not None:
        out.write_bytes(encoded + b"\n")
    if json:
        sys.stdout.write(encoded.decode() + "\n")
    else:
        show_scale(report)


def _apart(kind: _Kind, count: int, queries: int, real: bool, advance: Callable[[int], None]) -> object:  # noqa: FBT001
    """Measure in a process of its own; what it says is how far it is, then what it found."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_measure, args=(theirs, kind, count, queries, real))
    worker.start()
    theirs.close()
    try:
        while isinstance(said := ours.recv(), int):
            advance(said)
    except EOFError:
        raise UnavailableError("the measurement ended early", expected="figures", found=f"{kind} {count}") from None
    finally:
        worker.terminate()
        worker.join()
    return said


def _measure(tell: Connection, kind: _Kind, count: int, queries: int, real: bool) -> None:  # noqa: FBT001
    model = MiniLMEmbedder(threads=1)
    log: EmbedsTexts = model if real else WordVectors()
    if kind == "size":
        found: ScaleSize | ProfilesReport = measure_scale(count, log, model, queries, tell.send)
    else:
        found = measure_profiles(count, _PER_PROFILE, log, tell.send)
    tell.send(msgspec.to_builtins(found))


def _numbers(text: str) -> list[int]:
    """Return the numbers of a list such as ``1000,10000``, ascending, each once."""
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise InvalidInputError("not a list of numbers", expected="such as 1000,10000", found=ascii(text)[:60])
    return found

"""``umbriel bench speed``: how long keeping and finding take, beside their limit and a peer in the same run."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateways.bench import show
from gateways.bench.place import Place
from gateways.bench.speed import Effort, SpeedWatcher, measure_size
from gateways.bench.speed_peer import Peer
from gateways.bench.speed_report import SpeedReport, misses, parse, ratios
from gateways.bench.speed_show import show_speed
from gateways.models.minilm import MiniLMEmbedder
from umbriel import InvalidInputError

__all__ = ["speed"]


def speed(
    sizes: Annotated[
        str, typer.Option("--sizes", metavar="N,N", help="How many memories a profile holds, one profile each.")
    ] = "1000,10000",
    peer: Annotated[
        Path | None, typer.Option("--peer", metavar="FILE", help="A script that measures a peer: FILE --n SIZE.")
    ] = None,
    peer_python: Annotated[
        Path, typer.Option("--peer-python", metavar="PYTHON", help="The interpreter that has the peer's packages.")
    ] = Path(sys.executable),
    peer_minutes: Annotated[
        float, typer.Option("--peer-minutes", min=0.01, help="How long the peer may take at one size.")
    ] = 30.0,
    queries: Annotated[int, typer.Option("--queries", min=1, help="How many recalls to measure.")] = 200,
    writes: Annotated[
        int, typer.Option("--writes", min=2, help="How many writes to measure one by one, and again 50 a second.")
    ] = 200,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the report as JSON to this file.")] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            metavar="RATIO=MOST",
            help="Fail when a ratio is more: recall/embedding@1000=2, remember/peer=0.1; repeatable.",
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
    """Measure how long writing, recall and visibility take, and how that compares in the same run.

    Each size is loaded into a new profile, which stays where --data or --nats name a place.
    """
    gates = [parse(text) for text in gate or []]
    wanted = _sizes(sizes)
    compared = None if peer is None else Peer(script=peer, python=peer_python, minutes=peer_minutes)
    if compared is not None:
        compared.check()
    if out is not None and not out.absolute().parent.is_dir():
        raise InvalidInputError(f"cannot write {out}", expected="a file in a directory that exists", found="none")
    effort = Effort(queries=queries, writes=writes, visible=writes)
    report = asyncio.run(_run(Place(data=data, nats=nats, principal=principal), wanted, effort, compared))
    encoded = msgspec.json.format(msgspec.json.encode(report), indent=2)
    if out is not None:
        out.write_bytes(encoded + b"\n")
    if json:
        sys.stdout.write(encoded.decode() + "\n")
    else:
        show_speed(report)
    if failed := misses(gates, report):
        sys.stderr.writelines(f"umbriel: gate failed: {line}\n" for line in failed)
        raise typer.Exit(1)


async def _run(place: Place, sizes: list[int], effort: Effort, peer: Peer | None) -> SpeedReport:
    embedder = MiniLMEmbedder()
    run = secrets.token_hex(4)
    name = "" if peer is None else peer.name
    found = []
    with show.progress() as bar:
        loading = bar.add_task("loading", total=sum(2 * size for size in sizes))
        measuring = bar.add_task("measuring", total=len(sizes) * (effort.queries + effort.writes + effort.visible))
        comparing = bar.add_task(f"comparing with {name}", total=len(sizes)) if peer is not None else None
        watcher = SpeedWatcher(lambda done: bar.advance(loading, done), lambda done: bar.advance(measuring, done))
        async with place.connected() as client:
            version = (await client.status(service=True)).version
            for size in sizes:
                own = client.for_profile(f"speed-{size}-{run}")
                one = await measure_size(own, size, embedder, effort, watcher)
                if peer is not None and comparing is not None:
                    one = msgspec.structs.replace(one, peer=await peer.measure(size))
                    bar.advance(comparing)
                found.append(msgspec.structs.replace(one, ratios=ratios(one)))
                show.note(bar, f"{size} memories: loaded at {one.loaded_per_second:.0f} a second, measured")
    return SpeedReport(version=version, model=embedder.model, peer=name, sizes=found)


def _sizes(text: str) -> list[int]:
    """Return the sizes of a list such as ``1000,10000``, ascending, each once."""
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise InvalidInputError("not a list of sizes", expected="numbers such as 1000,10000", found=ascii(text)[:60])
    return found

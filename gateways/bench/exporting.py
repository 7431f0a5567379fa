"""``umbriel bench export``: how fast a profile is taken in and out, and how much memory that takes on both sides."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateways.bench import show
from gateways.bench.export_file import write_export
from gateways.bench.place import temporary
from gateways.models.minilm import DIMENSION, MODEL_NAME
from umbriel import Umbriel, UnavailableError

__all__ = ["ExportBench", "Phase", "export"]

_MIB = 1024**2


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """One command: its time, and the most memory (MiB) that its process and the service's held; None where unknown.

    ``before_mib`` is what the service held when it began: the views of the profile are most of it.
    """

    seconds: float
    events_per_second: float
    client_mib: float
    before_mib: float | None
    service_mib: float | None


class ExportBench(msgspec.Struct, frozen=True, kw_only=True):
    """What taking so many events in and out took; ``service_mib`` before either."""

    events: int
    file_mib: float
    service_mib: float | None
    imported: Phase
    exported: Phase
    #: once more, with proofs
    proven: Phase
    proven_mib: float


def export(
    events: Annotated[int, typer.Option("--events", min=100, help="How many events the profile has.")] = 100_000,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Measure on this data directory; a temporary one when not given.")
    ] = None,
) -> None:
    """Make an export up, import it, export it again; both commands run as processes of their own."""
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
    report = asyncio.run(_run(events, data))
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
        return
    sizes = f"{report.file_mib:.0f} MiB, {report.proven_mib:.0f} MiB with proofs"
    print(f"{report.events} events, {sizes}; service at rest {_mib(report.service_mib)}")
    for name, phase in (("import", report.imported), ("export", report.exported), ("export --proofs", report.proven)):
        print(
            f"{name}: {phase.seconds:.1f} s, {phase.events_per_second:.0f} events/s; most memory:"
            f" client {_mib(phase.client_mib)}, service {_mib(phase.service_mib)} from {_mib(phase.before_mib)}"
        )


def _mib(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} MiB"


async def _run(events: int, data: Path | None) -> ExportBench:
    async with AsyncExitStack() as stack:
        place = data if data is not None else await stack.enter_async_context(temporary())
        file, out = place / "bench-in.jsonl", place / "bench-out.jsonl"
        profile = f"export-{events}-{secrets.token_hex(4)}"
        with show.progress() as bar:
            task = bar.add_task("making up, importing, exporting", total=4)
            size = await asyncio.to_thread(write_export, file, events, model=MODEL_NAME, dimension=DIMENSION)
            bar.advance(task)
            async with await Umbriel.embedded(place, profile=profile, principal="local") as client:
                await client.status(service=True)
                pid = _service(place)
                rest = _peak(pid, reset=True)
                imported = await _phase(events, pid, ["import", str(file)], place, profile)
                bar.advance(task)
                exported = await _phase(events, pid, ["export", "--output", str(out)], place, profile)
                bar.advance(task)
                proven = await _phase(events, pid, ["export", "--proofs", "--output", str(out)], place, profile)
                bar.advance(task)
        proven_size = out.stat().st_size
        for one in (file, out):
            one.unlink()
        return ExportBench(
            events=events,
            file_mib=size / _MIB,
            service_mib=rest,
            imported=imported,
            exported=exported,
            proven=proven,
            proven_mib=proven_size / _MIB,
        )


async def _phase(events: int, pid: int, command: list[str], place: Path, profile: str) -> Phase:
    before = _peak(pid, field="VmRSS")
    _peak(pid, reset=True)
    started = time.monotonic()
    client = await asyncio.to_thread(_carried_out, [*command, "--data", str(place), "--profile", profile, "--json"])
    seconds = time.monotonic() - started
    return Phase(
        seconds=seconds,
        events_per_second=events / seconds,
        client_mib=client,
        before_mib=before,
        service_mib=_peak(pid),
    )


def _carried_out(command: list[str]) -> float:
    """Run a command line in a process of its own; returns the most memory it held, in MiB."""
    arguments = [sys.executable, "-m", "gateways.cli", *command]
    with Path(os.devnull).open("wb") as nowhere:
        pid = os.posix_spawn(
            sys.executable, arguments, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        )
    _, status, usage = os.wait4(pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise UnavailableError(f"`umbriel {command[0]}` failed", expected="exit code 0", found=str(code))
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * kilobyte / _MIB


def _service(place: Path) -> int:
    return int(msgspec.json.decode((place / "endpoint.json").read_bytes())["pid"])


def _peak(pid: int, *, reset: bool = False, field: str = "VmHWM") -> float | None:
    """Return the most memory a process held since the last reset, in MiB; None where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        if reset:
            Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(field)), None)

"""The speed benchmark, small, as a command against a running service."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from gateways.bench.speed_report import SpeedReport
from tests.e2e.processes import ServiceProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SMALL = ("--sizes", "60", "--queries", "12", "--writes", "6")


def bench(service: ServiceProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a service's data directory."""
    command = [sys.executable, "-m", "gateways.cli", "bench", "speed", *SMALL, "--data", str(service.data), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)


def test_a_small_run_measures_everything_once_more_each_time(service: ServiceProcess) -> None:
    """Every figure is there and positive; a second run on the same data writes anew, and its gates are judged."""
    done = bench(service, "--json")
    assert done.returncode == 0, done.stderr
    report = msgspec.json.decode(done.stdout, type=SpeedReport)
    (one,) = report.sizes
    counts = [one.recall.count, one.embedding.count, one.remember.count, one.found_by_words.count]
    assert (one.size, counts, one.found_by_meaning.count) == (60, [12, 12, 6, 3], 3)
    for found in (one.recall, one.embedding, one.remember, one.found_by_words, one.found_by_meaning):
        assert 0 < found.p50 <= found.p95 <= found.p99
    assert [ratio.name for ratio in one.ratios] == ["recall/embedding", "visible"]

    again = bench(service, "--gate", "recall/embedding=0.01", "--gate", "remember/peer=0.1")
    assert again.returncode == 1
    assert "recall/embedding@60 is" in again.stderr
    assert "remember/peer was not measured" in again.stderr
    assert "no peer was measured" in again.stdout

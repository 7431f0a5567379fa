"""The speed benchmark, small, as a command against a running service."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from gateways.bench.context_speed import ContextReport
from gateways.bench.speed_report import SpeedReport
from tests.e2e.processes import ServiceProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SMALL = ("--sizes", "60", "--queries", "12", "--writes", "6")


def bench(service: ServiceProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a service's data directory."""
    return run(service, "speed", *SMALL, *arguments)


def run(service: ServiceProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a benchmark on a service's data directory."""
    command = [sys.executable, "-m", "gateways.cli", "bench", *arguments, "--data", str(service.data)]
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


def test_a_small_context_is_measured(service: ServiceProcess) -> None:
    """The three figures are there, over a conversation that is shown within the budget; a gate is judged."""
    small = ("context", "--messages", "60", "--budget", "1000", "--queries", "5")
    done = run(service, *small, "--json")
    assert done.returncode == 0, done.stderr
    report = msgspec.json.decode(done.stdout, type=ContextReport)
    assert (report.messages, report.context.count, report.empty.count, report.embedding.count) == (60, 5, 5, 5)
    assert 0 < report.tokens <= report.budget
    assert report.parts["head"] == 2
    assert report.parts["tail"] > 1
    again = run(service, "context", "--messages", "20", "--queries", "1", "--gate", "0.001")
    assert again.returncode == 1
    assert "context p50 is" in again.stderr
    assert "conversation of 20 messages" in again.stdout

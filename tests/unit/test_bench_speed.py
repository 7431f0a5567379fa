"""The speed benchmark's pure parts: its texts, its ratios and gates, and what a peer says or does not say."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from gateways.bench.cli import app
from gateways.bench.speed_peer import Peer, PeerFigures, read_figures
from gateways.bench.speed_report import Figure, SizeReport, SpeedReport, figure, misses, parse, ratios
from gateways.bench.speed_texts import notes, questions
from umbriel import InvalidInputError

PRINTED = """\
[faiss] add: n=1000 total=35.0s mean=35.0ms p50=34.2 p99=61.7 first100=20.1ms last100=50.2ms (3.0 ms/embed)
[faiss] search: n=100 mean=9.9ms p50=9.6 p99=14.0
top3: [(0.9, 'The wifi password p50=1 p99=2')]
"""


def flat(value: float) -> Figure:
    """Nine measurements alike, but for the last, which took twice as long."""
    return Figure(count=9, p50=value, p95=value, p99=2 * value)


def size_report(size: int = 1_000, *, recall: float = 6.0, peer: PeerFigures | None = None) -> SizeReport:
    """A size where one embedding takes 3 ms and a write 4."""
    found = SizeReport(
        size=size,
        loaded_per_second=90.0,
        remember=flat(4.0),
        recall=flat(recall),
        embedding=flat(3.0),
        found_by_words=flat(80.0),
        found_by_meaning=flat(200.0),
        peer=peer,
    )
    return msgspec.structs.replace(found, ratios=ratios(found))


def run_report(*sizes: SizeReport) -> SpeedReport:
    """A run over these sizes."""
    return SpeedReport(version="0", model="m", peer="", sizes=list(sizes))


def test_texts_are_distinct_and_the_same_each_time() -> None:
    """Neither texts nor keys repeat, fewer notes are the first of more, and another seed says something else."""
    found = notes(3_000)
    assert len({note.text.casefold() for note in found}) == 3_000
    keys = [note.key.casefold() for note in found if note.key]
    assert 300 < len(keys) == len(set(keys))
    assert notes(50) == found[:50]
    assert notes(50, seed=8) != found[:50]


def test_questions_are_about_the_notes() -> None:
    """As many as asked for, of what was noted; they repeat only where there are too few."""
    found = notes(300)
    asked = questions(found, 40)
    assert len(set(asked)) == 40
    assert set(asked) <= {note.question for note in found}
    assert questions(found, 40) == asked
    assert len(questions(found[:2], 5)) == 5


def test_figures_are_milliseconds() -> None:
    """Nearest-rank percentiles of seconds."""
    assert figure([0.001 * value for value in range(1, 101)]) == Figure(count=100, p50=50.0, p95=95.0, p99=99.0)


@pytest.mark.parametrize("size, target", [(60, 2.0), (1_000, 2.0), (10_000, 3.0), (50_000, 8.0), (200_000, None)])
def test_recall_may_take_longer_among_more(size: int, target: float | None) -> None:
    """The target beside one embedding follows the number of memories; beyond the last there is none."""
    found = size_report(size, recall=6.3).ratios[0]
    assert (found.name, found.value, found.target) == ("recall/embedding", 2.1, target)
    assert found.met == (None if target is None else target > 2.1)


def test_ratios_beside_a_peer_need_the_peer() -> None:
    """Without its figures only the limit and visibility are left; with them each is one over the other."""
    assert [one.name for one in size_report().ratios] == ["recall/embedding", "visible"]
    missing = size_report(peer=PeerFigures(missing="no such package")).ratios
    assert [one.name for one in missing] == ["recall/embedding", "visible"]
    found = {one.name: one.value for one in size_report(peer=read_figures(PRINTED)).ratios}
    assert found["remember/peer"] == pytest.approx(4.0 / 34.2, abs=1e-3)
    assert found["remember-p99/peer"] == pytest.approx(8.0 / 61.7, abs=1e-3)
    assert found["recall/peer"] == pytest.approx(6.0 / 9.6, abs=1e-3)


def test_what_a_peer_prints_is_read() -> None:
    """Its two lines and nothing else; a script that prints something else has no figures, and that is said."""
    assert read_figures(PRINTED) == PeerFigures(add_p50=34.2, add_p99=61.7, search_p50=9.6, search_p99=14.0)
    assert read_figures("done\n").missing
    partial = read_figures(PRINTED.splitlines()[1])
    assert (partial.add_p50, partial.search_p50, partial.missing) == (None, 9.6, "")


@pytest.mark.parametrize(
    "script, minutes, said",
    [
        ("import no_such_package_here", 1.0, "No module named 'no_such_package_here'; install its packages"),
        ("raise SystemExit('out of memory')", 1.0, "exit code 1: out of memory"),
        ("import time; time.sleep(60)", 0.005, "did not end within 0.005 minutes"),
        ("print('hello')", 1.0, "no line"),
    ],
)
def test_a_peer_that_cannot_run_says_why(tmp_path: Path, script: str, minutes: float, said: str) -> None:
    """Missing packages, an error, no end and other words are each named; none ends the run."""
    path = tmp_path / "peer.py"
    path.write_text(script)
    assert said in asyncio.run(Peer(script=path, minutes=minutes).measure(5)).missing


def test_a_peer_is_asked_for_the_size(tmp_path: Path) -> None:
    """The script is called with the size, and with a scratch directory that is gone afterwards."""
    path = tmp_path / "peer.py"
    path.write_text(
        "import sys, tempfile\n"
        f"open({str(tmp_path / 'where')!r}, 'w').write(tempfile.mkdtemp())\n"
        "print('[x] add: n=' + sys.argv[2], 'p50=' + sys.argv[2], 'p99=7')"
    )
    assert asyncio.run(Peer(script=path).measure(12)).add_p50 == 12.0
    assert not Path((tmp_path / "where").read_text()).exists()


def test_gates_hold_at_one_size_or_at_all() -> None:
    """What is more than the gate fails with the size in its line; what was not measured fails too."""
    report = run_report(size_report(1_000, recall=6.0), size_report(10_000, recall=12.0))
    assert misses([parse("recall/embedding@1000=2"), parse("visible=80")], report) == []
    assert misses([parse("recall/embedding=3")], report) == ["recall/embedding@10000 is 4.00, the gate is 3"]
    assert misses([parse("remember/peer=0.1")], report) == ["remember/peer was not measured, the gate is 0.1"]
    assert misses([parse("recall/embedding@500=2")], report) == ["recall/embedding@500 was not measured, the gate is 2"]


@pytest.mark.parametrize("text", ["recall", "recall/embedding", "speed=2", "visible@x=2", "visible=nan", "visible=-1"])
def test_what_is_no_gate_is_refused(text: str) -> None:
    """An unknown name, no number and no size are input errors."""
    with pytest.raises(InvalidInputError, match="not a gate"):
        parse(text)


@pytest.mark.parametrize(
    "arguments",
    ["--sizes 0", "--sizes ten", "--peer /nowhere/peer.py", "--gate speed=1", "--out /nowhere/at/all.json"],
)
def test_bad_input_is_refused_before_anything_starts(arguments: str) -> None:
    """Sizes, scripts, gates and files are looked at first."""
    result = CliRunner().invoke(app, ["speed", *arguments.split()])
    assert isinstance(result.exception, InvalidInputError)

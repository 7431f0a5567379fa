"""The mutation benchmark: what it passes, what it fails, and which files it refuses."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gateways.bench.mutating import measure_mutations
from gateways.bench.mutations import Case, Checks, Given, Operation, read_cases
from umbriel import InvalidInputError, Umbriel


def case(name: str, description: str, *, kind: str = "release.text") -> Case:
    """A case of two memories, one of which is described."""
    setup = (Given(remember="Ana plays chess"), Given(remember="Ana plays tennis"))
    return Case(
        name=name,
        kind=kind,
        held=name == "held",
        setup=setup,
        operation=Operation(verb="forget", description=description),
        checks=Checks(query="what does Ana play", expected=("tennis",), forbidden=("chess",)),
    )


async def test_what_is_lost_or_left_fails(person: Umbriel) -> None:
    """A case passes when just what was meant is gone; kinds come weakest first, and held cases count apart."""
    cases = [
        case("right", "Ana plays chess"),
        case("held", "Ana plays chess"),
        case("lost", "Ana plays tennis", kind="release.lost"),
        case("none", "Bea plays chess", kind="release.none"),
    ]
    report = await measure_mutations(person, cases)
    assert [(one.name, one.rate) for one in report.kinds] == [
        ("release.lost", 0.0),
        ("release.none", 0.0),
        ("release.text", 100.0),
    ]
    total = report.totals[-1]
    assert (total.cases, total.passed, total.held, total.held_rate) == (4, 2, 1, 100.0)
    assert set(report.failed) == {"lost", "none"}
    assert "no memory fits" in report.failed["none"]


def test_our_cases_are_whole(tmp_path: Path) -> None:
    """At least 150 with a control each, a third of them held; a misspelt check is an error, not one never made."""
    cases = read_cases(None)
    assert len(cases) >= 150
    assert len({one.name for one in cases}) == len(cases)
    assert all(one.checks.expected for one in cases)
    assert sum(one.held for one in cases) * 3 == len(cases)
    broken = msgspec.json.encode(cases[0]).replace(b'"forbidden"', b'"forbiden"')
    (tmp_path / "cases.jsonl").write_bytes(msgspec.json.encode(cases[0]) + b"\n" + broken)
    with pytest.raises(InvalidInputError, match="line 2"):
        read_cases(tmp_path / "cases.jsonl")

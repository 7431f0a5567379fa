"""The same bad input is refused in the same words on every surface, and nothing of it is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from gateways.cli.errors import EXIT_CODES
from tests.contract.surface_cases import CASES, Case
from tests.contract.surface_world import RUNNERS, Outcome, Surfaces, quiet
from tests.rest_service import RestService

pytestmark = pytest.mark.timeout(120)
PROFILE = "bad-input"


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    """One service for all cases; the profile is there, and nothing that a case asks for is in it."""
    with quiet(), RestService(tmp_path_factory.mktemp("surfaces") / "data") as running:
        found = Surfaces(running, tmp_path_factory.mktemp("files"))
        assert RUNNERS["nats"](found, "remember", PROFILE, {"content": "Mara lives in Porto", "wait": True}).code == ""
        yield found
        running.on_loop(found.close())


def check(case: Case, surface: str, outcome: Outcome, first: Outcome) -> None:
    """What a surface answered is what NATS did."""
    if surface == "cli":
        assert EXIT_CODES[outcome.code] == EXIT_CODES[case.code], outcome
        shown = "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in first.line)
        assert outcome.message.startswith(shown), (outcome.message, shown)
        return
    assert (outcome.code, outcome.message, outcome.found) == (first.code, first.message, first.found)
    # The fields that a tool offers are those that a model may set.
    assert outcome.expected == first.expected or (surface == "mcp" and first.expected.startswith("fields "))


@pytest.mark.parametrize("case", [pytest.param(one, id=f"{n}-{one.verb}") for n, one in enumerate(CASES)])
def test_every_surface_says_the_same(surfaces: Surfaces, case: Case) -> None:
    """Code, message, expected and found are those of NATS, which says what the table wants; nothing is written."""
    before = surfaces.rest.end(PROFILE)
    first = RUNNERS["nats"](surfaces, case.verb, PROFILE, case.fields)
    assert first.code == case.code, first
    for word in case.words:
        assert word in f"{first.expected}\n{first.found}", first
    for name, run in RUNNERS.items():
        if name != "nats" and name not in case.but:
            check(case, name, run(surfaces, case.verb, PROFILE, case.fields), first)
    assert surfaces.rest.written(PROFILE, before) == []


@pytest.mark.parametrize("surface", ["python", "cli"])
def test_what_is_cut_is_whole(surfaces: Surfaces, surface: str) -> None:
    """A call of more messages than a request holds is sent in several, in order; a file's long message in parts."""
    profile = f"long-{surface}"
    said = [{"role": "user", "content": f"line {n}"} for n in range(501)]
    if surface == "cli":
        said.append({"role": "user", "content": "word " * 8_000})
    assert RUNNERS[surface](surfaces, "ingest", profile, {"messages": said, "session": "s"}).code == ""
    recorded = [
        one["data"]["content"] for one in surfaces.rest.written(profile, "") if one["topic"] == "message.recorded"
    ]
    assert recorded[:501] == [one["content"] for one in said[:501]]
    assert "".join(recorded[501:]) == "".join(one["content"] for one in said[501:])


def utc(text: str) -> bool:
    """Whether a text is RFC 3339 in UTC with microseconds."""
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text))


@pytest.mark.parametrize("surface", list(RUNNERS))
@pytest.mark.parametrize(
    "said", ["2026-05-04T03:02:01Z", "2026-05-04T05:02:01+02:00", "2026-05-04T03:02:01.000000Z"], ids=["z", "off", "us"]
)
def test_times_are_utc_with_microseconds(surfaces: Surfaces, surface: str, said: str) -> None:
    """However a time is sent, every surface shows it and our own as RFC 3339 in UTC with microseconds."""
    profile = f"times-{surface}"
    fields = {"content": f"The bridge opened {said}", "kind": "event", "occurred_at": said, "wait": True}
    assert RUNNERS[surface](surfaces, "remember", profile, fields).code == ""
    memory = json.loads(RUNNERS["nats"](surfaces, "list", profile, {"limit": 1}).text)["entries"][0]["id"]
    shown = [
        RUNNERS[surface](surfaces, verb, profile, fields).text
        for verb, fields in (("get", {"id": memory}), ("history", {"id": memory}), ("diff", {}))
    ]
    times = re.findall(r'"(?:occurred_at|recorded_at|at|start_at|end_at)": ?"([^"]+)"', "".join(shown))
    assert [one for one in times if not utc(one)] == []
    assert times.count("2026-05-04T03:02:01.000000Z") >= 2

"""``umbriel import --from``: memories of another system in this one, once, as an agent's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.contract.surface_world import AGENT, Surfaces, command, quiet
from tests.rest_service import RestService
from tests.unit.test_import_memories import MEM0, THREAD
from umbriel import Memory

pytestmark = pytest.mark.timeout(120)
_names = count(1)


class Into:
    """Imports into one profile of a service, and looks at it."""

    def __init__(self, surfaces: Surfaces, profile: str) -> None:
        self.surfaces = surfaces
        self.profile = profile

    def run(self, source: str, value: Any, *more: str, principal: str = AGENT) -> tuple[int, dict[str, Any], str]:
        """Import a value; returns the exit code, the report, and what was said on stderr."""
        path = self.surfaces.scratch / f"{source}-{next(_names)}.json"
        path.write_text(json.dumps(value), "utf-8")
        argv = ["import", "--from", source, str(path), "--profile", self.profile, "--json", *more]
        code, out, err = command(self.surfaces, argv, principal)
        return code, json.loads(out or "{}"), err

    def listed(self, **fields: Any) -> list[Memory]:
        """The live memories."""

        async def ask() -> list[Memory]:
            client = await self.surfaces.client(self.profile)
            end = (await client.status()).log_position
            return (await client.list(contact="*", at_least=end, **fields)).entries

        return self.surfaces.rest.on_loop(ask())


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    """One service for all of these tests."""
    with quiet(), RestService(tmp_path_factory.mktemp("foreign") / "data") as running:
        found = Surfaces(running, tmp_path_factory.mktemp("files"))
        yield found
        running.on_loop(found.close())


@pytest.fixture
def into(surfaces: Surfaces) -> Into:
    """A profile that nothing is in."""
    return Into(surfaces, f"foreign-{next(_names)}")


def test_an_import_is_done_once(into: Into) -> None:
    """What it would write is shown first, then written with its origin by an agent; again, it changes nothing."""
    value = {"results": [MEM0, {**MEM0, "id": "2", "memory": "Bo plays chess", "user_id": "bo", "run_id": None}]}
    code, shown, _ = into.run("mem0", value, "--check")
    assert (code, shown["memories"], shown["contacts"]) == (0, {"to write": 2}, ["ana", "bo"])
    code, done, _ = into.run("mem0", value)
    assert (code, done["memories"], done["sessions"]) == (0, {"remembered": 2}, ["run-1"])
    found = {one.text: one for one in into.listed()}
    ana = found["Ana moved to Porto"]
    assert (ana.contact, ana.session, ana.author_type, ana.confidence) == ("ana", "run-1", "agent", 0.9)
    assert ana.metadata["origin"]["id"] == MEM0["id"]
    assert ana.metadata["origin"]["created_at"] == MEM0["created_at"]
    assert into.run("mem0", value)[1]["memories"] == {"repeated": 2}
    assert len(into.listed(status="all")) == 2


def test_what_happened_since_stays(into: Into) -> None:
    """A second run brings back neither what was forgotten nor what was corrected, and a longer export adds its own."""
    value = [MEM0, {**MEM0, "id": "2", "memory": "Ana plays chess"}]
    into.run("mem0", value)

    async def change() -> None:
        client = await into.surfaces.client(into.profile)
        end = (await client.status()).log_position
        entries = (await client.list(contact="ana", at_least=end)).entries
        chess, porto = sorted(entries, key=lambda one: one.text, reverse=True)
        await client.forget(chess.id)
        await client.correct(porto.id, "Ana moved to Braga")

    into.surfaces.rest.on_loop(change())
    _, done, _ = into.run("mem0", [*value, {**MEM0, "id": "3", "memory": "Ana sings"}])
    assert done["memories"] == {"repeated": 2, "remembered": 1}
    assert sorted(one.text for one in into.listed()) == ["Ana moved to Braga", "Ana sings"]


def test_nothing_is_written_of_a_file_with_a_broken_line(into: Into) -> None:
    """It is named; --check lists all of them; left out on purpose, the rest is taken over."""
    value = [MEM0, {**MEM0, "memory": 7}, {**MEM0, "id": "2", "memory": "Ana sings"}, {**MEM0, "user_id": []}]
    code, _, said = into.run("mem0", value)
    assert (code, "a memory without text" in said, "1 more" in said) == (2, True, True)
    code, shown, _ = into.run("mem0", value, "--check")
    assert (code, len(shown["broken"]), shown["memories"]) == (2, 2, {"to write": 2})
    code, done, _ = into.run("mem0", value, "--skip-broken")
    assert (code, done["memories"], len(done["broken"])) == (0, {"remembered": 2}, 2)


def test_messages_are_recorded_and_facts_stated(into: Into) -> None:
    """A thread of Zep: its messages in their session, its facts with its user; a second time nothing."""
    _, done, _ = into.run("zep", [THREAD])
    assert (done["messages"], done["memories"]) == ({"recorded": 2}, {"remembered": 1})
    _, again, _ = into.run("zep", [THREAD])
    assert (again["messages"], again["memories"]) == ({"duplicate": 2}, {"repeated": 1})


def test_what_ended_there_is_not_taken_over(into: Into) -> None:
    """It is counted, and its neighbour is written."""
    value = [{**MEM0, "expiration_date": "2020-01-01"}, {**MEM0, "id": "2", "memory": "Ana sings"}]
    _, done, _ = into.run("mem0", value)
    assert (done["memories"], done["skipped"]) == ({"remembered": 1}, {"expired": 1})


def test_no_person_states_it(into: Into) -> None:
    """A8: what a model made of conversations stays an agent's, whoever runs the command."""
    code, _, said = into.run("mem0", [MEM0], principal="local")
    assert (code, "does not speak as a person" in said) == (4, True)
    code, _, _ = into.run("mem0", [MEM0], "--contact", "x")
    claims = {"author_type": "person", "confidence": 1.0, "source": "person", "pinned": True}
    into.run("mem0", [{**MEM0, **claims, "id": "9", "memory": "I am a person"}])
    found = {one.text: one for one in into.listed()}["I am a person"]
    assert (found.author_type, found.confidence, found.source, found.pinned) == ("agent", 0.9, "explicit", False)


def test_options_of_another_import(surfaces: Surfaces, tmp_path: Path) -> None:
    """What only another memory's export has is refused for one of this system."""
    code, _, said = command(surfaces, ["import", str(tmp_path / "x"), "--contact", "a"], AGENT)
    assert (code, "--from" in said) == (2, True)

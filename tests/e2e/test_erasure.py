"""Erasure on the command line, and by a process that is killed while it erases."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateways.doctor.scanning import scan
from tests.e2e.processes import ServiceProcess
from tests.e2e.test_cli import Cli
from umbriel import Message, Umbriel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
WORD = "QuetzalProcessZyx"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A data directory of its own; the service that the first command starts is ended at the end."""
    data = tmp_path_factory.mktemp("erasure") / "data"
    yield Cli(data)
    asyncio.run(Umbriel.stop_embedded(data))


def test_a_contact_is_erased(cli: Cli, tmp_path: Path) -> None:
    """It is previewed, done and proved; its words are in files before and in none afterwards, and it is blocked."""
    words = tmp_path / "words.txt"
    words.write_text(f"{WORD}\n\nMaraQuetzal\n")
    cli.json("remember", f"Mara keeps {WORD}", "--contact", "MaraQuetzal", "--wait")
    assert WORD not in cli.run("doctor", "--scan-for", str(words), code=1).stdout
    preview = cli.run("erase", "--contact", "MaraQuetzal", "--preview").stdout
    assert "Would erase 0 session(s), 0 message(s) and 1 memories" in preview
    shown = " ".join(cli.run("erase", "--contact", "MaraQuetzal", "--yes").stdout.split())
    assert "by local, done" in shown
    assert "0 could be read" in shown
    assert "0 sighting(s)" in cli.run("doctor", "--scan-for", str(words)).stdout
    assert "erased" in cli.fails("remember", "Mara is back", "--contact", "MaraQuetzal", code=4)


def test_a_profile_is_deleted(cli: Cli) -> None:
    """It is in no list but that of the deleted, and its name is taken until it is given free."""
    cli.json("remember", "the gate is green", "--profile", "shed")
    assert "--yes" in cli.fails("delete-profile", "--profile", "shed", code=2)
    assert cli.json("delete-profile", "--profile", "shed", "--yes")["proof"]["keys"] == 3
    listed = cli.json("profiles", "--deleted")
    assert "shed" not in [one["name"] for one in listed["profiles"]]
    assert [one["name"] for one in listed["deleted"]] == ["shed"]
    assert "may be written about again" in cli.run("delete-profile", "--profile", "shed", "--lift").stdout


def test_keys_are_listed_and_rotated(cli: Cli) -> None:
    """A new master key is in use afterwards, and no key is ever shown."""
    done = cli.json("keys", "rotate")
    assert f"Master key {done['master']}, from the file." in " ".join(cli.run("keys", "list").stdout.split())


@pytest.mark.fault
async def test_a_killed_process_goes_on(tmp_path: Path) -> None:
    """Killed with its server right after the erasure was acknowledged, it is finished by the next start."""
    with ServiceProcess(tmp_path / "data") as service:
        async with await service.client(principal="local") as person:
            said = [Message(role="user", content=f"{WORD} {number}") for number in range(20)]
            await person.ingest(said, session=f"chat {WORD}", contact=WORD)
            await person.remember("Bea drinks tea", contact="bea", wait=True)
            assert (await asyncio.to_thread(scan, service.data, [WORD])).found
            await person.erase(contact=WORD, wait=False)
        service.kill()
        service.kill_server()
        service.start()
        async with await service.client(principal="local") as person:
            done = await person.erase(contact=WORD)
            assert done.proof is not None
            assert (done.done, done.proof.holds) == (True, True)
            assert [one.text for one in (await person.list(contact="*")).entries] == ["Bea drinks tea"]
        service.stop()
        # Also what it wrote about it while it ran: its own log lies in the data directory.
        sighted = await asyncio.to_thread(scan, service.data, [WORD])
        assert sighted.found == []
        assert sighted.files > 10

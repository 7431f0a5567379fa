"""A service's whole store, stopped, damaged on disk, started again: damage is named, nothing wrong is served."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import DamagedError, MismatchError, NotFoundError
from domain.sealing import Proof, check_proof
from gateways.jetstream.seal_keys import check_signature
from gateways.offline import opened
from tests.cheap import CheapEmbedder
from tests.damage import cut_end, cut_out, flip
from tests.sealed_store import SETTINGS, copied_store, look, nats_store, start
from tests.thinking_world import PERSON, World, thinking, until

pytestmark = [pytest.mark.timeout(120), pytest.mark.fault]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that a service has worked on and left; copied before anything is done to it."""
    place = tmp_path_factory.mktemp("sound")
    return copied_store(place / "made", place / "data")


@pytest.fixture
def data(store: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(store, tmp_path / "data"))


async def test_a_sound_store_has_no_findings(data: Path) -> None:
    """After all that can happen to a profile, everything is sealed, every version follows, every body opens."""
    found = await look(data)
    assert found.findings == []
    assert found.done == found.total == found.events
    assert found.seals >= found.total // 16
    assert found.total - found.sealed <= 8
    assert not (data / "verify.scratch").exists()


@pytest.mark.parametrize("where", ["first", "middle", "seal"])
async def test_one_flipped_bit_is_named_with_its_position(data: Path, where: str) -> None:
    """A message whose bytes changed is named, be it the first, one in the middle, or a seal; others are not."""
    async with opened(data) as log:
        seal = await log.log.newest("seal")
        assert seal is not None
        position = {"first": 1, "middle": log.state.last_position // 2, "seal": seal.position}[where]
    flip(nats_store(data), position)
    found = await look(data)
    assert [(one.check, one.position) for one in found.findings if one.check == "missing"] == [("missing", position)]
    assert {one.check for one in found.findings} <= {"missing", "log", "seal", "view"}


async def test_a_flipped_bit_in_the_newest_stretch_stops_the_start(data: Path) -> None:
    """Where a start looks, it names the position, says what to do, and serves nothing."""
    async with opened(data) as log:
        position = log.state.last_position - 3
    flip(nats_store(data), position)
    with pytest.raises(DamagedError, match=f"position {position}.*|.*umbriel recover"):
        await start(data)


async def test_one_removed_message_is_named_by_start_and_verify(data: Path) -> None:
    """A message that is gone from the middle is seen at the next start already, for the server knows the hole."""
    cut_out(nats_store(data), 5)
    with pytest.raises(DamagedError, match=r"none at 5\b"):
        await start(data)
    found = await look(data)
    assert ("missing", 5) in [(one.check, one.position) for one in found.findings]


@pytest.mark.parametrize("without", [(), ("profiles", "directory.sqlite")])
async def test_a_log_without_its_end_is_not_served(data: Path, without: tuple[str, ...]) -> None:
    """A shorter log is refused, also when the views that knew more were thrown away: the newest seal is known here."""
    async with opened(data) as log:
        end = log.state.last_position
    cut_end(nats_store(data), end - 4)
    for name in without:
        (data / name).rename(data.parent / name)
    with pytest.raises((MismatchError, DamagedError), match="umbriel recover"):
        await start(data)
    found = await look(data)
    assert "log" in {one.check for one in found.findings}


def truncated(path: Path) -> None:
    """Cut a file in half."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def changed(path: Path) -> None:
    """Change a byte of a file."""
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize(
    "view, pattern, harm",
    [("vectors", "*.seg", truncated), ("keywords", "MAIN_*.seg", changed), ("ledger", "ledger.sqlite", truncated)],
)
async def test_a_damaged_view_is_named_and_made_again(
    data: Path, store: Path, view: str, pattern: str, harm: Callable[[Path], None]
) -> None:
    """A view's file that is not as written is named with its path; a service makes the views again from the log."""
    before = await start(Path(shutil.copytree(store, data.parent / "control")))
    file = next((data / "profiles" / "p.p" / view).rglob(pattern), None)
    assert file is not None, [path.name for path in (data / "profiles" / "p.p" / view).rglob("*")]
    harm(file)
    found = await look(data)
    assert [one.check for one in found.findings] == ["view"]
    assert (found.findings[0].profile, str(file) in found.findings[0].text) == ("p", True)
    assert await start(data) == before


async def test_views_of_another_log_are_not_served(data: Path, tmp_path: Path) -> None:
    """A log of the same length with other events in it is refused."""
    other = tmp_path / "other"
    async with thinking(other, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        await world.call(
            "ingest", messages=[{"role": "user", "content": f"Nothing {n}"} for n in range(200)], session="s"
        )
    shutil.rmtree(nats_store(data))
    shutil.copytree(nats_store(other), nats_store(data))
    with pytest.raises(MismatchError, match="another log"):
        await start(data)


async def test_a_running_service_looks_at_itself(data: Path) -> None:
    """The verb looks in the background, tells how far it is, and lists what it found with public positions."""
    flip(nats_store(data), 5)
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        service = world.runtime.service

        async def ask(action: str) -> object:
            reply = await service.call("verify", PERSON, "_", msgspec.json.encode({"action": action}))
            return msgspec.json.decode(msgspec.json.encode(reply))

        assert (await ask("status")) == {"state": "none"}
        reply = await ask("start")
        async with asyncio.timeout(30):
            while reply["state"] == "running":  # type: ignore[index]
                await asyncio.sleep(0.05)
                reply = await ask("status")
        assert isinstance(reply, dict)
        assert (reply["state"], reply["done"]) == ("done", reply["total"])
        (finding,) = [one for one in reply["findings"] if one["check"] == "missing"]
        assert finding["position"] == world.runtime.service.core.positions.show(5)


async def test_a_reader_stops_at_a_gap(data: Path) -> None:
    """Views that begin again do not pass over what cannot be read: the service says where, and serves nothing."""
    flip(nats_store(data), 5)
    shutil.rmtree(data / "profiles")
    (data / "directory.sqlite").unlink()
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        log = world.runtime.service.core.events.log

        async def halted() -> bool:
            return bool(log.halted)

        await until(halted)
        for verb, body in (("list", b"{}"), ("remember", b'{"content": "x"}'), ("recall", b'{"query": "office"}')):
            with pytest.raises(DamagedError, match="position 5"):
                await world.runtime.service.call(verb, PERSON, "p", body)
        status = await world.runtime.service.call("status", PERSON, "_", b"{}")
        assert "position 5" in msgspec.to_builtins(status)["halted"]


async def test_everything_written_can_be_proven(data: Path) -> None:
    """A memory, a message and an event each have a proof, also when written just now; what is elsewhere has none."""
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        memory = await world.remember("The roof is red", key="roof")
        said = await world.say("The roof leaks.", session="s9")
        (event,) = (await world.call("feed", after=said.outcomes[0].position, kinds=["extraction"])).events[:1]
        for id_ in (memory, said.outcomes[0].id, event.position, event.event_id):
            reply = await world.call("proof", id=id_)
            check_proof(msgspec.json.decode(msgspec.json.encode(reply), type=Proof), check_signature)
        assert (await world.call("proof", id=event.event_id)).position == (
            await world.call("proof", id=event.position)
        ).position
        show = world.runtime.service.core.positions.show
        for id_ in ("a" * 26 + "@1", "f" * 32, show(10**6), show((await log_of(world).newest("seal")).position)):
            with pytest.raises(NotFoundError):
                await world.call("proof", id=id_)


def log_of(world: World[None]) -> Any:
    """The log of a service."""
    return world.runtime.service.core.events.log


async def test_seals_outlive_erasure(data: Path) -> None:
    """What is erased nobody reads, and the log still proves that it was written; the audit says who erased it."""
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        listed = (await world.call("list", contact="jo", limit=500)).entries
        lost = next(one.position for one in listed if one.contact == "jo")
        await world.call("erase", PERSON, contact="jo")
        reply = await world.call("proof", id=lost)
        check_proof(msgspec.json.decode(msgspec.json.encode(reply), type=Proof), check_signature)
        entries = (await world.call("audit", PERSON, action="profile.erased")).entries
        assert [(one.action, one.principal, one.detail) for one in entries] == [("erased", "local", "contact")]
        gone = [one for one in (await world.call("audit", PERSON, limit=500)).entries if one.erased]
        assert lost in {one.position for one in gone}
        assert not any(one.principal or one.memories or one.detail for one in gone)
    found = await look(data)
    assert (found.findings, found.unreadable > 0) == ([], True)

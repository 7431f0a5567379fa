"""Starting on what is there: a second server, a taken port, damaged views, another model, a shorter log."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateways import bootstrap
from gateways.models.minilm import MiniLMEmbedder
from tests.e2e.processes import ServiceProcess
from umbriel import Umbriel
from umbriel.types import Message


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service of the test's own, to be broken."""
    with ServiceProcess(tmp_path / "data") as running:
        yield running


def serve_again(data: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Try `umbriel serve` once and return how it ended."""
    command = [sys.executable, "-m", "gateways.cli", "serve", "--data", str(data), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=40, check=False)


async def write_some(client: Umbriel) -> tuple[str, list[str]]:
    """Write a conversation and a memory; return the memory's id and the ids a question finds."""
    lines = [Message(role="user", content=f"{animal} sleep on the roof") for animal in ("Cats", "Owls", "Storks")]
    await client.ingest(lines, session="roof")
    written = await client.remember("The roof is red", key="roof colour", wait=True)
    return written.memory.id, await ask(client)


async def ask(client: Umbriel) -> list[str]:
    """Ids that the question finds, best first."""
    return [result.id for result in (await client.recall("what colour is the roof", limit=10)).results]


def test_a_second_serve_is_refused(own: ServiceProcess) -> None:
    """One data directory has one server; the second says so in one line and ends with its own code."""
    ended = serve_again(own.data)
    assert ended.returncode == 8
    assert "another process serves" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    """A port in use is named, and nothing is left running."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = serve_again(tmp_path / "data", "--port", str(port))
    assert ended.returncode == 8
    assert str(port) in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_a_restart_answers_the_same(own: ServiceProcess) -> None:
    """Stopped and started again, the service answers as before without a rebuild."""
    async with await own.client() as client:
        memory, before = await write_some(client)
    assert memory in before
    own.stop()
    own.start()
    async with await own.client() as client:
        assert await ask(client) == before
        assert (await client.status()).pending == 0


@pytest.mark.parametrize("view", ["ledger", "vectors", "keywords"])
async def test_lost_views_come_back_from_the_log(own: ServiceProcess, view: str) -> None:
    """A view whose files are gone is filled from the log when the profile is opened."""
    async with await own.client() as client:
        _, before = await write_some(client)
    own.stop()
    (directory,) = (own.data / "profiles").iterdir()
    shutil.rmtree(directory / view)
    own.start()
    async with await own.client() as client:
        assert sorted(await ask(client)) == sorted(before)


@pytest.mark.parametrize("view", ["ledger", "vectors", "keywords"])
async def test_damaged_files_are_noticed_and_replaced(own: ServiceProcess, view: str) -> None:
    """Files cut short are never read as if they were whole: the views are made again from the log."""
    async with await own.client() as client:
        memory, before = await write_some(client)
    own.stop()
    (directory,) = (own.data / "profiles").iterdir()
    damaged = 0
    for file in (directory / view).rglob("*"):
        if file.is_file() and file.stat().st_size > 64 and not file.name.endswith(("-shm", "-wal")):
            content = file.read_bytes()
            file.write_bytes(content[: len(content) // 2])
            damaged += 1
    assert damaged
    own.start()
    async with await own.client() as client:
        assert sorted(await ask(client)) == sorted(before)
        assert (await client.get(id=memory)).text == "The roof is red"


class OtherModel(MiniLMEmbedder):
    """The same vectors under another name: what a changed model looks like to the views."""

    @property
    def model(self) -> str:
        """Another name."""
        return "another-model"


async def test_another_model_on_existing_views_is_taken_up_by_itself(own: ServiceProcess) -> None:
    """Vectors of two models never mix: words and keys answer until every text has a vector of the new model."""
    async with await own.client() as client:
        memory, _ = await write_some(client)
    own.stop()
    async with bootstrap.running(own.data, embedder=OtherModel()) as runtime:
        password = (own.data / "secrets" / "local-agent.password").read_text().strip()
        connected = await Umbriel.connect(runtime.url, principal="local-agent", password=password, profile="p")
        async with connected as client:
            found = await client.recall("roof", explain=True)
            assert memory in [result.id for result in found.results]
            assert not found.channels["vector"] or not found.off
            rebuilt = await client.rebuild()
            found = await client.recall("roof", at_least=rebuilt.position, explain=True)
            assert memory in found.channels["vector"]
            assert not found.off


async def test_a_log_that_lost_its_end_is_noticed(own: ServiceProcess) -> None:
    """Views that have seen more than the log holds stop the start with a clear error."""
    async with await own.client() as client:
        await write_some(client)
    own.stop()
    shutil.rmtree(own.data / "nats" / "store")
    ended = serve_again(own.data)
    assert ended.returncode == 7
    assert "log" in ended.stderr
    assert "Traceback" not in ended.stderr

"""A process killed between the rounds of a turn: its results are taken over once, or not where it had answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import ServiceProcess
from umbriel import Message, Umbriel
from umbriel.turns import ResumeTurnReply, ToolRow

HASTY = ("tests.hasty_service", "serve")
ROWS = [ToolRow(tool="search", arguments="tram", result="Line 28 " * 5_000), ToolRow(tool="fetch")]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service of the test's own, where a turn has stopped after half a second."""
    with ServiceProcess(tmp_path / "data", HASTY, thinking=False) as running:
        yield running


async def resumed(client: Umbriel, session: str, seconds: float = 10.0) -> ResumeTurnReply:
    """Ask until a turn was handed over, as the next requests of a conversation would."""
    async with asyncio.timeout(seconds):
        while True:
            reply = await client.resume_turn(session)
            if reply.turn_id:
                return reply
            await asyncio.sleep(0.1)


@pytest.mark.fault
@pytest.mark.timeout(120)
@pytest.mark.parametrize("victim", ["service", "both"])
async def test_a_turn_outlives_a_kill(service: ServiceProcess, victim: str) -> None:
    """Kill -9 after a tool round, alone and with its server: one resumer gets all of it, later ones nothing."""
    async with await service.client() as client:
        await client.save_turn("s", "t1", ROWS[1:])
        saved = await client.save_turn("s", "t1", ROWS, sessions={"browser": "b-17"})
        assert (saved.rows, saved.omitted_chars) == (2, 37_000)
        service.kill()
    if victim == "both":
        service.kill_server()
    service.start()
    async with await service.client() as client:
        first = await resumed(client, "s")
        assert (first.turn_id, first.sessions, len(first.rows[0].result or "")) == ("t1", {"browser": "b-17"}, 3_000)
        assert "37000 more characters" in first.note
        await asyncio.sleep(0.6)
        assert {(await client.resume_turn("s")).turn_id for _ in range(3)} == {""}


@pytest.mark.fault
@pytest.mark.timeout(120)
async def test_an_answered_turn_is_not_resumed(service: ServiceProcess) -> None:
    """Killed right after the answer was acknowledged, and killed after somebody took the turn over."""
    async with await service.client() as client:
        for turn in ("answered", "taken"):
            await client.save_turn(turn, turn, ROWS)
        await resumed(client, "taken")
        said = [Message(role="assistant", content="Line 28", turn_id="answered")]
        await client.ingest(said, session="answered")
        # As it would be if the process had died before it dropped the turn.
        await client.save_turn("answered", "answered", ROWS)
        service.kill()
    service.start()
    async with await service.client() as client:
        await asyncio.sleep(0.6)
        for session in ("answered", "taken"):
            assert (await client.resume_turn(session)).turn_id == ""
        await client.save_turn("control", "control", ROWS)
        assert (await resumed(client, "control")).turn_id == "control"

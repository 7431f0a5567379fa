"""Processes killed while they think: everything that was acknowledged is read once, and judged."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.processes import ServiceProcess
from umbriel import Umbriel, UmbrielError
from umbriel.types import FeedEvent, Message

THINKERS = ("tests.thinkers", "serve")


async def everything(client: Umbriel) -> list[FeedEvent]:
    """All events of the profile from its start."""
    found: list[FeedEvent] = []
    after = ""
    while True:
        page = await client.feed(after=after, limit=500)
        found += page.events
        if not page.events:
            return found
        after = page.position


async def talk(client: Umbriel, name: str, acknowledged: dict[str, str]) -> None:
    """Record answered turns until cancelled, each with a note; keep which notes were acknowledged."""
    for number in range(10_000):
        text = f"{name} fact {number}"
        turn = [Message(role="user", content=f"note {name} {number} = {text}"), Message(role="assistant", content="ok")]
        try:
            reply = await client.ingest(turn, session=f"{name}-{number // 5}", timeout=3)
        except UmbrielError:
            await asyncio.sleep(0.1)
            continue
        for outcome in reply.outcomes[:1]:
            acknowledged[outcome.id] = text


async def settled(client: Umbriel) -> None:
    """Wait until nothing is left to be read or judged."""
    async with asyncio.timeout(60):
        while True:
            status = await client.status()
            if not (status.unread or status.unjudged or status.pending or status.lag_events):
                return
            await asyncio.sleep(0.1)


@pytest.mark.fault
@pytest.mark.timeout(180)
# Between them these kill the service, the server and both, first and second.
@pytest.mark.parametrize("seed", [0, 1, 3])
async def test_what_was_said_is_read_once_through_kills(seed: int, tmp_path: Path) -> None:
    """Kill -9 of the service or of its server, twice: every acknowledged note is one memory, and read exactly once."""
    dice = random.Random(seed)
    acknowledged: dict[str, str] = {}
    with ServiceProcess(tmp_path / "data", THINKERS) as service:
        for _ in range(2):
            async with await service.client() as client:
                talking = [asyncio.create_task(talk(client, f"w{n}", acknowledged)) for n in range(2)]
                await asyncio.sleep(dice.uniform(0.5, 1.5))
                victim = dice.choice(["service", "server", "both"])
                if victim != "server":
                    service.kill()
                if victim != "service":
                    service.kill_server()
                for task in talking:
                    task.cancel()
                await asyncio.gather(*talking, return_exceptions=True)
            service.stop()
            service.start()
        async with await service.client() as client:
            await settled(client)
            events = await everything(client)
            listed = {memory.text for memory in (await client.list(limit=500)).entries}
    assert len(acknowledged) > 3
    assert set(acknowledged.values()) <= listed
    read = Counter(
        message for event in events if event.topic == "extraction.completed" for message in event.data["messages"]
    )
    recorded = [event.data["message"] for event in events if event.topic == "message.recorded"]
    assert read == Counter(dict.fromkeys(recorded, 1))
    written = Counter(event.data["text"] for event in events if event.topic == "memory.remembered")
    assert written == Counter(dict.fromkeys(written, 1))
    judged = Counter(event.data["memory"] for event in events if event.topic == "memory.judged")
    assert judged == Counter(dict.fromkeys(judged, 1))

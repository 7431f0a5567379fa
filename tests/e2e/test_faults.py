"""Processes killed at random points: everything acknowledged is there after a restart, nothing twice."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.processes import ServiceProcess
from umbriel import Umbriel, UmbrielError
from umbriel.types import FeedEvent, Message

#: Twice each: the service, the server and both are killed, at different moments.
SEEDS = (0, 1, 3, 5, 7, 8)


class Writer:
    """Writes messages and memories until told to stop, and keeps what was acknowledged."""

    def __init__(self, name: str, client: Umbriel) -> None:
        self.name = name
        self.client = client
        self.messages: set[str] = set()
        self.memories: dict[str, str] = {}
        self.running = True

    async def run(self) -> None:
        """Alternate a small ingest and a remember; errors are not acknowledgements."""
        number = 0
        while self.running:
            number += 1
            try:
                batch = [Message(role="user", content=f"{self.name} says {number}.{part}") for part in range(3)]
                reply = await self.client.ingest(batch, session=self.name, timeout=3)
                self.messages.update(outcome.id for outcome in reply.outcomes)
                text = f"{self.name} fact {number}"
                written = await self.client.remember(text, key=f"{self.name} key {number % 4}", timeout=3)
                self.memories[written.memory.id] = text
            except UmbrielError:
                await asyncio.sleep(0.1)


async def everything(client: Umbriel) -> AsyncIterator[FeedEvent]:
    """All events of the profile from its start."""
    after = ""
    while True:
        page = await client.feed(after=after, limit=500)
        for event in page.events:
            yield event
        if not page.events:
            return
        after = page.position


@pytest.mark.fault
@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", SEEDS)
async def test_what_was_acknowledged_survives_kills(seed: int, tmp_path: Path) -> None:
    """Kill -9 of the service or of nats-server under load loses and doubles nothing."""
    dice = random.Random(seed)
    with ServiceProcess(tmp_path / "data") as service:
        clients = [await service.client() for _ in range(2)]
        writers = [Writer(f"w{number}", client) for number, client in enumerate(clients)]
        running = [asyncio.create_task(writer.run()) for writer in writers]
        await asyncio.sleep(dice.uniform(0.3, 1.5))
        victim = dice.choice(["service", "server", "both"])
        if victim in ("service", "both"):
            service.kill()
        if victim in ("server", "both"):
            service.kill_server()
        await asyncio.sleep(dice.uniform(0, 0.3))
        for writer in writers:
            writer.running = False
        await asyncio.wait(running, timeout=30)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for client in clients:
            await client.close()
        service.stop()
        service.start()
        async with await service.client() as client:
            await _check(client, writers)


async def _check(client: Umbriel, writers: list[Writer]) -> None:
    events = [event async for event in everything(client)]
    messages = Counter(event.data["message"] for event in events if event.topic == "message.recorded")
    memories = {event.data["memory"]: event.data["text"] for event in events if event.topic == "memory.remembered"}
    acknowledged = set().union(*(writer.messages for writer in writers))
    assert acknowledged, "the run acknowledged nothing, so it proves nothing"
    assert not acknowledged - set(messages), "acknowledged messages are missing"
    assert not [message for message, count in messages.items() if count > 1], "a message was recorded twice"
    for writer in writers:
        for memory, text in writer.memories.items():
            assert memories.get(memory) == text
    assert len({event.event_id for event in events}) == len(events)
    positions = [int(event.position.rsplit(":", 1)[1]) for event in events]
    assert positions == sorted(positions)
    found = await client.recall(next(iter(memories.values())), limit=5, at_least=events[-1].position)
    assert found.results
    live = await client.list(limit=500)
    assert len({(memory.key, memory.contact) for memory in live.entries}) == len(live.entries)

"""Two services on one server that do the daily pass, and one of them killed in it: every effect exactly once."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from tests.e2e.processes import ServiceProcess
from tests.later import clock
from tests.thinking_world import until
from umbriel import Umbriel
from umbriel.types import FeedEvent

GROUPS, SINGLE = 4, 40
WAYS = (
    "Ana keeps boat {} in the harbour of the old town near the sea",
    "Ana keeps boat {} in a harbour of the old town near the sea",
    "Ana is keeping boat {} in the harbour of the old town near the sea",
)


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


async def state(client: Umbriel) -> None:
    """State memories of which some say the same, and wait until all is thought through."""
    for number in range(SINGLE - 1):
        await client.remember(f"Fact {number} is told of town {number * 7} alone")
    for number in range(GROUPS):
        for way in WAYS:
            await client.remember(way.format(number + 2))
    await client.remember("The last one", wait=True)


async def completed(client: Umbriel) -> None:
    """Wait until the passes of the day are on record."""

    async def done() -> bool:
        return {"reflection", "consolidation"} <= {
            one.data["name"] for one in await everything(client) if one.topic == "upkeep.completed"
        }

    await until(done, 60)


@pytest.mark.fault
@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", range(3))
async def test_a_pass_is_done_once_through_kills(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One service is killed while both do the pass, and started again: each memory decays and is merged once."""
    monkeypatch.setenv("LATER_DAYS", "40")
    data, twin, dice = tmp_path / "data", tmp_path / "twin", random.Random(seed)
    with ServiceProcess(data, ("tests.thinkers", "serve")) as service:
        async with await service.client() as client:
            await state(client)
    shutil.copytree(data / "secrets", twin / "secrets")
    with ServiceProcess(data, ("tests.later", "serve")) as service:
        url = msgspec.json.decode((data / "endpoint.json").read_bytes())["url"]
        with ServiceProcess(twin, ("tests.later", "serve", "--nats", url)) as other:
            await asyncio.sleep(dice.uniform(0.0, 1.5))
            (other if dice.random() < 0.5 else service).kill()
            other.stop()
        service.stop()
        service.start()
        async with await service.client() as client:
            await completed(client)
            events = await everything(client)
            live = [one.text for one in (await client.list(limit=500)).entries]
            status = await client.status()
    decayed = Counter(one.data["memory"] for one in events if one.topic == "memory.decayed")
    assert decayed == Counter(dict.fromkeys(decayed, 1))
    assert len(decayed) == GROUPS * len(WAYS) + SINGLE
    superseded = Counter(one.data["memory"] for one in events if one.topic == "memory.superseded")
    assert superseded == Counter(dict.fromkeys(superseded, 1))
    assert len(superseded) == GROUPS * (len(WAYS) - 1)
    assert [one.topic for one in events].count("upkeep.merged") == GROUPS
    assert len(live) == GROUPS + SINGLE
    done = {one.data["name"]: one.data for one in events if one.topic == "upkeep.completed"}
    assert [one.topic for one in events].count("upkeep.completed") == len(done)
    assert {one["day"] for one in done.values()} == {clock().date().isoformat()}
    assert done["consolidation"]["counts"] == {"decayed": len(decayed), "merged": len(superseded)}
    assert [(one.name, one.waiting) for one in status.passes] == [("reflection", 0), ("consolidation", 0)]

"""A data directory that a service has worked on and left, to be damaged; and ways to look at what became of it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec

from domain.settings import SealingLimits
from gateways.offline import opened
from gateways.service.examining import Examination
from tests.cheap import CheapEmbedder
from tests.thinking_world import PERSON, QUICK, World, thinking

__all__ = ["SETTINGS", "copied_store", "look", "nats_store", "start"]

SETTINGS = msgspec.structs.replace(QUICK, sealing=SealingLimits(messages=8, seconds=0.2))


async def live(world: World[None]) -> None:
    """What a profile goes through: conversations, memories of every fate, a link, settings, a forgotten message."""
    await world.say("I live in Porto.", "My sister is called Ana.", session="s1", contact="mara")
    await world.say("I live in Lisbon.", session="s2", contact="mara")
    first = await world.remember("The office is in Porto", key="office")
    await world.remember("The office is in Lisbon", PERSON, key="office")
    await world.call("restore", PERSON, id=first)
    for number in range(6):
        await world.remember(f"Shelf {number} is green", key=f"shelf {number}", contact="jo")
    await world.call("pin", id=await world.remember("The door code changes on Mondays"))
    await world.call("forget", key="shelf 1", contact="jo")
    await world.call("link_contact", contact="mara", to="jo")
    await world.call("settings", PERSON, changes={"recall.fill": 3})
    await world.call("recall", query="where is the office")
    await world.call("set_task", session="s1", task="find a house")
    await world.call("consolidate")


_made: list[Path] = []


def _sound(place: Path) -> Path:
    """Make the store once for all modules."""
    if not _made:

        async def make() -> None:
            async with thinking(place, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
                await live(world)

        asyncio.run(make())
        _made.append(place)
    return _made[0]


def copied_store(place: Path, target: Path) -> Path:
    """Return a copy of the store, which is made at ``place`` where there is none yet."""
    return Path(shutil.copytree(_sound(place), target))


async def look(data: Path) -> Examination:
    """Look at all of a directory's log, without a service."""
    async with opened(data) as log:
        examination = log.examination()
        await examination.run()
        return examination


async def start(data: Path) -> list[str]:
    """Start a service and return what its profile holds."""
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        return await world.texts("all", contact="*")


def nats_store(data: Path) -> Path:
    """Where the server's files are."""
    return data / "nats" / "store"

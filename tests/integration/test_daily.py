"""The daily pass in running services: fired, made up for, and once whoever runs."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gateways.jetstream.connection import Connection, connect
from gateways.jetstream.schedules import Schedules
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.streams import SCHEDULES_STREAM
from gateways.jetstream.users import SERVICE
from gateways.service.daily import DailyPasses
from gateways.service.merging import CONSOLIDATION
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import PERSON, World, thinking, until
from umbriel.types import StatusReply

Here = World[Thinkers]


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        """The time it was set to."""
        return self.now


async def passes(here: Here) -> list[str]:
    """The days of the consolidations on record."""
    events = (await here.call("feed", limit=1_000, kinds=["upkeep"])).events
    done = [one.data for one in events if one.topic == "upkeep.completed"]
    return [one["day"] for one in done if one["name"] == CONSOLIDATION]


async def decays(here: Here) -> int:
    """How often something decayed."""
    return (await here.topics()).count("memory.decayed")


async def settled(here: Here, *days: datetime) -> None:
    """Wait until just these passes are on record."""

    async def done() -> bool:
        return await passes(here) == [day.date().isoformat() for day in days]

    await until(done)


def at_five(days: int) -> datetime:
    """Five in the morning, UTC, some days from now."""
    return (datetime.now(UTC) + timedelta(days=days)).replace(hour=5, minute=0)


async def test_what_was_missed_is_made_up_for_at_the_next_start(tmp_path: Path) -> None:
    """Down at four for weeks: at the start one pass runs, for the last day; started again, none; a day later, one."""
    data, clock = tmp_path / "data", Clock()
    async with thinking(data, Thinkers(), embedder=CheapEmbedder(), clock=clock) as here:
        await here.remember("Ana plays the cello")
        assert await passes(here) == []
    for day, ran, count in ((40, (40,), 1), (40, (40,), 1), (41, (40, 41), 2)):
        clock.now = at_five(day)
        async with thinking(data, Thinkers(), embedder=CheapEmbedder(), clock=clock) as here:
            await settled(here, *map(at_five, ran))
            assert await decays(here) == count
            status = await here.call("status")
            _, shown = status.passes
            assert (shown.name, shown.day) == (CONSOLIDATION, clock.now.date().isoformat())
            assert shown.due == clock.now.replace(hour=4, second=0, microsecond=0)
            assert (shown.done, shown.waiting, shown.counts["decayed"]) == (1, 0, 1)


async def test_before_four_the_day_before_is_due(tmp_path: Path) -> None:
    """At half past three the pass of yesterday counts, for profiles that were there yesterday."""
    data, clock = tmp_path / "data", Clock()
    async with thinking(data, Thinkers(), embedder=CheapEmbedder(), clock=clock) as here:
        await here.remember("Ana plays the cello")
    clock.now = at_five(40).replace(hour=3, minute=30)
    async with thinking(data, Thinkers(), embedder=CheapEmbedder(), clock=clock) as here:
        await settled(here, at_five(39))


async def test_a_firing_starts_the_pass(tmp_path: Path) -> None:
    """A running service does what is due when the server's schedule fires, and not before."""
    clock = Clock()
    async with thinking(tmp_path / "data", Thinkers(), embedder=CheapEmbedder(), clock=clock) as here:
        await here.remember("Ana plays the cello")
        clock.now = at_five(40)
        assert await passes(here) == []
        secrets = Secrets(tmp_path / "data" / "secrets")
        connection = await connect(here.runtime.url, SERVICE, secrets.password(SERVICE))
        try:
            await until(lambda: is_set(connection))
            await Schedules(connection).set(CONSOLIDATION, "* * * * * *")
            await settled(here, clock.now)
        finally:
            await connection.close()
        assert await decays(here) == 1


async def is_set(connection: Connection) -> bool:
    """Whether the service has set its schedule."""
    return bool((await connection.js.stream_info(SCHEDULES_STREAM)).state.messages)


async def test_two_services_do_it_once(tmp_path: Path) -> None:
    """Two services on one server that both make up for a pass: one record of it, each memory decayed once."""
    data, twin, clock = tmp_path / "data", tmp_path / "twin", Clock()
    async with thinking(data, Thinkers(), embedder=CheapEmbedder(), clock=clock) as here:
        for number in range(60):
            await here.call("remember", content=f"Fact number {number} of its own", key=f"k{number}")
        await here.say("done")
        shutil.copytree(data / "secrets", twin / "secrets")
        url, clock.now = here.runtime.url, at_five(40)
        async with thinking(twin, Thinkers(), embedder=CheapEmbedder(), clock=clock, nats=url) as there:
            daily = passing(here)
            await daily.look()
            await settled(here, clock.now)
            await settled(there, clock.now)
            assert await decays(here) == 60
            await daily.look()
            await until(lambda: is_idle(daily))
            assert await decays(there) == 60
            assert await passes(there) == [clock.now.date().isoformat()]


def passing(here: Here) -> DailyPasses:
    """What runs the passes of a service."""
    daily = here.runtime.service.core.daily
    assert isinstance(daily, DailyPasses)
    return daily


async def is_idle(daily: DailyPasses) -> bool:
    """Whether it has nothing to do."""
    return daily.idle


async def test_the_service_says_how_far_the_passes_are(tmp_path: Path) -> None:
    """Over all profiles: how many have had the last pass; a profile younger than it waits for none."""
    clock = Clock()
    async with thinking(tmp_path / "data", Thinkers(), embedder=CheapEmbedder(), clock=clock) as here:
        await here.remember("Ana plays the cello")
        _, shown = (await whole(here)).passes
        assert (shown.day, shown.done, shown.waiting, shown.counts) == ("", 0, 0, {})
        clock.now = at_five(1)
        _, shown = (await whole(here)).passes
        assert (shown.done, shown.waiting) == (0, 1)
        await passing(here).look()
        await settled(here, clock.now)
        _, shown = (await whole(here)).passes
        assert (shown.day, shown.done, shown.waiting) == (clock.now.date().isoformat(), 1, 0)


async def whole(here: Here) -> StatusReply:
    """The status of the whole service."""
    reply = await here.runtime.service.call("status", PERSON, "_", b"{}")
    assert isinstance(reply, StatusReply)
    return reply

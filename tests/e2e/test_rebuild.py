"""Rebuild: beside the served generation, interrupted anywhere, verified, switched, rolled back, by itself."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from domain.ids import directory_name
from gateways import bootstrap
from tests.cheap import CheapEmbedder
from tests.e2e.processes import ServiceProcess
from umbriel import ConflictError, DamagedError, NotFoundError, RebuildReply, Umbriel
from umbriel.types import Message

WORDS = tuple(
    "amber birch cedar delta ember fjord grove heath inlet jetty knoll lagoon mesa nook oasis plain quay reef".split()  # noqa: SIM905
)
ASKED = ("amber birch", "lagoon of the reef", "message number 7", "who walked to the jetty")


def text(number: int) -> str:
    """A message unlike the others."""
    pick = random.Random(number)
    return f"message number {number}: {' '.join(pick.choices(WORDS, k=6))}"


@asynccontextmanager
async def serving(data: Path, embedder: CheapEmbedder | None = None) -> AsyncIterator[Umbriel]:
    """A service in this process, and a client of it."""
    async with bootstrap.running(data, embedder=embedder or CheapEmbedder()) as runtime:
        password = (data / "secrets" / "local.password").read_text().strip()
        connected = await Umbriel.connect(runtime.url, principal="local", password=password, profile="p")
        async with connected as client:
            yield client


async def fill(client: Umbriel, count: int) -> None:
    """Record messages and a memory, and wait until all of it can be found."""
    for start in range(0, count, 500):
        part = [Message(role="user", content=text(n)) for n in range(start, min(count, start + 500))]
        await client.ingest(part, session=f"s{start}")
    await client.remember("The jetty is closed on Mondays", key="jetty hours")
    await settled(client)


async def settled(client: Umbriel) -> None:
    """Wait until the views are at the end of the log with every embedding."""
    async with asyncio.timeout(150):
        while True:
            status = await client.status()
            if not status.pending and status.applied == status.log_position == status.complete:
                return
            await asyncio.sleep(0.1)


async def answers(client: Umbriel) -> list[list[tuple[str, float]]]:
    """What the questions find, best first, with rounded relevance."""
    replies = [await client.recall(query, limit=15, contact="*") for query in ASKED]
    return [[(one.id, round(one.relevance, 4)) for one in reply.results] for reply in replies]


async def ended(client: Umbriel) -> RebuildReply:
    """Wait for the end of the profile's rebuild."""
    async with asyncio.timeout(50):
        while (reply := await client.rebuild(action="status")).state in ("running", "verifying"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return reply


async def paused_midway(client: Umbriel) -> RebuildReply:
    """Start a rebuild of every view and pause it before its end."""
    await client.rebuild(wait=False)
    while not (await client.rebuild(action="status")).events:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    reply = await client.rebuild(action="pause")
    assert reply.state == "paused"
    return reply


def views_of(data: Path) -> Path:
    """The directory of the profile's views."""
    return data / "profiles" / directory_name("p")


@pytest.mark.timeout(240)
async def test_recall_answers_during_a_rebuild_of_20000_messages(tmp_path: Path) -> None:
    """Recall never fails or stalls while 20,000 messages are rebuilt, and answers the same before and after."""
    async with serving(tmp_path) as client:
        await fill(client, 20_000)
        before = await answers(client)
        started = await client.rebuild(wait=False)
        assert started.state == "running"
        slowest, asked = 0.0, 0
        while (status := await client.rebuild(action="status")).state in ("running", "verifying"):
            since = time.monotonic()
            found = await client.recall(ASKED[asked % len(ASKED)], limit=15, contact="*")
            slowest, asked = max(slowest, time.monotonic() - since), asked + 1
            assert found.results
        assert status.state == "switched", status.error
        assert status.events >= 40_000
        assert status.total == status.events
        assert asked > 5
        assert slowest < 5
        assert await answers(client) == before


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service in a process of its own, with the cheap embedder."""
    with ServiceProcess(tmp_path / "data", ("tests.cheap", "serve")) as running:
        yield running


async def test_killed_at_random_points_it_resumes(own: ServiceProcess) -> None:
    """Killed three times at random points, the same rebuild goes on from where it was and ends by itself."""
    async with await own.client() as client:
        await fill(client, 3_000)
        before = await answers(client)
        started = await client.rebuild(wait=False)
    for _ in range(3):
        await asyncio.sleep(random.uniform(0.05, 0.9))
        own.kill()
        own.start()
    async with await own.client() as client:
        reply = await ended(client)
        assert (reply.state, reply.job) == ("switched", started.job), reply.error
        assert await answers(client) == before


async def test_paused_it_stays_paused_and_resumes(tmp_path: Path) -> None:
    """A pause outlives a restart; resumed, the rebuild does only what was left; another start meanwhile is refused."""
    async with serving(tmp_path) as client:
        await fill(client, 3_000)
        before = await answers(client)
        paused = await paused_midway(client)
        with pytest.raises(ConflictError):
            await client.rebuild()
    async with serving(tmp_path) as client:
        assert (await client.rebuild(action="status")).state == "paused"
        assert await answers(client) == before
        resumed = await client.rebuild(action="resume")
        assert (resumed.state, resumed.job) == ("switched", paused.job)
        assert await answers(client) == before


async def test_a_rollback_serves_the_kept_generation_with_what_came_since(tmp_path: Path) -> None:
    """Rolled back, the earlier generation serves again and knows what was written after it was left."""
    async with serving(tmp_path) as client:
        await fill(client, 300)
        with pytest.raises(NotFoundError):
            await client.rebuild(action="rollback")
        first = {view.view: view.generation for view in (await client.status()).views}
        rebuilt = await client.rebuild()
        assert rebuilt.kept == first
        written = await client.remember("The reef opens in June", key="reef season", wait=True)
        back = await client.rebuild(action="rollback")
        assert {view.view: view.generation for view in (await client.status()).views} == first
        assert back.kept["ledger"] == rebuilt.generation
        found = await client.recall("when does the reef open", at_least=written.position)
        assert written.memory.id in [one.id for one in found.results]
        assert (await client.rebuild(action="rollback")).state == "switched"


async def test_a_new_generation_that_does_not_agree_is_not_served(tmp_path: Path) -> None:
    """A ledger that lost items before the switch is noticed: the rebuild fails with the reason, the old one serves."""
    async with serving(tmp_path) as client:
        await fill(client, 3_000)
        before, served = await answers(client), (await client.status()).views[0].generation
        paused = await paused_midway(client)
        with sqlite3.connect(views_of(tmp_path) / "ledger" / paused.generation / "ledger.sqlite") as db:
            db.execute("DELETE FROM items WHERE id IN (SELECT id FROM items LIMIT 3)")
        db.close()
        with pytest.raises(DamagedError, match="keywords"):
            await client.rebuild(action="resume")
        status = await client.status()
        assert status.rebuild is not None
        assert status.rebuild.state == "failed"
        assert [view.generation for view in status.views] == [served] * 3
        assert await answers(client) == before
        assert not (views_of(tmp_path) / "ledger" / paused.generation).exists()
        assert (await client.rebuild()).state == "switched"


async def test_a_changed_model_embeds_again_by_itself(tmp_path: Path) -> None:
    """With another model words and keys answer at once, and the vectors come back without being asked for."""
    async with serving(tmp_path) as client:
        await fill(client, 1_000)
    other = CheapEmbedder("dearer", 48)
    async with serving(tmp_path, other) as client:
        found = await client.recall("jetty hours", contact="*", explain=True)
        status = await client.status()
        assert found.results[0].key == "jetty hours"
        if "vector" in found.off:
            assert "dearer" in found.off["vector"]
            assert found.channels["vector"] == []
            assert {view.view for view in status.views if view.outdated} in ({"ledger", "vectors"}, set())
        reply = await ended(client)
        assert (reply.state, reply.views) == ("switched", ["ledger", "vectors"]), reply.error
        assert other.texts >= 1_001
        found = await client.recall("jetty hours", contact="*", explain=True)
        assert found.channels["vector"]
        assert not found.off
        assert (await client.status()).pending == 0
    again = CheapEmbedder("dearer", 48)
    async with serving(tmp_path, again) as client:
        assert (await client.rebuild()).state == "switched"
        assert again.texts == 0


async def test_a_changed_model_killed_midway_keeps_what_it_embedded(own: ServiceProcess, tmp_path: Path) -> None:
    """Vectors of the new model are events: after a kill only what was left is embedded."""
    async with await own.client() as client:
        await fill(client, 1_500)
    own.stop()
    embedder = CheapEmbedder("dearer")
    async with serving(own.data, embedder) as client:
        while not embedder.texts:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await client.rebuild(action="pause")
    rest = CheapEmbedder("dearer")
    async with serving(own.data, rest) as client:
        if (await client.rebuild(action="status")).state == "paused":
            await client.rebuild(action="resume")
        assert (await ended(client)).state == "switched"
        assert embedder.texts + rest.texts < 1_501 + 600
        assert (await client.status()).pending == 0


async def test_a_forget_during_a_rebuild_is_honoured(tmp_path: Path) -> None:
    """Forgotten while the views are made again, a memory is in neither generation, nor in a kept or paused one."""
    async with serving(tmp_path) as client:
        await fill(client, 3_000)
        secret = await client.remember("The vault opens with xyzzyplugh", key="vault", wait=True)
        await client.rebuild()
        assert (await client.rebuild(action="status")).kept
        await client.rebuild(wait=False)
        gone = await client.forget(secret.memory.id)
        reply = await ended(client)
        assert reply.state == "switched", reply.error
        found = await client.recall("vault xyzzyplugh", at_least=gone.position)
        assert secret.memory.id not in [one.id for one in found.results]
        again = await client.remember("The vault opens with xyzzyplugh", key="vault", wait=True)
        paused = await paused_midway(client)
        gone = await client.forget(again.memory.id)
        await client.recall("vault", at_least=gone.position)
        assert not (views_of(tmp_path) / "keywords" / paused.generation).exists()
        assert not (await client.rebuild(action="status")).kept
        with pytest.raises(ConflictError):
            await client.rebuild(action="rollback")
        assert (await client.rebuild(action="resume")).state == "switched"
        found = await client.recall("vault xyzzyplugh", at_least=gone.position)
        assert again.memory.id not in [one.id for one in found.results]


@pytest.mark.parametrize("view", ["ledger", "vectors", "keywords"])
async def test_one_view_is_rebuilt_alone(tmp_path: Path, view: str) -> None:
    """Only the named view gets a generation; the answers stay, and what is written next is found by all channels."""
    async with serving(tmp_path) as client:
        await fill(client, 400)
        before = await answers(client)
        first = {one.view: one.generation for one in (await client.status()).views}
        reply = await client.rebuild([view])
        after = {one.view: one.generation for one in (await client.status()).views}
        assert after == {**first, view: reply.generation}
        assert await answers(client) == before
        written = await client.remember("The quay is painted green", key="quay colour", wait=True)
        found = await client.recall("quay painted green", at_least=written.position, explain=True)
        assert all(written.memory.id in found.channels[channel] for channel in ("vector", "keyword", "key"))


async def test_a_changed_projection_version_is_rebuilt_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keywords of another projection version are off, then made again without being asked for."""
    async with serving(tmp_path) as client:
        await fill(client, 300)
        before = await answers(client)
    monkeypatch.setattr("projections.keywords.VERSION", 2)
    async with serving(tmp_path) as client:
        assert (await client.recall("jetty", contact="*")).results
        reply = await ended(client)
        assert (reply.state, reply.views) == ("switched", ["keywords"]), reply.error
        assert await answers(client) == before


async def test_a_cancelled_rebuild_leaves_nothing(tmp_path: Path) -> None:
    """Cancelled, a rebuild's files are gone and the served generation is as it was."""
    async with serving(tmp_path) as client:
        await fill(client, 3_000)
        paused = await paused_midway(client)
        assert (await client.rebuild(action="cancel")).state == "cancelled"
        assert not (views_of(tmp_path) / "vectors" / paused.generation).exists()
        assert (await client.rebuild()).state == "switched"

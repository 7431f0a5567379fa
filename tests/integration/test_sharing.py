"""Several instances on one log: partitions are leased, shared fairly, taken over, and worked for once."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from domain.ids import PARTITIONS
from gateways.jetstream.connection import Connection
from gateways.jetstream.leases import Leases
from gateways.service.rounds import ProfileWorker
from gateways.service.sharing import Shares, fair_share
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import AGENT, QUICK, World, thinking, until
from umbriel.types import StatusReply

EVERYTHING = set(range(PARTITIONS))


class Idle(ProfileWorker):
    """A worker that notes what it worked for."""

    def __init__(self) -> None:
        super().__init__("idle")
        self.done: list[str] = []
        self.in_haste = False

    def hurries(self, profile: str) -> bool:
        """Whether somebody waits."""
        return self.in_haste and profile == "p"

    async def _work(self, profile: str) -> bool:
        self.done.append(profile)
        return False


@pytest.fixture
def leases(connection: Connection) -> Leases:
    """An empty bucket."""
    return Leases(connection)


async def look(*instances: Shares, leases: Leases, times: int = 3) -> None:
    """Let every instance look, one after the other."""
    for _ in range(times):
        for one in instances:
            await one.look(leases)


@pytest.mark.parametrize("members", [1, 2, 3, 5, 64, 70])
def test_shares_are_fair_and_give_out_everything(members: int) -> None:
    """No two shares differ by more than one, and together they are all partitions."""
    names = [f"m{number:02d}" for number in range(members)]
    shares = [fair_share(names, name) for name in names]
    assert sum(shares) == PARTITIONS
    assert max(shares) - min(shares) <= 1


async def test_partitions_follow_who_is_there(leases: Leases) -> None:
    """One instance has all; who joins gets a fair share, who leaves gives it back, and nothing is held twice."""
    one, two, three = (Shares(leases) for _ in range(3))
    await look(one, leases=leases)
    assert set(one.held) == EVERYTHING
    await look(one, two, three, leases=leases)
    held = [set(each.held) for each in (one, two, three)]
    assert sorted(map(len, held)) == [21, 21, 22]
    assert set.union(*held) == EVERYTHING
    await two.close()
    assert not two.held
    await look(one, three, leases=leases)
    assert set(one.held) | set(three.held) == EVERYTHING
    assert not set(one.held) & set(three.held)


async def test_a_lease_is_taken_over_from_whoever_is_not_there_any_more(leases: Leases) -> None:
    """An instance whose key has expired loses its partitions under a new fencing value, and finds that out."""
    dead, alive = Shares(leases), Shares(leases)
    await look(dead, leases=leases)
    before = dict(dead.held)
    await leases.leave(dead.name)
    await look(alive, leases=leases)
    assert set(alive.held) == EVERYTHING
    assert all(alive.held[at] > before[at] for at in EVERYTHING)
    assert await leases.write(0, dead.name, before[0]) is None
    await look(dead, alive, leases=leases)
    assert len(dead.held) == len(alive.held) == PARTITIONS // 2


async def test_only_the_owner_works_unless_somebody_hurries(leases: Leases) -> None:
    """A worker leaves alone what is not its instance's; once it is, it is woken for it."""
    here, there = Shares(leases, lambda: ["p"]), Shares(leases)
    worker = Idle()
    here.share([worker])
    await look(there, leases=leases)
    assert await worker.held("p")
    worker.in_haste = True
    assert not await worker.held("p")
    worker.in_haste = False
    await there.close()
    await look(here, leases=leases)
    assert not await worker.held("p")
    assert not worker.idle


async def test_without_the_bucket_everybody_works(leases: Leases) -> None:
    """An instance with a log of its own holds everything, one that is no worker nothing."""
    assert set(Shares().held) == EVERYTHING
    assert not Shares(leases, works=False).held
    assert not Shares(works=False).held
    assert not Shares().work()


async def test_what_is_said_is_read_once_where_it_is_leased(tmp_path: Path) -> None:
    """Of two instances beside a server, the one that is a worker reads, embeds and judges; both know the outcome."""
    data, one, two = tmp_path / "data", tmp_path / "one", tmp_path / "two"
    api = msgspec.structs.replace(QUICK, roles=("api",))
    readers = Thinkers(), Thinkers()
    async with thinking(data, Thinkers(), settings=api, embedder=CheapEmbedder()) as here:
        for twin in (one, two):
            shutil.copytree(data / "secrets", twin / "secrets")
        url = here.runtime.url
        async with (
            thinking(one, readers[0], settings=api, embedder=CheapEmbedder(), nats=url) as asked,
            thinking(two, readers[1], embedder=CheapEmbedder(), nats=url) as working,
        ):
            assert not asked.runtime.service.core.shares.held
            await until(lambda: holds_everything(working))
            shown = [await service_status(one) for one in (here, asked, working)]
            assert [one.partitions for one in shown] == [0, 0, PARTITIONS]
            assert shown[0].instance == ""
            assert shown[1].instance != shown[2].instance
            await asked.call("ingest", messages=[{"role": "user", "content": "note cello = Ana plays it"}], session="s")
            await until(lambda: knows(asked))
            assert readers[1].notes.windows
            assert not readers[0].notes.windows


async def service_status(world: World[Thinkers]) -> StatusReply:
    """What an instance says of itself."""
    reply = await world.runtime.service.call("status", AGENT, "_", b"{}")
    assert isinstance(reply, StatusReply)
    return reply


async def holds_everything(world: World[Thinkers]) -> bool:
    """Whether an instance holds every partition."""
    return set(world.runtime.service.core.shares.held) == EVERYTHING


async def knows(world: World[Thinkers]) -> bool:
    """Whether an instance lists a memory."""
    return bool(await world.texts())

"""Three nats-servers, three copies of every stream, three services: killed under load, and ended in good order."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from gateways.doctor.online import look
from gateways.jetstream.server import find_binary
from gateways.jetstream.streams import check_streams
from tests.cluster_world import ClusterWorld, check, loaded, say
from tests.nats_cluster import CONFIG, NatsCluster

pytestmark = [pytest.mark.fault, pytest.mark.timeout(180)]

_names = count(1)
#: what an outage of writing or recall may last; a quiet machine takes half of it
_AWAY = 20.0


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterWorld]:
    """The cluster with its instances; a test that kills one leaves the others, and enough of them."""
    with ClusterWorld(tmp_path_factory.mktemp("cluster")) as started:
        yield started


async def test_what_was_acknowledged_survives_a_leader_and_an_instance(world: ClusterWorld) -> None:
    """Kill -9 of the log's leader, then of an instance, under load: none lost, none doubled, recall soon back."""
    profile = f"p{next(_names)}"
    async with loaded(world, profile) as load:
        leader = await world.nats.leader()
        world.nats.kill(leader)
        write, recall = await load.back()
        say(f"leader killed: writing back after {write:.1f} s, recall after {recall:.1f} s")
        assert max(write, recall) < _AWAY
        world.nats.start(leader)
        world.instances["two"].kill()
        write, recall = await load.back()
        say(f"instance killed: writing back after {write:.1f} s, recall after {recall:.1f} s")
        assert max(write, recall) < _AWAY
    await check(world, load, profile)


async def test_an_instance_that_ends_lets_nobody_down(world: ClusterWorld) -> None:
    """SIGTERM under load: the instance finishes what it was asked and is asked no more; no caller meets an error."""
    profile = f"p{next(_names)}"
    async with loaded(world, profile, timeout=None) as load:
        world.instances["three"].end()
        while world.instances["three"].running:
            await load.back()
        await load.back()
    assert load.errors == []
    await check(world, load, profile)


async def test_a_read_waits_for_what_another_instance_wrote(world: ClusterWorld) -> None:
    """A read with the position of a write has seen it, whichever instances carry out the two."""
    async with await world.client(f"p{next(_names)}") as client:
        for number in range(20):
            written = await client.remember(f"The code of door {number} is {number * 37}", key="door")
            found = await client.get(key="door", at_least=written.position)
            assert found.id == written.memory.id


async def test_every_stream_has_three_copies(world: ClusterWorld) -> None:
    """`--replicas 3` holds for each stream, and is what the doctor expects where the log has three."""
    connection = await world.nats.connection()
    try:
        await check_streams(connection.js)
        infos = await connection.js.streams_info()
        assert {info.config.num_replicas for info in infos} == {3}
    finally:
        await connection.close()


async def test_the_doctor_looks_at_every_server(world: ClusterWorld) -> None:
    """It asks each server of the list, and finds nothing wrong where they all answer."""
    findings = await look(world.instances["one"].data, world.nats.url)
    assert [one.state for one in findings if one.check == "port"] == ["ok"] * 3
    assert not [one for one in findings if one.state == "fail"]


def test_the_configuration_of_a_node_is_valid(tmp_path: Path) -> None:
    """`nats-server -t` takes deploy/cluster/node.conf with the environment that its first lines name."""
    nodes = NatsCluster(tmp_path / "nats", tmp_path / "data")
    nodes.write()
    named = nodes.environment("a")
    assert set(named) == {word.strip("$,[]") for word in CONFIG.read_text("utf-8").split() if "$UMBRIEL_" in word}
    checked = subprocess.run(
        [str(find_binary()), "-t", "-c", str(nodes.root / "node.conf")], env=named, capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stderr.decode()

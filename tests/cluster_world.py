"""Three nats-servers and three services on loopback under load, what is killed there, and what must be left then.

``python -m tests.cluster_world --rounds 10`` kills a leader and an instance ten times, restarts every instance, and
prints how long writing and recall were away each time.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from gateways.jetstream.seal_keys import SealKey
from gateways.jetstream.secret_files import Secrets
from tests.e2e.processes import ServiceProcess
from tests.nats_cluster import NatsCluster
from umbriel import Umbriel, UmbrielError
from umbriel.types import FeedEvent, Message

__all__ = ["ClusterWorld", "Load", "check", "loaded", "say"]

_PROFILE = "p"
#: seconds one attempt may take: what was asked of a killed instance is never answered
_ATTEMPT = 3.0
_FACT = "The ferry to Lisbon leaves at nine"


def say(line: str) -> None:
    """Print a line at once: what was measured."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class ClusterWorld:
    """A cluster and its instances, each with a data directory of its own and the same secrets."""

    def __init__(self, root: Path, flags: dict[str, tuple[str, ...]] | None = None) -> None:
        wanted = flags or {"one": (), "two": (), "three": ()}
        first = root / next(iter(wanted))
        secrets = Secrets(first / "secrets")
        secrets.master_key()
        SealKey.of(secrets)
        self.nats = NatsCluster(root / "nats", first)
        self._root, self._first, self._flags = root, first, wanted
        self.instances: dict[str, ServiceProcess] = {}

    def __enter__(self) -> Self:
        self.nats.__enter__()
        try:
            for name in self._flags:
                self.launch(name)
            for instance in self.instances.values():
                instance.wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def launch(self, name: str) -> None:
        """Start an instance on its data directory."""
        data = self._root / name
        if data != self._first and not data.exists():
            shutil.copytree(self._first / "secrets", data / "secrets")
        flags = ("--nats", self.nats.url, "--replicas", "3", *self._flags[name])
        instance = self.instances[name] = ServiceProcess(data, ("tests.cheap", "serve"), thinking=False, flags=flags)
        instance.launch()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for instance in self.instances.values():
            if instance.running:
                instance.kill()
        self.nats.stop()

    async def client(self, profile: str = _PROFILE, principal: str = "local-agent") -> Umbriel:
        """Connect a client that is told all servers."""
        password = Secrets(self._first / "secrets").password(principal)
        return await Umbriel.connect(self.nats.url, principal=principal, password=password, profile=profile)


class Load:
    """Writers and a reader on one profile: what was acknowledged to them, and when recall last answered."""

    def __init__(self) -> None:
        self.messages: set[str] = set()
        self.memories: dict[str, str] = {}
        self.writes: Counter[str] = Counter()
        self.recalls = 0
        self.errors: list[UmbrielError] = []
        self.running = True

    async def write(self, name: str, client: Umbriel, timeout: float | None) -> None:
        """Ingest and remember until told to stop; what failed is not acknowledged, and is written again."""
        number = 0
        while self.running:
            number += 1
            batch = [Message(role="user", content=f"{name} says {number}.{part}") for part in range(3)]
            text = f"{name} knows {number}"
            try:
                reply = await client.ingest(batch, session=name, timeout=timeout or 60)
                self.messages.update(outcome.id for outcome in reply.outcomes)
                kept = await client.remember(text, key=f"{name} {number % 4}", timeout=timeout or 60)
                self.memories[kept.memory.id] = text
                self.writes[name] += 1
            except UmbrielError as error:
                self.errors.append(error)

    async def read(self, client: Umbriel, timeout: float | None) -> None:
        """Recall one known fact until told to stop."""
        while self.running:
            try:
                found = await client.recall("when does the ferry leave", timeout=timeout or 30)
                assert any(one.text == _FACT for one in found.results)
                self.recalls += 1
            except UmbrielError as error:
                self.errors.append(error)
            await asyncio.sleep(0.02)

    async def back(self, seconds: float = 30.0) -> tuple[float, float]:
        """Wait until every writer has written and the reader has recalled after now; return the seconds until each."""
        self.writes = Counter(dict.fromkeys(self.writes, 0))
        return await asyncio.gather(
            _until_more(lambda: min(self.writes.values(), default=0), seconds),
            _until_more(lambda: self.recalls, seconds),
        )


async def _until_more(count: Callable[[], int], seconds: float) -> float:
    """Wait until a count has grown by two: what was under way before does not prove anything."""
    began, wanted = time.monotonic(), count() + 2
    async with asyncio.timeout(seconds):
        while count() < wanted:  # noqa: ASYNC110 -- what is waited for is seen from outside
            await asyncio.sleep(0.02)
    return time.monotonic() - began


@asynccontextmanager
async def loaded(
    world: ClusterWorld, profile: str = _PROFILE, *, timeout: float | None = _ATTEMPT
) -> AsyncIterator[Load]:
    """Three writers and a reader at work until the context ends; ``timeout`` None leaves the client's own."""
    clients = [await world.client(profile) for _ in range(4)]
    try:
        await clients[0].remember(_FACT, key="ferry", wait=True)
        load = Load()
        tasks = [asyncio.create_task(load.write(f"w{n}", one, timeout)) for n, one in enumerate(clients[:3])]
        tasks.append(asyncio.create_task(load.read(clients[3], timeout)))
        try:
            await load.back()
            yield load
        finally:
            load.running = False
            await asyncio.gather(*tasks)
    finally:
        for client in clients:
            await client.close()


async def _everything(client: Umbriel) -> AsyncIterator[FeedEvent]:
    after = ""
    while True:
        page = await client.feed(after=after, limit=500)
        for event in page.events:
            yield event
        if not page.events:
            return
        after = page.position


async def check(world: ClusterWorld, load: Load, profile: str = _PROFILE) -> int:
    """Compare what was acknowledged with the log and with recall; returns how many events the profile has."""
    async with await world.client(profile) as client:
        events = [event async for event in _everything(client)]
        messages = Counter(event.data["message"] for event in events if event.topic == "message.recorded")
        memories = {event.data["memory"]: event.data["text"] for event in events if event.topic == "memory.remembered"}
        assert load.messages, "nothing was acknowledged, so nothing is proved"
        assert load.memories
        assert not load.messages - messages.keys(), "acknowledged messages are missing"
        assert not [message for message, count in messages.items() if count > 1], "a message was recorded twice"
        assert {memory: memories.get(memory) for memory in load.memories} == load.memories
        texts = [event.data["text"] for event in events if event.topic == "memory.remembered"]
        assert len(set(texts)) == len(texts), "a memory was stated twice"
        assert len({event.event_id for event in events}) == len(events)
        live = await client.list(limit=500, at_least=events[-1].position)
        assert len({memory.key for memory in live.entries}) == len(live.entries)
        for _ in range(6):  # whichever instance answers
            found = await client.recall("when does the ferry leave", at_least=events[-1].position)
            assert any(one.text == _FACT for one in found.results)
        return len(events)


async def _restarted(world: ClusterWorld, load: Load) -> None:
    """End every instance in good order and start it again, one after the other; nobody is to notice."""
    before = len(load.errors)
    for name, instance in list(world.instances.items()):
        instance.end()
        while instance.running:
            await load.back()
        world.launch(name)
        world.instances[name].wait()
    met = load.errors[before:]
    say(f"   every instance restarted: {len(met)} errors met{''.join(f'; {error}' for error in met)}")


async def _rounds(root: Path, rounds: int, seed: int) -> None:
    dice = random.Random(seed)
    with ClusterWorld(root) as world:
        async with loaded(world) as load:
            for number in range(1, rounds + 1):
                node = await world.nats.leader()
                world.nats.kill(node)
                write, recall = await load.back()
                say(f"{number}: leader {node} killed: writing back after {write:.1f} s, recall after {recall:.1f} s")
                world.nats.start(node)
                name = dice.choice(list(world.instances))
                world.instances[name].kill()
                write, recall = await load.back()
                say(f"{number}: instance {name} killed: writing back {write:.1f} s, recall {recall:.1f} s")
                world.launch(name)
                world.instances[name].wait()
                await _restarted(world, load)
        events = await check(world, load)
        acknowledged = len(load.messages) + len(load.memories)
        say(f"{acknowledged} acknowledged, {events} events: none lost, none doubled; {len(load.errors)} errors met")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(_rounds(Path(scratch), chosen.rounds, chosen.seed))

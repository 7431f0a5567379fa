"""The feed: many subscribers, idle and dead ones, filters, positions, and the command line."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import nats
import pytest

from domain.ports import Embedded
from domain.settings import Settings
from gateways.bootstrap import Runtime, running
from gateways.jetstream.log import Append
from tests.builders import unit
from tests.e2e.processes import ServiceProcess
from umbriel import DamagedError, FeedEvent, InvalidInputError, Message, MismatchError, Umbriel, sequence_of

SUBSCRIBERS = 50
EVENTS = 10_000
_CALL = 500


class OneVector:
    """An embedder that costs nothing: every text is the same direction."""

    model = "one-vector"
    dimension = 4

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one chunk a text."""
        return [Embedded(1, unit(1, 0, 0, 0)) for _ in texts]

    def embed_query(self, text: str) -> bytes:
        """Return the same vector."""
        return unit(1, 0, 0, 0)


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A service inside the test, so that its counters can be read."""
    async with running(tmp_path / "data", embedder=OneVector(), settings=Settings(thinking=False)) as running_service:
        yield running_service


async def connected(runtime: Runtime, profile: str = "p") -> Umbriel:
    """Return a client of its own connection."""
    password = await asyncio.to_thread(_password, runtime)
    return await Umbriel.connect(runtime.url, principal="local-agent", password=password, profile=profile)


def _password(runtime: Runtime) -> str:
    data = runtime.service.core.profiles._root.parent
    return (data / "secrets" / "local-agent.password").read_text().strip()


async def waits(runtime: Runtime, count: int) -> None:
    """Wait until so many feeds wait."""
    async with asyncio.timeout(20):
        while runtime.service.core.feeds.waiting != count:  # noqa: ASYNC110 -- looks at another task's counter
            await asyncio.sleep(0.02)


async def head(client: Umbriel) -> str:
    """Return the position of the log's end."""
    return (await client.feed(after="new")).position


async def write(client: Umbriel, count: int) -> None:
    """Record messages as fast as the service takes them; few texts, so that few are embedded."""
    roles = ("user", "assistant", "system", "tool")
    for call in range(count // _CALL):
        messages = [Message(role=roles[n % 4], content=f"line {n // 4}") for n in range(_CALL)]
        await client.ingest(messages, session=f"session {call}")


async def collect(client: Umbriel, count: int, after: str = "") -> list[FeedEvent]:
    """Subscribe until so many messages were seen."""
    subscription = client.subscribe(after=after, kinds=["message"], limit=500)
    return [await anext(subscription) for _ in range(count)]


async def collect_unsteadily(service: ServiceProcess, count: int, chance: random.Random) -> list[FeedEvent]:
    """Subscribe until so many messages were seen, losing the connection now and then, mostly in mid-wait."""
    seen: list[FeedEvent] = []
    while len(seen) < count:
        async with await service.client() as client:
            subscription = client.subscribe(after=seen[-1].position if seen else None, kinds=["message"], limit=500)
            until = min(count, len(seen) + chance.randint(1, 4_000))
            while len(seen) < until:
                seen.append(await anext(subscription))
            if chance.random() < 0.7:
                waiting = asyncio.create_task(client.feed(after=subscription.position, wait=20))
                await asyncio.sleep(chance.uniform(0, 0.02))
                waiting.cancel()
    return seen


def in_order(events: Sequence[FeedEvent]) -> bool:
    """Whether positions rise, so that nothing is there twice."""
    positions = [sequence_of(event.position) for event in events]
    return all(one < other for one, other in itertools.pairwise(positions))


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_many_subscribers_see_each_event_once_in_order(tmp_path: Path) -> None:
    """50 subscribers that disconnect and resume at random, half live and half later: 10,000 events each, once."""
    chance = random.Random(7)
    delays = [0.0 if number % 2 else chance.uniform(0, 10) for number in range(SUBSCRIBERS)]
    with ServiceProcess(tmp_path / "data", thinking=False) as service:

        async def subscriber(number: int) -> list[FeedEvent]:
            await asyncio.sleep(delays[number])
            return await collect_unsteadily(service, EVENTS, random.Random(number))

        async with await service.client() as writer:
            writing = asyncio.create_task(write(writer, EVENTS))
            seen = await asyncio.gather(*(subscriber(number) for number in range(SUBSCRIBERS)))
            await writing
    first = [event.event_id for event in seen[0]]
    assert len(set(first)) == EVENTS
    assert in_order(seen[0])
    assert all([event.event_id for event in events] == first for events in seen)


async def test_subscribers_share_what_was_read(runtime: Runtime) -> None:
    """Twenty subscribers of one history cost hardly more reads of the log than one, and see the same."""
    async with await connected(runtime) as client:
        await write(client, 1_000)
        await client.status()
        feeds = runtime.service.core.feeds
        seen = [await collect(client, 1_000)]
        once = feeds.log_reads
        seen += await asyncio.gather(*(collect(client, 1_000) for _ in range(20)))
        assert once > 0
        assert feeds.log_reads <= once + 2
        assert all(events == seen[0] for events in seen)


@pytest.mark.slow
async def test_idle_feeds_cost_nothing(runtime: Runtime) -> None:
    """With 500 feeds waiting, calls are answered, and other profiles' traffic wakes and reads nothing."""
    feeds = runtime.service.core.feeds
    async with await connected(runtime) as client, await connected(runtime, "idle") as idle:
        kept = await client.remember("The kettle is blue", key="kettle", wait=True)
        await idle.remember("control", key="control", wait=True)
        end = await head(idle)
        parked = [asyncio.create_task(idle.feed(after=end, wait=30)) for _ in range(500)]
        await waits(runtime, 500)
        reads, wakes = feeds.log_reads, feeds.wakes
        for _ in range(3):
            found = await client.recall("which colour is the kettle", at_least=kept.position)
            assert found.results[0].id == kept.memory.id
        for number in range(5):
            await client.remember(f"cup {number} is green", key=f"cup {number}", wait=True)
        assert (feeds.log_reads, feeds.wakes) == (reads, wakes)
        assert feeds.waiting == 500
        # Parked feeds hold no profile open: a lent one could not be closed.
        assert all(profile.users == 0 for profile in runtime.service.core.profiles.opened() if profile.name == "idle")
        # Control: their own profile's event wakes them all, from memory.
        await idle.remember("now", key="now")
        pages = await asyncio.gather(*parked)
        assert all(page.events[0].data["text"] == "now" for page in pages)
        assert feeds.log_reads == reads


async def test_what_nobody_listens_to_is_not_decoded(runtime: Runtime) -> None:
    """A profile that nobody asks about any more is closed; one with a waiting feed stays, and both miss nothing."""
    feeds = runtime.service.core.feeds
    async with await connected(runtime) as client, await connected(runtime, "q") as quiet:
        for one in (client, quiet):
            await one.remember("control", key="control", wait=True)
            await one.feed()
        waiting = asyncio.create_task(client.feed(after=await head(client), kinds=["message"], wait=20))
        await waits(runtime, 1)
        assert feeds.cache.opened() == {("p", False), ("q", False)}
        feeds.unused_seconds = 0.0
        written = await quiet.remember("later", key="later", wait=True)
        assert feeds.cache.opened() == {("p", False)}
        assert (await quiet.feed(kinds=["memory"])).events[-1].position == written.position
        await client.ingest([Message(role="user", content="hello")], session="s")
        assert [event.data["content"] for event in (await waiting).events] == ["hello"]


async def test_feeds_wait_for_their_categories_only(runtime: Runtime) -> None:
    """A feed of memories sleeps through messages and embeddings; a message wakes the one that asked for it."""
    feeds = runtime.service.core.feeds
    async with await connected(runtime) as client:
        await client.remember("control", key="control", wait=True)
        end = await head(client)
        memory = asyncio.create_task(client.feed(after=end, kinds=["memory"], wait=25))
        message = asyncio.create_task(client.feed(after=end, kinds=["message"], wait=25))
        await waits(runtime, 2)
        await client.ingest([Message(role="user", content="Good morning")], session="s", wait=True)
        assert [event.topic for event in (await message).events] == ["message.recorded"]
        assert not memory.done()
        assert feeds.wakes == 1
        await client.remember("It rains", key="weather")
        assert [event.data["text"] for event in (await memory).events] == ["It rains"]


async def test_filters_by_kind_and_contact(client: Umbriel) -> None:
    """Kinds and contact leave what they name and nothing else; quiet categories come when asked for."""
    talk = [Message(role="user", content="My parcel is late")]
    await client.ingest(talk, session="s1", contact="ann")
    await client.ingest(talk, session="s2", contact="ann1")
    await client.ingest(talk, session="s3")
    first = await client.remember("The parcel is at the bakery", key="parcel", contact="ann")
    await client.remember("The parcel is at the station", key="parcel", contact="ann1")
    await client.remember("The parcel is at home", key="parcel", contact="ann")
    gone = await client.forget(id=first.memory.id, contact="ann")
    await client.remember("Parcels are insured", key="insurance", wait=True)
    everything = [event.topic for event in (await client.feed()).events]
    assert everything.count("message.recorded") == 3
    assert everything.count("memory.remembered") == 4
    assert not any(topic.startswith("embedding") for topic in everything)
    embeddings = (await client.feed(kinds=["embedding"])).events
    assert {event.topic for event in embeddings} == {"embedding.computed"}
    assert all("vectors" not in event.data for event in embeddings)
    ann = (await client.feed(contact="ann")).events
    assert sorted(event.topic for event in ann) == [
        "conversation.contact_set",
        "memory.forgotten",
        "memory.remembered",
        "memory.remembered",
        "memory.superseded",
        "message.recorded",
    ]
    assert {event.data.get("scope", "ann") for event in ann} == {"ann"}
    assert ann[-1].position == gone.position
    only = (await client.feed(contact="ann1", kinds=["memory"])).events
    assert [event.data["text"] for event in only] == ["The parcel is at the station"]
    assert (await client.feed(contact="nobody")).events == []


async def test_a_filter_that_leaves_nothing_moves_on(client: Umbriel) -> None:
    """The position of an empty page is behind what was left out, and the next wanted event is found from there."""
    await client.ingest([Message(role="user", content=f"line {n}") for n in range(50)], session="s")
    page = await client.feed(kinds=["goal"])
    assert page.events == []
    assert sequence_of(page.position) >= 50
    waiting = asyncio.create_task(client.feed(after=page.position, kinds=["memory"], wait=10))
    written = await client.remember("x", key="x")
    assert [event.position for event in (await waiting).events] == [written.position]


async def test_pages_are_bounded_by_count_and_bytes(runtime: Runtime) -> None:
    """A page holds at most ``limit`` events and 900,000 bytes; page after page nothing is missing."""
    async with await connected(runtime) as client:
        for call in range(3):
            long = [Message(role="user", content=f"{call} {n} " + "x" * 20_000) for n in range(20)]
            await client.ingest(long, session="s")
        assert len((await client.feed(kinds=["message"], limit=7)).events) == 7
        seen: list[str] = []
        position = ""
        while (page := await client.feed(after=position, kinds=["message"], limit=1000)).events:
            assert sum(len(event.data["content"]) for event in page.events) <= 900_000
            assert len(page.events) < 60
            seen += [event.data["content"].rsplit(" ", 1)[0] for event in page.events]
            position = page.position
        assert seen == [f"{call} {n}" for call in range(3) for n in range(20)]


@pytest.mark.slow
async def test_slow_and_dead_subscribers_delay_nobody(service: ServiceProcess, client: Umbriel) -> None:
    """Subscribers that never read, that vanish while they wait, and whose inbox nobody hears: the rest go on."""
    await client.remember("control", key="control", wait=True)
    end = await head(client)
    endpoint = json.loads((service.data / "endpoint.json").read_text())
    password = (service.data / "secrets" / "local-agent.password").read_text().strip()
    dead = await nats.connect(
        endpoint["url"], user="local-agent", password=password, inbox_prefix=b"_INBOX_local-agent"
    )
    subject, body = f"umbriel.api.local-agent.{client.profile}.feed", json.dumps({"after": end, "wait": 30}).encode()
    for number in range(300):
        await dead.publish(subject, body, reply=f"_INBOX_local-agent.nobody.{number}")
    await dead.flush()
    await dead.close()
    slow = client.subscribe(after=end, kinds=["message"])
    lively = asyncio.create_task(collect(client, 1_000, after=end))
    first = asyncio.create_task(anext(slow))
    await asyncio.sleep(0.3)
    await write(client, 1_000)
    seen = await asyncio.wait_for(lively, 90)
    assert len({event.event_id for event in seen}) == 1_000
    assert (await first).event_id == seen[0].event_id
    # The slow one goes on where it stopped, whenever it likes.
    rest = [await anext(slow) for _ in range(999)]
    assert [event.event_id for event in rest] == [event.event_id for event in seen[1:]]


async def test_positions_that_cannot_be(client: Umbriel) -> None:
    """Another stream, another incarnation, the future, and no position at all: one clear error each."""
    here = (await client.remember("control", key="control", wait=True)).position
    stream, _, rest = here.partition(".")
    incarnation, _, sequence = rest.partition(":")
    for wrong in (f"OTHER.{rest}", f"{stream}.other:{sequence}", f"{stream}.{incarnation}:{10**9}"):
        with pytest.raises(MismatchError, match="after is a position"):
            await client.feed(after=wrong, wait=5)
        with pytest.raises(MismatchError):
            await anext(client.subscribe(after=wrong))
    with pytest.raises(InvalidInputError, match="not a position"):
        await client.feed(after="yesterday")
    assert (await client.feed(after=here, kinds=["memory"])).events == []


async def test_new_begins_at_the_end(client: Umbriel) -> None:
    """A subscription to what is new sees nothing from before it started, and everything after."""
    await client.remember("old", key="old", wait=True)
    subscription = await client.subscribe(after="new", kinds=["memory"]).start()
    await client.remember("fresh", key="fresh")
    event = await asyncio.wait_for(anext(subscription), 10)
    assert event.data["text"] == "fresh"
    assert subscription.position == event.position
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(subscription), 0.3)
    await client.remember("fresher", key="fresher")
    assert (await asyncio.wait_for(anext(subscription), 10)).data["text"] == "fresher"


async def test_a_destroyed_key_takes_events_out_of_the_feed_at_once(runtime: Runtime) -> None:
    """What was decoded and kept for subscribers is gone with its key, from history and from what came live."""
    core = runtime.service.core
    async with await connected(runtime) as client:
        await client.ingest([Message(role="user", content="before")], session="s1", wait=True)
        await client.ingest([Message(role="user", content="canary")], session="s2", wait=True)
        live = asyncio.create_task(client.feed(after=await head(client), kinds=["message"], wait=10))
        await waits(runtime, 1)
        await client.ingest([Message(role="user", content="canary, live")], session="s2", wait=True)
        await live
        said = [event.data["content"] for event in (await client.feed(kinds=["message"])).events]
        assert said == ["before", "canary", "canary, live"]
        assert core.feeds.cache.find(("p", False), 1) is not None
        key = await core.events.keys.key("p", "conversation:s2", create=False)
        await core.events.keys.destroy("p", key.key_id)
        said = [event.data["content"] for event in (await client.feed(kinds=["message"])).events]
        assert said == ["before"]


async def test_an_unreadable_event_stops_the_feed_with_the_way_round_it(runtime: Runtime) -> None:
    """What lies before is delivered, then a clear error names the event; asked after it, the feed goes on."""
    core = runtime.service.core
    async with await connected(runtime) as client:
        await client.remember("before", key="before", wait=True)
        waiting = asyncio.create_task(client.feed(after=await head(client), kinds=["memory"], wait=10))
        await waits(runtime, 1)
        foreign = Append("p.memory.x", 1, "memory.remembered", 1, "e", datetime.now(UTC), "", b"no event", expected=0)
        (position,) = await core.events.log.append([foreign])
        with pytest.raises(DamagedError, match=f"event at {position}") as caught:
            await waiting
        there = f"{core.positions.show(position)}"
        assert there in caught.value.expected
        assert [event.data["text"] for event in (await client.feed(kinds=["memory"])).events] == ["before"]
        await client.ingest([Message(role="user", content="after")], session="s")
        assert [event.data["content"] for event in (await client.feed(after=there, kinds=["message"])).events] == [
            "after"
        ]


async def test_a_service_that_stops_sends_feeds_home(tmp_path: Path) -> None:
    """A subscriber of a service that stops and starts again goes on without a gap and without waiting its poll out."""
    with ServiceProcess(tmp_path / "data", thinking=False) as service:
        async with await service.client() as client:
            subscription = client.subscribe(kinds=["memory"])
            await client.remember("one", key="one")
            assert (await anext(subscription)).data["text"] == "one"
            second = asyncio.create_task(anext(subscription))
            await asyncio.sleep(0.3)
            await asyncio.to_thread(service.stop)
            await asyncio.to_thread(service.start)
            await client.remember("two", key="two")
            assert (await asyncio.wait_for(second, 18)).data["text"] == "two"


@pytest.mark.slow
async def test_the_command_line_follows_and_says_where_to_go_on(service: ServiceProcess, client: Umbriel) -> None:
    """One JSON line an event; Ctrl-C ends it with the position on stderr, from which a second run goes on."""
    await client.remember("first", key="first", wait=True)

    def start(*arguments: str) -> subprocess.Popen[str]:
        place = ["--profile", client.profile, "--data", str(service.data)]
        command = [sys.executable, "-m", "gateways.cli", "subscribe", "--kind", "memory", *arguments, *place]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def line(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline()

    async def interrupted(process: subprocess.Popen[str]) -> str:
        process.send_signal(signal.SIGINT)
        out, err = await asyncio.to_thread(process.communicate, timeout=20)
        assert (process.returncode, out) == (130, "")
        assert err.count("\n") == 1, err
        return err

    process = start("--json", "--from-start")
    try:
        event = json.loads(await asyncio.to_thread(line, process))
        assert event["data"]["text"] == "first"
        second = await client.remember("second\nof two lines", key="second")
        assert json.loads(await asyncio.to_thread(line, process))["position"] == second.position
        said = await interrupted(process)
    finally:
        process.kill()
    position = said.strip().rpartition("--after ")[2]
    assert sequence_of(position) >= sequence_of(second.position)
    third = await client.remember("third\nof two lines", key="third")
    process = start("--after", position)
    try:
        shown = await asyncio.to_thread(line, process)
        assert third.position in shown
        assert shown.endswith("third of two lines\n")
        stopped = (await interrupted(process)).strip().rpartition("--after ")[2]
        assert sequence_of(stopped) >= sequence_of(third.position)
    finally:
        process.kill()

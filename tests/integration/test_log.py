"""The log against a real server: appends, conflicts, reads, tails, and what survives a killed server."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import nats.errors
import pytest

from domain.errors import ConflictError, InvalidInputError, LogFullError, MismatchError, RefusedError, UnavailableError
from gateways.jetstream.connection import Connection, connect
from gateways.jetstream.direct import Page
from gateways.jetstream.log import BATCH_LIMIT, Append, Entry, Log
from gateways.jetstream.server import NatsServer
from gateways.jetstream.streams import ensure_streams, subject_for
from tests.nats_fixtures import delete_streams, flushed, operator_connection, service_connection


def event(originator: str, version: int = 1, expected: int | None = 0, body: bytes = b"{}") -> Append:
    """An event to append."""
    now = datetime.now(UTC)
    return Append(originator, version, "memory.remembered", 1, uuid.uuid4().hex, now, "key", body, expected)


async def collect(log: Log, after: int, until: int, profile: str | None = None) -> list[Entry]:
    """What a tail yields until it has passed a position."""
    entries: list[Entry] = []
    async with asyncio.timeout(30), aclosing(log.tail(after, profile, 64)) as parts:
        async for part in parts:
            entries += part.entries
            if part.passed >= until:
                break
    return entries


# -- appending ----------------------------------------------------------------------------------


async def test_an_event_comes_back_as_it_was_written(fresh_log: Log) -> None:
    """Every clear field and the body survive, with the position the append returned."""
    written = event("p.memory.a", body=bytes(range(256)))
    (position,) = await fresh_log.append([written])
    head = await fresh_log.head("p.memory.a")
    assert head == Entry(
        "p.memory.a",
        position,
        1,
        written.topic,
        1,
        written.event_id,
        written.recorded_at,
        "key",
        written.body,
    )
    assert await fresh_log.head("p.memory.b") is None
    assert await fresh_log.last_position() == position


async def test_several_events_are_one_step(fresh_log: Log) -> None:
    """A batch over several subjects gets contiguous positions; one wrong expectation writes none of it."""
    assert await fresh_log.append([event("p.memory.a"), event("p.memory.a", 2), event("p.memory.b")]) == [1, 2, 3]
    with pytest.raises(ConflictError):
        await fresh_log.append([event("p.memory.c"), event("p.memory.a", 3, expected=1)])
    assert await fresh_log.head("p.memory.c") is None
    assert await fresh_log.last_position() == 3


@pytest.mark.parametrize("expected", [0, 2])
async def test_a_wrong_expectation_is_a_conflict(fresh_log: Log, expected: int) -> None:
    """The server refuses an event whose subject is not where its writer saw it."""
    await fresh_log.append([event("p.memory.a")])
    with pytest.raises(ConflictError) as caught:
        await fresh_log.append([event("p.memory.a", 2, expected)])
    assert caught.value.retryable


async def test_without_expectation_every_writer_succeeds(fresh_log: Log) -> None:
    """Concurrent writers without expectation all get in, each once."""
    positions = await asyncio.gather(*(fresh_log.append([event("p.access.a", n, None)]) for n in range(1, 21)))
    assert sorted(position for (position,) in positions) == list(range(1, 21))


async def test_one_writer_of_many_wins(fresh_log: Log) -> None:
    """Of writers that saw the same head exactly one is acknowledged."""
    results = await asyncio.gather(
        *(fresh_log.append([event("p.memory.a")]) for _ in range(20)), return_exceptions=True
    )
    assert sum(isinstance(result, ConflictError) for result in results) == 19
    assert await fresh_log.last_position() == 1


async def test_many_batches_at_once(fresh_log: Log) -> None:
    """More batches than the server takes in flight are all written."""
    steps = [[event(f"p.message.{step}-{n}") for n in range(20)] for step in range(80)]
    positions = await asyncio.gather(*(fresh_log.append(step) for step in steps))
    assert sorted(one for step in positions for one in step) == list(range(1, 1601))


async def test_limits_of_a_step(fresh_log: Log) -> None:
    """A step takes up to a thousand events; more, or an event over 1 MiB, is refused before anything is written."""
    assert await fresh_log.append([]) == []
    with pytest.raises(InvalidInputError):
        await fresh_log.append([event(f"p.message.{n}") for n in range(BATCH_LIMIT + 1)])
    with pytest.raises(InvalidInputError):
        await fresh_log.append([event("p.memory.big", body=bytes(1024**2 + 1))])
    with pytest.raises(InvalidInputError):
        await fresh_log.append([event("p.memory.a*")])
    assert await fresh_log.last_position() == 0
    assert len(await fresh_log.append([event(f"p.message.{n}") for n in range(BATCH_LIMIT)])) == BATCH_LIMIT


async def test_a_full_log_says_so(nats_server: NatsServer) -> None:
    """At its size limit the log refuses with an error of its own and keeps what it has."""
    await delete_streams(nats_server)
    connection = await service_connection(nats_server)
    await ensure_streams(connection.js, max_bytes=20_000)
    log = Log(connection)
    await asyncio.gather(*(log.append([event(f"p.memory.{n}")]) for n in range(20)))
    with pytest.raises(LogFullError):
        await log.append([event("p.memory.big", body=bytes(30_000))])
    with pytest.raises(LogFullError):
        await log.append([event(f"p.memory.x{n}", body=bytes(5000)) for n in range(4)])
    assert len(await log.read(0, 1000)) == await log.last_position() > 0
    await connection.close()


# -- reading ------------------------------------------------------------------------------------


async def test_heads_in_bulk(fresh_log: Log) -> None:
    """Heads of more aggregates than one request takes come back, the latest of each, absent ones left out."""
    names = [f"p.message.{n}" for n in range(1500)]
    for start in range(0, 1500, 500):
        await fresh_log.append([event(name) for name in names[start : start + 500]])
    await fresh_log.append([event(names[0], 2, 1)])
    heads = await fresh_log.heads([*names, "p.message.absent", names[0]])
    assert set(heads) == set(names)
    assert heads[names[0]].version == 2


async def test_heads_over_several_pages(fresh_log: Log) -> None:
    """Heads whose bodies together exceed a page are all returned."""
    names = [f"p.message.{n}" for n in range(12)]
    for name in names:
        await fresh_log.append([event(name, body=bytes(900_000))])
    assert set(await fresh_log.heads(names)) == set(names)
    assert len(await fresh_log.read(0, 100)) == 12


async def test_events_of_one_aggregate(fresh_log: Log) -> None:
    """An aggregate's events come in order, whole or after a version, however many pages they take."""
    for start in (1, 901, 1801):
        await fresh_log.append([event("p.conversation.a", n, start - 1) for n in range(start, start + 900)])
    await fresh_log.append([event("p.conversation.b")])
    assert [entry.version for entry in await fresh_log.events("p.conversation.a")] == list(range(1, 2701))
    assert [entry.version for entry in await fresh_log.events("p.conversation.a", 2698)] == [2699, 2700]
    tail = await fresh_log.events("p.conversation.a", 2698, after_position=2698)
    assert [entry.version for entry in tail] == [2699, 2700]
    assert await fresh_log.events("p.conversation.a", 2700) == []
    assert await fresh_log.events("p.conversation.none") == []


async def test_reading_one_profile(fresh_log: Log) -> None:
    """A read is limited, filtered by profile, and starts after a position."""
    await fresh_log.append([event(f"{'p' if n % 2 else 'q'}.memory.{n}") for n in range(10)])
    assert [entry.position for entry in await fresh_log.read(0, 3)] == [1, 2, 3]
    assert [entry.position for entry in await fresh_log.read(2, 9, "p")] == [4, 6, 8, 10]
    assert await fresh_log.read(10, 5) == []
    assert await fresh_log.read(0, 5, "r") == []


# -- following ----------------------------------------------------------------------------------


async def test_a_tail_yields_everything_once_in_order(fresh_log: Log) -> None:
    """What was there before and what is written meanwhile arrive in stream order, in batches of the size asked for."""
    await fresh_log.append([event(f"p.memory.{n}") for n in range(500)])
    reading = asyncio.ensure_future(collect(fresh_log, 0, 600))
    for n in range(500, 600):
        await fresh_log.append([event(f"p.memory.{n}")])
    assert [entry.position for entry in await reading] == list(range(1, 601))
    assert [entry.position for entry in await collect(fresh_log, 590, 600)] == list(range(591, 601))


async def test_a_filtered_tail_learns_what_it_passed(fresh_log: Log) -> None:
    """A reader of one profile passes the others' events without seeing them."""
    await fresh_log.append([event("p.memory.a"), event("q.memory.a"), event("q.memory.b")])
    assert [entry.position for entry in await collect(fresh_log, 0, 3, "p")] == [1]
    assert await collect(fresh_log, 0, 3, "r") == []


async def test_a_slow_reader_misses_nothing(fresh_log: Log) -> None:
    """The server is held back when the reader does not keep up."""
    for start in range(40):
        await fresh_log.append([event(f"p.message.{start}-{n}", body=bytes(50_000)) for n in range(20)])
    seen: list[int] = []
    async with aclosing(fresh_log.tail(0, batch=16)) as parts:
        async for part in parts:
            assert len(part.entries) <= 16
            seen += [entry.position for entry in part.entries]
            await asyncio.sleep(0.01)
            if part.passed >= 800:
                break
    assert seen == list(range(1, 801))


async def test_a_closed_connection_ends_a_tail(fresh_log: Log, connection: Connection) -> None:
    """Closing does not hang on a tail, and the tail says that it cannot go on."""
    reading = asyncio.ensure_future(collect(fresh_log, 0, 1))
    await asyncio.sleep(0.2)
    async with asyncio.timeout(8):
        await connection.close()
        with pytest.raises(UnavailableError):
            await reading
    with pytest.raises(UnavailableError):
        await fresh_log.append([event("p.memory.a")])


# -- outages ------------------------------------------------------------------------------------


@pytest.mark.fault
async def test_a_killed_server_loses_nothing_and_doubles_nothing(own_server: NatsServer) -> None:
    """Over kill -9 and restart: every acknowledged event is there, none twice, and a tail yields each once."""
    await own_server.start()
    connection = await service_connection(own_server)
    await ensure_streams(connection.js)
    log = Log(connection)
    acknowledged: dict[str, int] = {}
    stop = asyncio.Event()

    async def write(writer: int) -> None:
        version = position = 0
        while not stop.is_set():
            size = 1 if writer % 2 else 5
            step = [event(f"p.message.w{writer}", version + n + 1, position) for n in range(size)]
            positions = await log.append(step)
            acknowledged.update({one.event_id: at for one, at in zip(step, positions, strict=True)})
            version, position = version + size, positions[-1]

    writers = [asyncio.ensure_future(write(writer)) for writer in range(4)]
    reading = asyncio.ensure_future(collect_all(log, stop))
    for _ in range(3):
        await asyncio.sleep(0.5)
        before = len(acknowledged)
        own_server.kill()
        await asyncio.sleep(0.3)
        await own_server.start()
        await wait_for_more(acknowledged, before)
    stop.set()
    await asyncio.gather(*writers)
    entries = await log.read(0, 1_000_000)
    assert {entry.event_id: entry.position for entry in entries} == acknowledged
    for writer in range(4):
        versions = [entry.version for entry in entries if entry.originator_id == f"p.message.w{writer}"]
        assert versions == list(range(1, len(versions) + 1))
    seen = await reading
    assert [entry.position for entry in seen] == [entry.position for entry in entries][: len(seen)]
    assert len(seen) > 0
    await connection.close()


async def collect_all(log: Log, stop: asyncio.Event) -> list[Entry]:
    """What a tail yields until the writers stopped and it has caught up."""
    seen: list[Entry] = []
    async with aclosing(log.tail(0)) as parts:
        async for part in parts:
            seen += part.entries
            if stop.is_set() and part.passed >= await log.last_position():
                break
    return seen


async def wait_for_more(acknowledged: dict[str, int], before: int) -> None:
    """Wait until writers are acknowledged again."""
    async with asyncio.timeout(15):
        while len(acknowledged) < before + 20:  # noqa: ASYNC110 -- the writers know no event
            await asyncio.sleep(0.05)


@pytest.mark.fault
async def test_an_append_whose_acknowledgement_was_lost(fresh_log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the first try was written, its repetition finds it and returns its position, single or in a batch."""
    original = Connection.call
    lose = {"next": False}

    async def losing(self: Connection, subject: str, *rest: Any) -> Any:
        answer: Any = await original(self, subject, *rest)
        if lose["next"] and subject.startswith("umbriel.events"):
            lose["next"] = False
            raise nats.errors.TimeoutError
        return answer

    monkeypatch.setattr(Connection, "call", losing)
    for size in (1, 3):
        lose["next"] = True
        last = await fresh_log.last_position()
        positions = await fresh_log.append([event(f"p.memory.s{size}", n + 1) for n in range(size)])
        assert positions == list(range(last + 1, last + 1 + size))
        assert await fresh_log.last_position() == last + size
    lose["next"] = True
    assert await fresh_log.append([event("p.memory.any", 1, None)]) == [5]


@pytest.mark.fault
async def test_no_server_is_unavailable(own_server: NatsServer) -> None:
    """Without a server an append fails after its budget, and connecting fails at once."""
    await own_server.start()
    connection = await service_connection(own_server)
    await ensure_streams(connection.js)
    own_server.kill()
    with pytest.raises(UnavailableError):
        await Log(connection, retry_seconds=0.5).append([event("p.memory.a")])
    await connection.close()
    with pytest.raises(UnavailableError):
        await connect(own_server.url, "service", "any", seconds=0.5)


# -- configuration and rights -------------------------------------------------------------------


async def test_a_changed_stream_is_refused(nats_server: NatsServer) -> None:
    """Start-up names each flag that is not what it must be."""
    await delete_streams(nats_server)
    operator = await operator_connection(nats_server)
    state = await ensure_streams(operator.js)
    assert (await ensure_streams(operator.js)).incarnation == state.incarnation
    config = (await operator.js.stream_info("UMBRIEL")).config
    await operator.js.update_stream(config.evolve(max_msgs_per_subject=5))
    with pytest.raises(MismatchError) as caught:
        await ensure_streams(operator.js)
    assert "max_msgs_per_subject=-1" in caught.value.expected
    assert "max_msgs_per_subject=5" in caught.value.found
    await operator.js.delete_stream("UMBRIEL")
    assert (await ensure_streams(operator.js)).incarnation != state.incarnation
    await operator.close()


@pytest.mark.parametrize("api", ["STREAM.DELETE", "STREAM.UPDATE", "STREAM.PURGE", "STREAM.MSG.DELETE"])
async def test_the_service_cannot_shorten_the_log(fresh_log: Log, connection: Connection, api: str) -> None:
    """What the stream's flags do not prevent, the service's rights do."""
    await fresh_log.append([event("p.memory.a")])
    await connection.client.publish(f"$JS.API.{api}.UMBRIEL", b'{"name": "UMBRIEL", "seq": 1}')
    await flushed(connection.client)
    assert len(await fresh_log.read(0, 10)) == 1


async def test_a_principal_reaches_nothing_but_its_own(nats_server: NatsServer, fresh_log: Log) -> None:
    """A principal can neither write or read the log, nor read another's replies, nor speak for another."""
    local = await connect(nats_server.url, "local", nats_server.password("local"))
    agent = await connect(nats_server.url, "local-agent", nats_server.password("local-agent"))
    answer = await connect(nats_server.url, "answer", nats_server.password("answer"))
    heard: list[str] = []

    async def hear(message: object) -> None:
        heard.append(getattr(message, "subject", ""))

    await answer.client.subscribe("umbriel.api.>", cb=hear)
    for subject in ("_INBOX_local.>", "umbriel.events.>", "umbriel.api.>", "_INBOX_service.>"):
        await agent.client.subscribe(subject, cb=hear)
    await asyncio.gather(flushed(answer.client), flushed(agent.client))
    for subject in (subject_for("p.memory.a"), "umbriel.keys.00.p.secret", "$JS.API.INFO", "umbriel.api.local.p.get"):
        await agent.client.publish(subject, b"x")
    await answer.client.publish(subject_for("p.memory.b"), b"x")
    await answer.client.publish("_INBOX_local.x", b"x")
    await local.client.publish("umbriel.api.local.p.get", b"x")
    await asyncio.gather(flushed(local.client), flushed(agent.client), flushed(answer.client))
    await asyncio.sleep(0.2)
    assert heard == ["umbriel.api.local.p.get"]
    assert await fresh_log.last_position() == 0
    for one in (local, agent, answer):
        await one.close()


async def test_a_reply_subject_that_is_an_event_subject_changes_nothing(
    nats_server: NatsServer, fresh_log: Log
) -> None:
    """Whoever answers has no rights on the log, wherever a request asks for its answer."""
    local = await connect(nats_server.url, "local", nats_server.password("local"))
    answer = await connect(nats_server.url, "answer", nats_server.password("answer"))
    answered = asyncio.Event()

    async def respond(message: object) -> None:
        await answer.client.publish(getattr(message, "reply", ""), b"the answer")
        answered.set()

    await answer.client.subscribe("umbriel.api.>", cb=respond)
    await flushed(answer.client)
    for reply in (subject_for("p.memory.a"), "umbriel.keys.00.p.secret", "$JS.API.STREAM.DELETE.UMBRIEL"):
        answered.clear()
        await local.client.publish("umbriel.api.local.p.get", b"x", reply=reply)
        await flushed(local.client)
        async with asyncio.timeout(30):
            await answered.wait()
        await flushed(answer.client)
    assert await fresh_log.last_position() == 0
    assert await fresh_log.head("p.memory.a") is None
    await local.close()
    await answer.close()


async def test_a_wrong_password_is_refused(nats_server: NatsServer) -> None:
    """A user with another password does not get in."""
    with pytest.raises(RefusedError):
        await connect(nats_server.url, "service", "wrong", seconds=2)


async def test_a_lagging_replica_does_not_end_a_reading(fresh_log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a replica has nothing yet, the leader is asked: nobody takes an event for one that does not exist."""
    (position,) = await fresh_log.append([event("p.message." + "a" * 26)])
    reader = fresh_log._reader
    after = reader.after
    asked = 0

    async def lagging(subject: str, start: int, limit: int) -> Page:
        nonlocal asked
        asked += 1
        return Page([], more=False) if asked == 1 else await after(subject, start, limit)

    monkeypatch.setattr(reader, "after", lagging)
    assert [entry.position for entry in await fresh_log.read(position - 1, 10, "p")] == [position]

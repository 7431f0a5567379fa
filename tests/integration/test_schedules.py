"""Schedules on a real server: set once, fired to one of several services, and again where nobody finished."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest

from gateways.doctor import schedules as doctor
from gateways.jetstream.connection import Connection
from gateways.jetstream.schedules import Firing, Schedules
from gateways.jetstream.server import NatsServer
from gateways.jetstream.streams import FIRINGS_PREFIX, SCHEDULES_PREFIX, SCHEDULES_STREAM
from tests.nats_fixtures import service_connection
from tests.thinking_world import until
from umbriel.upkeep import PassStatus

EVERY_SECOND = "* * * * * *"
NEVER = "0 0 0 31 12 *"


@pytest.fixture
async def other(connection: Connection, nats_server: NatsServer) -> AsyncIterator[Connection]:
    """The connection of a second service."""
    opened = await service_connection(nats_server)
    yield opened
    await opened.close()


async def first(schedules: Schedules, *, seconds: float = 20.0) -> Firing:
    """The next firing."""
    async with asyncio.timeout(seconds), aclosing(schedules.firings()) as firings:
        async for firing in firings:
            if firing is not None:
                return firing
    raise AssertionError("the connection was closed")


async def test_a_schedule_is_set_once_and_changed_in_place(connection: Connection, other: Connection) -> None:
    """Several services set the same: one message; another time of day replaces it."""
    await asyncio.gather(*(Schedules(one).set("pass", NEVER) for one in (connection, other, connection)))
    kept = await connection.js.get_last_msg(SCHEDULES_STREAM, f"{SCHEDULES_PREFIX}.pass")
    await Schedules(other).set("pass", NEVER)
    info = await connection.js.stream_info(SCHEDULES_STREAM)
    assert (info.state.messages, info.state.last_seq) == (1, kept.seq)
    await Schedules(other).set("pass", "0 0 0 30 12 *")
    changed = await connection.js.get_last_msg(SCHEDULES_STREAM, f"{SCHEDULES_PREFIX}.pass")
    assert (changed.headers or {})["Nats-Schedule"] == "0 0 0 30 12 *"
    assert (await connection.js.stream_info(SCHEDULES_STREAM)).state.messages == 1


class Listener:
    """A service that finishes everything it is handed."""

    def __init__(self, connection: Connection) -> None:
        self.got: list[tuple[str, datetime]] = []
        self._task = asyncio.create_task(self._listen(Schedules(connection, ack_seconds=1.0)))

    async def _listen(self, schedules: Schedules) -> None:
        async with aclosing(schedules.firings()) as firings:
            async for firing in firings:
                if firing is not None:
                    self.got.append((firing.name, firing.at))
                    await firing.done()

    async def close(self) -> None:
        """Listen no more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_one_service_gets_a_firing(connection: Connection, other: Connection) -> None:
    """Two services that listen share what fires: each firing is handed out once, with its name and time."""
    one, two = Listener(connection), Listener(other)
    await Schedules(connection).set("pass", EVERY_SECOND)

    async def several() -> bool:
        return len(one.got) + len(two.got) >= 4

    await until(several, 20)
    await one.close()
    await two.close()
    got = [*one.got, *two.got]
    assert {name for name, _ in got} == {"pass"}
    assert len(set(got)) == len(got)


async def test_what_nobody_finished_comes_again(connection: Connection, other: Connection) -> None:
    """A service that dies of a firing leaves it to another one; a finished one does not come again."""
    await Schedules(connection).set("pass", EVERY_SECOND)
    taken = await first(Schedules(connection, ack_seconds=1.0))
    await Schedules(connection).set("pass", NEVER)
    heir = Listener(other)

    async def finished() -> bool:
        info = await connection.js.consumer_info(SCHEDULES_STREAM, "daily-passes")
        return not (info.num_ack_pending or info.num_pending)

    await until(finished, 20)
    await asyncio.sleep(1.5)  # longer than a firing may take before it comes again
    await heir.close()
    assert heir.got.count(("pass", taken.at)) == 1


async def test_the_service_fires_nothing_itself(connection: Connection) -> None:
    """What fires comes from the server alone: the service's user may set schedules and not write firings."""
    with pytest.raises(Exception, match=r"(?i)timeout|no response|permissions"):
        await connection.js.publish(f"{FIRINGS_PREFIX}.pass", b"", timeout=1)


async def test_the_doctor_knows_a_schedule_that_is_wrong(connection: Connection) -> None:
    """One that is not there, or at another time, fails; one that did not fire when it was due is told of."""
    due = datetime(2026, 1, 31, 4, 0, tzinfo=UTC)

    async def states(at: datetime, uptime: float = 60.0) -> list[str]:
        return [one.state for one in await doctor.look(connection, [PassStatus("pass", at)], uptime=uptime)]

    assert await states(due, uptime=1.0) == ["warn"]
    assert await states(due) == ["fail"]
    await Schedules(connection).set("pass", "0 30 4 * * *")
    assert await states(due) == ["fail"]
    await Schedules(connection).set("pass", "0 0 4 * * *")
    assert await states(due) == ["ok"]
    missed = datetime.combine(datetime.now(UTC).date() + timedelta(days=2), due.timetz())
    assert await states(missed) == ["warn"]

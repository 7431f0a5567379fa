"""Fixtures over the real nats-server of the wheel.

- ``nats_server`` (session): a running `NatsServer` on a free loopback port, with the users of embedded
  mode and ``operator``, who may do everything (tests use it to delete streams).
- ``fresh_streams``: deletes every stream, so that the test begins with an empty server.
- ``connection`` (async): a `Connection` of the user ``service`` with freshly made streams.
- ``fresh_log`` (async): a `Log` over it.
- ``key_ring`` (async): a `KeyRing` over it.
- ``own_server``: a `NatsServer` of the test's own, not started; for tests that kill it.

`operator_connection(server)` and `delete_streams(server)` are for tests that manage loops themselves; `flushed(client)`
waits until the server has taken what a client sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from nats.aio.client import Client

from gateways.jetstream.connection import Connection, connect
from gateways.jetstream.keys import KeyRing
from gateways.jetstream.log import Log
from gateways.jetstream.server import NatsServer
from gateways.jetstream.streams import ensure_streams
from gateways.jetstream.users import SERVICE, User

__all__ = ["OPERATOR", "delete_streams", "flushed", "operator_connection", "service_connection"]

OPERATOR = "operator"
#: may do everything, under the names it needs
_OPERATOR = User(OPERATOR, publish=(">",), subscribe=(">",))


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A server for the whole session; use `fresh_streams` or `fresh_log` to begin empty."""
    server = NatsServer(tmp_path_factory.mktemp("nats"), extra_users=[_OPERATOR])
    server.start_now()
    yield server
    server.stop_now()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A server that the test starts, kills and starts again."""
    server = NatsServer(tmp_path / "data", extra_users=[_OPERATOR])
    yield server
    server.stop_now()


@pytest.fixture
def fresh_streams(nats_server: NatsServer) -> NatsServer:
    """The session's server without any stream."""
    asyncio.run(delete_streams(nats_server))
    return nats_server


async def operator_connection(server: NatsServer) -> Connection:
    """Return a connection that may do everything."""
    return await connect(server.url, OPERATOR, server.password(OPERATOR), name="test")


async def service_connection(server: NatsServer) -> Connection:
    """Return a connection as the service has it."""
    return await connect(server.url, SERVICE, server.password(SERVICE), name="test")


async def flushed(client: Client) -> None:
    """Wait until the server has taken everything that a client sent.

    A client reads one line after its first PING. Where a busy server says something else first, the PONG stays behind
    and answers the next flush before its time, as each answers the one after it from then on; two are never too early.
    """
    await client.flush()
    await client.flush()


async def delete_streams(server: NatsServer) -> None:
    """Delete every stream of a server."""
    connection = await operator_connection(server)
    try:
        for info in await connection.js.streams_info():
            await connection.js.delete_stream(str(info.config.name))
    finally:
        await connection.close()


@pytest.fixture
async def connection(nats_server: NatsServer) -> AsyncIterator[Connection]:
    """A connection of the service, with new and empty streams."""
    await delete_streams(nats_server)
    opened = await service_connection(nats_server)
    await ensure_streams(opened.js)
    yield opened
    await opened.close()


@pytest.fixture
def fresh_log(connection: Connection) -> Log:
    """An empty log."""
    return Log(connection)


@pytest.fixture
def key_ring(connection: Connection, nats_server: NatsServer) -> KeyRing:
    """The keys of an empty keys stream."""
    return KeyRing(connection, nats_server.secrets.master_key())

"""The client's connection against a real nats-server: errors, retries, reconnects, and the feed that resumes."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from tests.nats_fixtures import flushed
from umbriel import (
    FeedEvent,
    FeedReply,
    InvalidInputError,
    ListReply,
    MismatchError,
    NotFoundError,
    RecallReply,
    Umbriel,
    UnavailableError,
)
from umbriel.types import ErrorReply, FeedRequest, RememberRequest

Answer = Callable[[Msg], Awaitable[None]]

CONFIG = """
host: 127.0.0.1
port: %d
authorization { users = [
  { user: local, password: p, permissions: { publish: ["umbriel.api.local.>"], subscribe: ["_INBOX_local.>"] } }
  { user: service, password: p }
] }
"""


class Nats:
    """A nats-server on one port, to be killed and started again."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._config = directory / "nats.conf"
        self._config.write_text(CONFIG % self.port)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"nats://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it and wait until it accepts connections."""
        self._spawn()
        for _ in range(200):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            return
        raise AssertionError("nats-server did not start")

    def _spawn(self) -> None:
        binary = Path(sys.executable).with_name("nats-server")
        self._process = subprocess.Popen(
            [str(binary), "-c", str(self._config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Nats]:
    """A real nats-server with a principal and a service."""
    running = Nats(tmp_path)
    await running.start()
    yield running
    running.kill()


@pytest.fixture
async def service(server: Nats) -> AsyncIterator[Client]:
    """A connection that answers requests."""

    async def quiet(_: Exception) -> None:
        """Say nothing: servers are killed on purpose here."""

    connection = await nats.connect(
        server.url, user="service", password="p", max_reconnect_attempts=-1, reconnect_time_wait=1, error_cb=quiet
    )
    yield connection
    await connection.close()


@pytest.fixture
async def client(server: Nats) -> AsyncIterator[Umbriel]:
    """A client as the principal ``local``."""
    async with await Umbriel.connect(server.url, principal="local", password="p", profile="p1") as connected:
        yield connected


async def answering(service: Client, verb: str, answer: Answer, profile: str = "p1") -> None:
    """Answer one verb of one profile."""
    await service.subscribe(f"umbriel.api.local.{profile}.{verb}", cb=answer)
    await flushed(service)


async def fail(service: Client, message: Msg, reply: ErrorReply) -> None:
    """Answer with an error."""
    await service.publish(message.reply, msgspec.json.encode(reply), headers={"Umbriel-Error": reply.code})


async def test_an_error_reply_is_raised_with_all_it_says(service: Client, client: Umbriel) -> None:
    """The header makes a reply an error; class, code and the four texts arrive."""

    async def answer(message: Msg) -> None:
        await fail(service, message, ErrorReply(code="not_found", message="no such memory", expected="a", found="b"))

    await answering(service, "get", answer)
    with pytest.raises(NotFoundError, match=r"no such memory \(expected a, found b\)") as caught:
        await client.get("x")
    assert (caught.value.code, caught.value.retryable) == ("not_found", False)


async def test_what_may_pass_is_tried_again(service: Client, client: Umbriel) -> None:
    """A service that is not there yet, then not ready, then ready: one call, one answer."""
    asked = 0

    async def answer(message: Msg) -> None:
        nonlocal asked
        asked += 1
        if asked < 3:
            await fail(service, message, ErrorReply(code="unavailable", message="catching up", retryable=True))
        else:
            await message.respond(msgspec.json.encode(RecallReply(results=[], position="U.1:3")))

    waiting = asyncio.create_task(client.recall("q"))
    await asyncio.sleep(0.3)
    await answering(service, "recall", answer)
    assert (await waiting).position == "U.1:3"
    assert asked == 3


async def test_a_budget_of_retries(server: Nats, service: Client) -> None:
    """What is tried again is the same request under the same id; without a budget, or for good, it is not."""
    bodies: list[RememberRequest] = []
    retryable = True

    async def answer(message: Msg) -> None:
        bodies.append(msgspec.json.decode(message.data, type=RememberRequest))
        await fail(service, message, ErrorReply(code="unavailable", message="not now", retryable=retryable))

    await answering(service, "remember", answer)
    for budget, most in ((0.3, 9), (0.0, 1)):
        async with await Umbriel.connect(
            server.url, principal="local", password="p", profile="p1", retry_seconds=budget
        ) as client:
            with pytest.raises(UnavailableError, match="not now"):
                await client.remember("once")
        assert min(most, 2) <= len(bodies) <= most
        assert len({one.request_id for one in bodies}) == 1
        assert bodies[0].request_id
        bodies.clear()
    retryable = False
    async with await Umbriel.connect(server.url, principal="local", password="p", profile="p1") as client:
        with pytest.raises(UnavailableError, match="not now"):
            await client.remember("once")
    assert len(bodies) == 1


async def test_a_reply_lost_with_the_server_is_asked_for_again(server: Nats, service: Client, client: Umbriel) -> None:
    """A request whose answer went down with the server is sent again after the reconnect, not after the time-out."""
    asked = 0

    async def answer(message: Msg) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            await message.respond(msgspec.json.encode(ListReply(entries=[], position="U.1:1")))

    await answering(service, "list", answer)
    waiting = asyncio.create_task(client.list(timeout=60))
    await asyncio.sleep(0.3)
    server.kill()
    await server.start()
    assert (await asyncio.wait_for(waiting, 20)).position == "U.1:1"


async def test_a_subscription_resumes_where_it_was(server: Nats, service: Client, client: Umbriel) -> None:
    """Events come in order, once each, across the death of the server."""

    async def answer(message: Msg) -> None:
        request = msgspec.json.decode(message.data, type=FeedRequest)
        after = int(request.after or 0)
        events = [event(number) for number in range(after + 1, after + 4)]
        await message.respond(msgspec.json.encode(FeedReply(events=events, position=str(after + 3))))

    await answering(service, "feed", answer)
    seen = []
    async for one in client.subscribe():
        seen.append(int(one.position))
        if len(seen) == 4:
            server.kill()
            await server.start()
        if len(seen) == 12:
            break
    assert seen == list(range(1, 13))


def event(number: int) -> FeedEvent:
    """Return an event at a position."""
    return FeedEvent(
        position=str(number),
        topic="message.recorded",
        recorded_at=datetime(2025, 1, 1, tzinfo=UTC),
        event_id=f"e{number}",
        actor="local",
        actor_type="person",
        data={},
    )


async def test_an_answer_of_another_shape_is_a_mismatch(service: Client, client: Umbriel) -> None:
    """A reply this client does not understand is named, not returned half."""

    async def answer(message: Msg) -> None:
        await message.respond(b"{}")

    await answering(service, "status", answer)
    with pytest.raises(MismatchError, match="StatusReply"):
        await client.status()


async def test_bad_input_is_told_before_it_is_sent(server: Nats, client: Umbriel) -> None:
    """Lone surrogates, over-long requests and names that cannot be in a subject never leave the client."""
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        await client.recall("q\ud800")
    with pytest.raises(InvalidInputError, match="too long"):
        await client.remember("x" * 2_000_000)
    with pytest.raises(InvalidInputError, match="profile name"):
        client.for_profile("a.b")
    with pytest.raises(InvalidInputError, match="principal name"):
        await Umbriel.connect(server.url, principal="*", password="p")


async def test_nobody_there_and_a_wrong_password_are_told_at_once(server: Nats) -> None:
    """Connecting fails fast, with what was expected."""
    with pytest.raises(UnavailableError, match="cannot connect"):
        await Umbriel.connect("nats://127.0.0.1:1", principal="local", password="p")
    with pytest.raises(Exception, match="password"):
        await Umbriel.connect(server.url, principal="local", password="wrong")


async def test_closing_after_the_server_has_gone_is_quiet(server: Nats) -> None:
    """What a dead server can no longer take does not keep a client from closing."""
    client = await Umbriel.connect(server.url, principal="local", password="p", profile="p")
    connection = client._transport._client
    server.kill()
    while connection.is_connected:  # noqa: ASYNC110 -- nats-py tells it by this property alone
        await asyncio.sleep(0.01)
    await connection.publish("umbriel.api.local.p.get", b"{}")
    await client.close()
    assert connection.is_closed
    assert not connection._subs

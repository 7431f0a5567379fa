"""Forwarding to a managed memory: a running service, and a real HTTP server that speaks the managed memory's shape."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateways import bootstrap
from gateways.bootstrap import Runtime
from tests.integration.test_policy import recorded
from tests.integration.test_running import SmallEmbedder, call, said
from tests.managed_server import ManagedServer

ALLOWED = {"data_flow.messages": "partner", "data_flow.memories": "partner", "data_flow.queries": "partner"}
FORWARD = {**ALLOWED, "provider.forward": True}


@pytest.fixture
def server() -> Iterator[ManagedServer]:
    """A managed memory."""
    with ManagedServer() as running:
        yield running


@asynccontextmanager
async def managed(data: Path, server: ManagedServer, **changes: Any) -> AsyncIterator[Runtime]:
    """A service that knows the managed memory."""
    settings = server.settings(**{"tries": 1, **changes})
    async with bootstrap.running(data, embedder=SmallEmbedder(), managed=settings) as runtime:
        yield runtime


@pytest.fixture
async def runtime(tmp_path: Path, server: ManagedServer) -> AsyncIterator[Runtime]:
    """A running service that knows the managed memory."""
    async with managed(tmp_path / "data", server) as started:
        yield started


async def until(done: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(30):
        while not done():  # noqa: ASYNC110 -- what is waited for happens in another thread
            await asyncio.sleep(0.02)


async def lag(runtime: Runtime) -> dict[str, int]:
    """Return what is still to be forwarded."""
    return {one.subject: one.lag for one in (await call(runtime, "status")).forwarding}


async def settled(runtime: Runtime) -> None:
    """Wait until everything is forwarded."""
    core = runtime.service.core
    await core.reader.wait_for(await core.events.log.last_position(), 10)
    async with asyncio.timeout(30):
        while any((await lag(runtime)).values()):  # noqa: ASYNC110 -- the lag is asked for over the service
            await asyncio.sleep(0.02)


async def test_what_was_said_before_is_forwarded_in_order(runtime: Runtime, server: ManagedServer) -> None:
    """Nothing goes before it is switched on at run time; then everything does, from the first message on."""
    await call(runtime, "ingest", messages=said("one", "two"), session="+491711234", contact="+491711234")
    await call(runtime, "remember", content="Ana lives in Lisbon")
    assert (await call(runtime, "status")).forwarding == []
    assert server.calls == []
    await call(runtime, "settings", changes=FORWARD)
    await call(runtime, "ingest", messages=said("three"), session="+491711234")
    await settled(runtime)
    assert [text for text in server.texts() if text in {"one", "two", "three"}] == ["one", "two", "three"]
    assert "Ana lives in Lisbon" in server.texts()
    assert not any("1711234" in f"{path}{(body or {}).get('sessionId')}" for _, path, body in server.calls)


async def test_what_may_not_leave_stays_and_is_recorded(runtime: Runtime, server: ManagedServer) -> None:
    """Messages that may not go to a partner wait, visibly, while memories go; when they may, they follow."""
    await call(runtime, "settings", changes={**FORWARD, "data_flow.messages": "own"})
    await call(runtime, "ingest", messages=said("a secret"), session="s")
    await call(runtime, "remember", content="Ana lives in Lisbon")
    await until(lambda: server.texts() == ["Ana lives in Lisbon"])
    status = {one.subject: one for one in (await call(runtime, "status")).forwarding}
    assert (status["messages"].lag, status["messages"].reason) == (1, "kept by the data-flow policy")
    refused = {one.subject: one.provider for one in await recorded(runtime)}
    assert refused == {"messages": "managed"}
    await call(runtime, "settings", changes={"data_flow.messages": "partner"})
    await until(lambda: "a secret" in server.texts())


async def test_a_service_that_is_down_loses_nothing(tmp_path: Path, server: ManagedServer) -> None:
    """While it is down the lag shows and says why; a restart goes on from there; back up, everything comes once."""
    async with managed(tmp_path / "data", server) as runtime:
        await call(runtime, "settings", changes=FORWARD)
        await call(runtime, "ingest", messages=said("before"), session="s")
        await settled(runtime)
        server.down = True
        await call(runtime, "ingest", messages=said("during"), session="s")
        await until(lambda: any("503" in reason for reason in runtime.service.core.forwarding.values()))
        status = {one.subject: one for one in (await call(runtime, "status")).forwarding}
        assert status["messages"].lag == 1
        assert "HTTP 503" in status["messages"].reason
    server.down = False
    server.calls.clear()
    async with managed(tmp_path / "data", server) as runtime:
        await settled(runtime)
        await call(runtime, "ingest", messages=said("after"), session="s")
        await settled(runtime)
    sent = [message["content"] for body in server.sent("ingest") for message in body["messages"]]
    assert sent == ["during", "after"]
    assert server.texts() == ["before", "during", "after"]


async def test_forgotten_is_deleted_there(runtime: Runtime, server: ManagedServer) -> None:
    """A memory goes by its id, a message with its session, whose rest comes again; also after it was switched off."""
    await call(runtime, "settings", changes=FORWARD)
    kept = await call(runtime, "remember", content="Ana lives in Lisbon", key="home")
    talk = await call(runtime, "ingest", messages=said("one", "a secret", "three"), session="s")
    await settled(runtime)
    await call(runtime, "forget", id=talk.outcomes[1].id)
    await until(lambda: sorted(server.texts()) == ["Ana lives in Lisbon", "one", "three"])
    await call(runtime, "settings", changes={"provider.forward": False})
    await call(runtime, "forget", id=kept.memory.id)
    await until(lambda: sorted(server.texts()) == ["one", "three"])


async def test_what_is_replaced_is_replaced_there(runtime: Runtime, server: ManagedServer) -> None:
    """Only the live version is left; what was forgotten before it was forwarded never goes."""
    gone = await call(runtime, "remember", content="a secret")
    await call(runtime, "forget", id=gone.memory.id)
    await call(runtime, "settings", changes=FORWARD)
    await call(runtime, "remember", content="Ana lives in Porto", key="home")
    await until(lambda: "Ana lives in Porto" in server.texts())
    await call(runtime, "remember", content="Ana lives in Lisbon", key="home")
    await until(lambda: server.texts() == ["Ana lives in Lisbon"])
    assert "a secret" not in [body["content"] for body in server.sent("remember")]


async def test_one_bad_message_loses_none_of_the_others(runtime: Runtime, server: ManagedServer) -> None:
    """What is not taken is tried in halves; the one that stays out is counted as failed."""
    await call(runtime, "ingest", messages=said("one", "two", "three", "four"), session="s")
    for _ in range(3):
        server.fail(413)
    await call(runtime, "settings", changes=FORWARD)
    await settled(runtime)
    assert server.texts() == ["two", "three", "four"]
    status = {one.subject: one for one in (await call(runtime, "status")).forwarding}
    assert status["messages"].failed == 1
    server.fail(413)
    assert (await call(runtime, "retry")).forwarded == 0
    assert (await call(runtime, "retry")).forwarded == 1
    assert server.texts() == ["two", "three", "four", "one"]
    assert [one.failed for one in (await call(runtime, "status")).forwarding] == [0, 0]


async def test_a_slow_service_holds_nothing(tmp_path: Path, server: ManagedServer) -> None:
    """While a call hangs, the profile is written, read, rebuilt and closed as ever."""
    with server.held() as hangs:
        async with managed(tmp_path / "data", server, timeout=60.0) as runtime:
            await call(runtime, "settings", changes=FORWARD)
            await call(runtime, "ingest", messages=said("one"), session="s", wait=True)
            await until(hangs.is_set)
            async with asyncio.timeout(30):
                await call(runtime, "ingest", messages=said("two"), session="s", wait=True)
                assert (await call(runtime, "rebuild")).verified
                assert (await call(runtime, "recall", query="two")).results
                await runtime.service.core.profiles._drop("p")
            assert (await lag(runtime))["messages"] == 2


async def test_without_a_managed_memory_it_says_so(tmp_path: Path) -> None:
    """A profile that wants forwarding where none is configured shows its lag and why."""
    async with bootstrap.running(tmp_path / "data", embedder=SmallEmbedder()) as runtime:
        await call(runtime, "settings", changes=FORWARD)
        await call(runtime, "ingest", messages=said("one"), session="s")
        await call(runtime, "recall", query="one", at_least=(await call(runtime, "status")).log_position)
        status = {one.subject: one for one in (await call(runtime, "status")).forwarding}
        assert (status["messages"].lag, status["messages"].reason) == (1, "no managed memory is configured")

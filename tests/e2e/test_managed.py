"""Forwarding by a service in a process of its own that is killed on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.processes import ServiceProcess
from tests.managed_server import ManagedServer
from umbriel import Message

FORWARD = {
    "data_flow.messages": "partner",
    "data_flow.memories": "partner",
    "data_flow.queries": "partner",
    "provider.forward": True,
    "provider.recall": "managed",
}


async def until(done: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(40):
        while not done():  # noqa: ASYNC110 -- what is waited for happens in another process
            await asyncio.sleep(0.05)


@pytest.mark.fault
async def test_a_kill_on_the_way_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while calls hang, the service sends after its restart what had not arrived, and each thing stays one."""
    with ManagedServer() as server:
        settings = server.settings()
        monkeypatch.setenv("MANAGED_URL", settings.base_url)
        monkeypatch.setenv("MANAGED_NAMESPACE", settings.namespace)
        monkeypatch.setenv("MANAGED_KEY", settings.key)
        with ServiceProcess(tmp_path / "data", ("tests.managed_service", "serve")) as service:
            async with await service.client(principal="local") as client:
                await client.settings(FORWARD)
                await client.remember("Ana lives in Lisbon", key="home")
                await until(lambda: server.texts() == ["Ana lives in Lisbon"])
                with server.held() as hangs:
                    await client.ingest([Message(role="user", content=f"line {n}") for n in range(20)], session="s")
                    await client.remember("Ana drinks tea", key="drink")
                    await until(hangs.is_set)
                    service.kill()
            service.kill_server()
            service.start()
            async with await service.client(principal="local") as client:
                await until(lambda: len(server.texts()) == 22)
                found = await client.recall("what Ana drinks")
                assert (found.provider, found.results[0].text) == ("managed", "Ana drinks tea")
        assert sorted(server.texts()) == sorted(
            ["Ana lives in Lisbon", "Ana drinks tea", *(f"line {n}" for n in range(20))]
        )
        assert [body["content"] for body in server.sent("remember")].count("Ana lives in Lisbon") == 1

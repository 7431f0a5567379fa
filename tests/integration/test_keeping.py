"""An embedded server that ends by itself: started again, at its port, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from domain.errors import UmbrielError, UnavailableError
from gateways.jetstream.keeping import keep
from gateways.jetstream.server import NatsServer
from tests.thinking_world import PERSON, until
from tests.transfer_world import here


def _pid(directory: Path) -> int:
    """The process id of the server whose files these are."""
    return int((directory / "nats.pid").read_text())


async def test_a_server_that_dies_is_started_again(tmp_path: Path) -> None:
    """The service goes on by itself: what was written is there, and more is written."""
    async with here(tmp_path / "data") as world:
        directory = next((tmp_path / "data").rglob("nats.pid")).parent
        kept = await world.remember("Ana sails on Sundays", key="sailing")
        killed = _pid(directory)
        os.kill(killed, signal.SIGKILL)

        position = ""

        async def writes() -> bool:
            nonlocal position
            try:
                position = (await world.call("pin", PERSON, id=kept)).position
            except UmbrielError:
                return False
            return _pid(directory) != killed

        await until(writes)
        assert (await world.call("get", PERSON, id=kept, at_least=position)).pinned
        assert not any(task.done() for task in world.runtime.tasks)


async def test_a_server_that_does_not_come_up_is_an_error(own_server: NatsServer) -> None:
    """After some tries whoever keeps it ends with what was wrong: the service does not sit there with its lock."""
    await own_server.start()
    os.kill(own_server.pid, signal.SIGKILL)

    async def dead() -> bool:
        return own_server.died

    await until(dead)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", own_server.port))
        taken.listen()
        with pytest.raises(UnavailableError, match="does not stay up") as ended:
            await asyncio.wait_for(keep(own_server, tries=2, pause=0.01), 20)
    assert "port is taken" in str(ended.value)

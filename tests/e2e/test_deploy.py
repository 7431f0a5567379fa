"""The configuration in deploy/ is one that the service runs on."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateways import bootstrap
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.server import find_binary
from gateways.jetstream.users import EMBEDDED, users_for
from umbriel import Umbriel

CONFIG = Path(__file__).parents[2] / "deploy" / "nats.conf"


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[str]:
    """nats-server on deploy/nats.conf with the data directory's passwords; only port and store are the test's."""
    secrets, port = Secrets(tmp_path / "data" / "secrets"), free_port()
    names = {user.name for user in users_for(EMBEDDED)}
    passwords = {f"UMBRIEL_{name.upper().replace('-', '_')}": secrets.password(name) for name in names}
    text = CONFIG.read_text("utf-8").replace('listen: "127.0.0.1:4222"', f'listen: "127.0.0.1:{port}"')
    config = tmp_path / "nats.conf"
    config.write_text(text.replace('"nats-store"', f'"{tmp_path / "store"}"'), "utf-8")
    process = subprocess.Popen(
        [str(find_binary()), "-c", str(config)], env={**os.environ, **passwords}, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"nats://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=10)


async def test_the_service_runs_on_the_example_configuration(own_server: str, tmp_path: Path) -> None:
    """deploy/nats.conf gives the service and the principals what they need, and names every user."""
    data = tmp_path / "data"
    async with bootstrap.running(data, nats=own_server):
        password = Secrets(data / "secrets").password("local-agent")
        async with await Umbriel.connect(own_server, principal="local-agent", password=password, profile="p") as client:
            written = await client.remember("The config works", key="config", wait=True)
            found = await client.recall("does the config work", at_least=written.position)
            assert found.results[0].id == written.memory.id

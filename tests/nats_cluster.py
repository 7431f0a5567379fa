"""Three nats-servers on loopback that keep the log together, on deploy/cluster/node.conf, to be killed one by one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from gateways.bootstrap import authorization
from gateways.jetstream.connection import Connection, connect
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.server import find_binary
from gateways.jetstream.streams import LOG_STREAM
from gateways.jetstream.users import SERVICE

__all__ = ["CONFIG", "NatsCluster", "free_ports"]

CONFIG = Path(__file__).parents[1] / "deploy" / "cluster" / "node.conf"
_HOST = "127.0.0.1"
_NODES = ("a", "b", "c")
_START_SECONDS = 30.0


def free_ports(number: int) -> list[int]:
    """Ports that nothing listens on, each another one."""
    probes = [socket.socket() for _ in range(number)]
    try:
        for probe in probes:
            probe.bind((_HOST, 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


class NatsCluster:
    """Three nodes whose files lie under ``root``, with the users and passwords of the data directory ``data``."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        self.data = data
        ports = free_ports(6)
        self.ports = dict(zip(_NODES, ports[:3], strict=True))
        self._routes = dict(zip(_NODES, ports[3:], strict=True))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """All nodes, as clients and services are told them."""
        return ",".join(f"nats://{_HOST}:{port}" for port in self.ports.values())

    def __enter__(self) -> Self:
        self.write()
        self._password = Secrets(self.data / "secrets").password(SERVICE)
        try:
            for node in _NODES:
                self.start(node)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def write(self) -> None:
        """Write what every node runs on."""
        self.root.mkdir(parents=True, exist_ok=True)
        shutil.copy(CONFIG, self.root / "node.conf")
        (self.root / "users.conf").write_text(authorization(self.data), "utf-8")

    def environment(self, node: str) -> dict[str, str]:
        """What tells a node who it is."""
        routes = (f"nats://route:routes@{_HOST}:{port}" for port in self._routes.values())
        return {
            "UMBRIEL_NODE": node,
            "UMBRIEL_HOST": _HOST,
            "UMBRIEL_PORT": str(self.ports[node]),
            "UMBRIEL_STORE": str(self.root / f"store-{node}"),
            "UMBRIEL_ROUTE_PORT": str(self._routes[node]),
            "UMBRIEL_ROUTE_PASSWORD": "routes",
            **{f"UMBRIEL_ROUTE_{number}": route for number, route in enumerate(routes, 1)},
        }

    def start(self, node: str) -> None:
        """Start a node, and wait until it listens."""
        self._processes[node] = subprocess.Popen(
            [str(find_binary()), "-c", str(self.root / "node.conf"), "-l", str(self.root / f"{node}.log")],
            env={**os.environ, **self.environment(node)},
        )
        deadline = time.monotonic() + _START_SECONDS
        while not _listens(self.ports[node]):
            if self._processes[node].poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"node {node} did not start: {(self.root / f'{node}.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self, node: str) -> None:
        """Kill -9 a node."""
        self._processes[node].kill()
        self._processes[node].wait(timeout=10)

    def stop(self) -> None:
        """End every node."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait(timeout=10)

    async def connection(self) -> Connection:
        """Return a connection as the services have it."""
        return await connect(self.url, SERVICE, self._password, name="test")

    async def leader(self, stream: str = LOG_STREAM) -> str:
        """Return the node that leads a stream."""
        connection = await self.connection()
        try:
            info = await connection.js.stream_info(stream)
        finally:
            await connection.close()
        assert info.cluster is not None
        return str(info.cluster.leader)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((_HOST, port)) == 0

"""A real ``umbriel serve`` in a process of its own, on a data directory, to be started, killed and started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from umbriel import Umbriel, UnavailableError

__all__ = ["ServiceProcess"]

_START_SECONDS = 40.0


class ServiceProcess:
    """Runs ``umbriel serve --data DIR``; its nats-server is its child and is killed on its own too."""

    def __init__(
        self,
        data: Path,
        module: tuple[str, ...] = ("gateways.cli", "serve"),
        *,
        thinking: bool = True,
        http: str = "",
        flags: tuple[str, ...] = (),
    ) -> None:
        self.data = data
        self._flags = (*flags, *(() if thinking else ("--no-thinking",)), *(("--http", http) if http else ()))
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the service and wait until it says where it answers."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the service."""
        endpoint = self.data / "endpoint.json"
        endpoint.unlink(missing_ok=True)
        self.data.mkdir(parents=True, exist_ok=True)
        with (self.data / "serve.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *self._module, "--data", str(self.data), *self._flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait until the service says where it answers."""
        endpoint = self.data / "endpoint.json"
        assert self._process is not None
        deadline = time.monotonic() + _START_SECONDS
        while not endpoint.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                tail = (self.data / "serve.log").read_text(errors="replace")[-3000:]
                raise AssertionError(f"umbriel serve did not start: {tail}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End the service as a supervisor would, and make sure that its server is gone as well."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()
        self.kill_server()

    def kill(self) -> None:
        """Kill -9 the service alone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(timeout=10)

    def end(self) -> None:
        """Ask the service to end (SIGTERM), and wait for nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    @property
    def running(self) -> bool:
        """Whether the service's process lives."""
        return self._process is not None and self._process.poll() is None

    def kill_server(self) -> None:
        """Kill -9 the embedded nats-server, if it runs."""
        for pid in self._server_pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _server_pids(self) -> list[int]:
        found = []
        wanted = str(self.data).encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"nats-server" in command.split(b"\0")[0] and wanted in command:
                found.append(int(entry.name))
        return found

    @property
    def http(self) -> str:
        """Where the REST API answers."""
        return str(json.loads((self.data / "endpoint.json").read_text())["http"])

    async def client(self, *, profile: str = "p", principal: str = "local-agent") -> Umbriel:
        """Connect a client; the service must be running.

        Unlike `Umbriel.embedded`, it starts no second service where a busy machine makes this one slow to answer.
        """
        endpoint = msgspec.json.decode((self.data / "endpoint.json").read_bytes())
        password = (self.data / "secrets" / f"{principal}.password").read_text("utf-8").strip()
        async with asyncio.timeout(40):
            while True:
                try:
                    return await Umbriel.connect(
                        endpoint["url"], principal=principal, password=password, profile=profile
                    )
                except UnavailableError:
                    await asyncio.sleep(0.05)

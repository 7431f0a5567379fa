"""The log of a data directory that no service runs on, opened to be looked at or mended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from domain.errors import MismatchError
from gateways.bootstrap import lock_of
from gateways.jetstream.connection import connect
from gateways.jetstream.keys import KeyRing
from gateways.jetstream.log import Log
from gateways.jetstream.seal_keys import trusted_keys
from gateways.jetstream.server import NatsServer
from gateways.jetstream.streams import LOG_STREAM, StreamState, state_of
from gateways.jetstream.users import SERVICE
from gateways.service.examining import Examination
from gateways.service.integrity import Known, Standing, standing_of
from gateways.service.witness import WitnessFile
from projections.directory import Directory

__all__ = ["Opened", "known_to", "opened"]


class Opened(msgspec.Struct, frozen=True):
    """A log and its keys, how it stands, and what the data directory knows of it."""

    data: Path
    log: Log
    keys: KeyRing
    state: StreamState
    standing: Standing
    known: Known
    trusted: frozenset[str]

    def examination(self) -> Examination:
        """Return a look at all of it, to be run."""
        return Examination(self.log, self.keys, self.data, self.standing, self.known, self.trusted)


def known_to(data: Path) -> Known:
    """Return what a data directory knows of its log; nothing where it knows none."""
    witness = WitnessFile(data).read()
    if not (data / "directory.sqlite").exists():
        return Known(seal=witness)
    directory = Directory(data / "directory.sqlite")
    try:
        return Known(directory.incarnation, directory.low_water_mark(), witness)
    finally:
        directory.close()


@asynccontextmanager
async def opened(data: Path, nats: str | None = None) -> AsyncIterator[Opened]:
    """Open the log of a data directory, on its own server or on the one at ``nats``; nothing is made that is not there.

    Raises AlreadyRunningError while a service runs on it, MismatchError where there is no log.
    """
    async with AsyncExitStack() as stack:
        stack.callback(lock_of(data).release)
        server = NatsServer(data)
        if nats is None:
            await server.start()
            stack.push_async_callback(server.stop)
        connection = await connect(nats or server.url, SERVICE, server.password(SERVICE), name="umbriel-offline")
        stack.push_async_callback(connection.close)
        state = await state_of(connection.js)
        if state is None:
            raise MismatchError(
                "there is no log here; restore it from a backup", expected=f"the stream {LOG_STREAM}", found="none"
            )
        log = Log(connection)
        standing = await standing_of(log, state)
        keys = KeyRing(connection, server.secrets.master_key())
        yield Opened(data, log, keys, state, standing, known_to(data), trusted_keys(server.secrets))

"""The library's way in: `PERSISTENCE_MODULE=gateways.jetstream`.

Environment: ``NATS_URL``, ``NATS_USER``, ``NATS_PASSWORD``, ``UMBRIEL_STREAM`` (default ``UMBRIEL``),
``UMBRIEL_REPLICAS``, ``UMBRIEL_MAX_BYTES`` and ``UMBRIEL_MASTER_KEY`` (64 hexadecimal digits; without it
only the library's own events can be stored). A service that has a connection already shares it instead.
"""

from __future__ import annotations

import secrets
import threading
from typing import Any, NoReturn

import msgspec
from eventsourcing.persistence import (
    AggregateRecorder,
    InfrastructureFactory,
    Mapper,
    NotSupportedError,
    ProcessRecorder,
    TrackingRecorder,
    Transcoder,
)

from domain.errors import InvalidInputError
from gateways.jetstream.bridge import Bridge
from gateways.jetstream.connection import Connection, connect
from gateways.jetstream.keys import KeyRing
from gateways.jetstream.log import Log
from gateways.jetstream.mapper import EnvelopeMapper
from gateways.jetstream.recorders import JetStreamAggregateRecorder, JetStreamApplicationRecorder
from gateways.jetstream.streams import LOG_STREAM, ensure_log, ensure_streams

__all__ = ["JetStreamFactory", "Shared", "share"]

_SHARED = "UMBRIEL_SHARED_LOG"
_MODULE = "gateways.jetstream"
_URL = "nats://127.0.0.1:4222"
_SNAPSHOTS_PREFIX = "umbriel.snapshots"
_MAX_BYTES = 64 * 1024**3


class Shared(msgspec.Struct, frozen=True):
    """A log and its keys that live on the loop of ``bridge``; whoever made them closes them."""

    log: Log
    keys: KeyRing | None
    bridge: Bridge


_shared: dict[str, Shared] = {}


def share(log: Log, keys: KeyRing | None, bridge: Bridge) -> dict[str, str]:
    """Return the environment for an `Application` that uses this log instead of a connection of its own."""
    token = secrets.token_hex(8)
    _shared[token] = Shared(log, keys, bridge)
    return {InfrastructureFactory.PERSISTENCE_MODULE: _MODULE, _SHARED: token}


class JetStreamFactory(InfrastructureFactory[TrackingRecorder]):
    """Makes recorders and mappers over one log; it connects when the first is asked for."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._lock = threading.Lock()
        self._opened: Shared | None = None
        self._connection: Connection | None = None

    # -- the parts ------------------------------------------------------------------------------

    def mapper(
        self, transcoder: Transcoder | None = None, mapper_class: type[Mapper[Any]] | None = None
    ) -> Mapper[Any]:
        """Return a mapper for envelopes that leaves other events to the library; or the class asked for."""
        if mapper_class not in (None, Mapper) or self.env.get(self.MAPPER_TOPIC):
            return super().mapper(transcoder, mapper_class)
        shared = self._shared() if _SHARED in self.env or self.env.get("UMBRIEL_MASTER_KEY") else None
        return EnvelopeMapper(
            transcoder or self.transcoder(),
            self.compressor(),
            self.cipher(),
            keys=shared.keys if shared else None,
            bridge=shared.bridge if shared else None,
        )

    def application_recorder(self) -> JetStreamApplicationRecorder:
        """Return the recorder of the log."""
        shared = self._shared()
        return JetStreamApplicationRecorder(shared.log, shared.bridge)

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """Return a recorder of the log, or of the stream that snapshots are kept in."""
        shared = self._shared()
        if purpose == "events":
            return JetStreamAggregateRecorder(shared.log, shared.bridge)
        snapshots = shared.bridge.run(self._snapshots(shared.log))
        return JetStreamAggregateRecorder(snapshots, shared.bridge, gaps=True)

    async def _snapshots(self, log: Log) -> Log:
        stream = f"{log.stream}_SNAPSHOTS"
        await ensure_log(log.connection.js, stream=stream, prefix=_SNAPSHOTS_PREFIX, max_bytes=self._max_bytes())
        return Log(log.connection, stream=stream, prefix=_SNAPSHOTS_PREFIX)

    def tracking_recorder(
        self,
        tracking_recorder_class: type[TrackingRecorder] | None = None,  # noqa: ARG002 -- the library's signature
    ) -> NoReturn:
        """Refuse: a view keeps its position in the same commit as its data."""
        raise NotSupportedError("JetStream keeps no tracking records: views own their positions")

    def process_recorder(self) -> ProcessRecorder:
        """Refuse: a view keeps its position in the same commit as its data."""
        raise NotSupportedError("JetStream keeps no tracking records: views own their positions")

    # -- opening and closing --------------------------------------------------------------------

    def _shared(self) -> Shared:
        with self._lock:
            if self._opened is None:
                token = self.env.get(_SHARED)
                self._opened = _shared[token] if token else self._open()
            return self._opened

    def _open(self) -> Shared:
        bridge = Bridge()
        try:
            return bridge.run(self._connect(bridge))
        except BaseException:
            bridge.close()
            raise

    async def _connect(self, bridge: Bridge) -> Shared:
        self._connection = connection = await connect(
            self.env.get("NATS_URL", _URL), self.env.get("NATS_USER", ""), self.env.get("NATS_PASSWORD", "")
        )
        stream = self.env.get("UMBRIEL_STREAM", LOG_STREAM)
        replicas = _number(self.env.get("UMBRIEL_REPLICAS", "1"), "UMBRIEL_REPLICAS")
        try:
            await ensure_streams(connection.js, stream=stream, num_replicas=replicas, max_bytes=self._max_bytes())
            keys = (
                KeyRing(connection, _master_key(found)) if (found := self.env.get("UMBRIEL_MASTER_KEY", "")) else None
            )
            if keys is not None:
                await keys.check()
        except BaseException:
            await connection.close()
            raise
        return Shared(Log(connection, stream=stream), keys, bridge)

    def _max_bytes(self) -> int:
        return _number(self.env.get("UMBRIEL_MAX_BYTES", str(_MAX_BYTES)), "UMBRIEL_MAX_BYTES")

    def close(self) -> None:
        """Close the connection this factory opened; a shared one stays open."""
        with self._lock:
            opened, self._opened = self._opened, None
            connection, self._connection = self._connection, None
        if opened is not None and connection is not None:
            opened.bridge.run(connection.close())
            opened.bridge.close()


def _number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text):
        raise InvalidInputError(f"{name} is not a number", expected="a positive number", found=repr(text[:40]))
    return int(text)


def _master_key(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32:  # noqa: PLR2004 -- AES-256
        raise InvalidInputError(
            "UMBRIEL_MASTER_KEY is not a key", expected="64 hexadecimal digits", found="another value"
        )
    return key

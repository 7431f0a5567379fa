"""The streams: their names, subjects and the configuration they must have.

The log keeps every event for ever; the keys stream keeps the wrapped keys, whose bytes must be erasable; the turns
bucket (a KV bucket) keeps what turns under way have found, until they end or it expires; the schedules stream keeps
what fires at a time of day, and for a while what it fired: a stream that refuses what is new has none.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
import uuid

import msgspec
from nats.js import JetStreamContext, api
from nats.js.errors import APIError
from nats.js.errors import NotFoundError as StreamNotFoundError

from domain.errors import InvalidInputError, MismatchError, UnavailableError
from domain.ids import partition_of
from gateways.jetstream.errors import translated

__all__ = [
    "EVENTS_PREFIX",
    "FIRINGS_PREFIX",
    "INCARNATION",
    "KEYS_PREFIX",
    "KEYS_STREAM",
    "LEASES_PREFIX",
    "LEASES_STREAM",
    "LOG_STREAM",
    "SCHEDULES_PREFIX",
    "SCHEDULES_STREAM",
    "TURNS_PREFIX",
    "TURNS_STREAM",
    "StreamState",
    "check_streams",
    "ensure_leases",
    "ensure_log",
    "ensure_streams",
    "filter_for",
    "originator_for",
    "state_of",
    "subject_for",
    "uuid_of",
]

LOG_STREAM = "UMBRIEL"
KEYS_STREAM = "UMBRIEL_KEYS"
SCHEDULES_STREAM = "UMBRIEL_SCHEDULES"
EVENTS_PREFIX = "umbriel.events"
KEYS_PREFIX = "umbriel.keys"
SCHEDULES_PREFIX = "umbriel.schedules"
FIRINGS_PREFIX = "umbriel.firings"
_TURNS_BUCKET = "UMBRIEL_TURNS"
#: how a KV bucket is kept: a stream of this name, with the keys behind this prefix
TURNS_STREAM = f"KV_{_TURNS_BUCKET}"
TURNS_PREFIX = f"$KV.{_TURNS_BUCKET}"
LEASES_STREAM = "KV_UMBRIEL_LEASES"
LEASES_PREFIX = "$KV.UMBRIEL_LEASES"

#: where the log's metadata says which incarnation it is
INCARNATION = "umbriel-incarnation"
_TOKENS = re.compile(r"[A-Za-z0-9_-]{1,64}\.[a-z][a-z0-9_-]{0,31}\.[A-Za-z0-9_-]{1,64}\Z")
#: The library's own tests name aggregates by UUID; such a one belongs to no profile.
_UUIDS = "_.uuid."
_KEYS_MAX_BYTES = 4 * 1024**3
_SCHEDULES_MAX_BYTES = 16 * 1024**2
_FIRINGS_KEPT = 16
_TURNS_MAX_BYTES = 1024**3
_LEASES_MAX_BYTES = 16 * 1024**2
# The server's defaults where a limit is not set.
_UNLIMITED = -1
#: seconds that servers which start together may take to find each other and a leader
_GATHERING = 30.0
_PAUSE = 0.25


class StreamState(msgspec.Struct, frozen=True):
    """The log as it was found or created: its name, incarnation, last sequence, and on how many servers it is."""

    name: str
    incarnation: str
    last_position: int
    replicas: int = 1


# -- subjects -----------------------------------------------------------------------------------


def subject_for(originator_id: str | uuid.UUID, prefix: str = EVENTS_PREFIX) -> str:
    """Return the subject of an aggregate; raises InvalidInputError for an id that cannot be one."""
    name = f"{_UUIDS}{originator_id.hex}" if isinstance(originator_id, uuid.UUID) else originator_id
    if not _TOKENS.match(name):
        raise InvalidInputError(
            "not an aggregate id", expected="<profile>.<category>.<id>", found=repr(str(originator_id)[:80])
        )
    return f"{prefix}.{partition_of(name.split('.', 1)[0]):02d}.{name}"


def originator_for(subject: str, prefix: str = EVENTS_PREFIX) -> str:
    """Return the aggregate id that a subject of the log stands for."""
    return subject[len(prefix) + 4 :]


def uuid_of(originator_id: str) -> uuid.UUID | None:
    """Return the UUID that an aggregate id was made from, or None for one of ours."""
    return uuid.UUID(hex=originator_id[len(_UUIDS) :]) if originator_id.startswith(_UUIDS) else None


def filter_for(profile: str | None, prefix: str = EVENTS_PREFIX) -> str:
    """Return the subject filter of one profile's events, or of all."""
    return f"{prefix}.>" if profile is None else f"{prefix}.{partition_of(profile):02d}.{profile}.>"


# -- configuration ------------------------------------------------------------------------------


def _log_config(name: str, prefix: str, num_replicas: int, max_bytes: int) -> api.StreamConfig:
    return api.StreamConfig(
        name=name,
        subjects=[f"{prefix}.>"],
        retention=api.RetentionPolicy.LIMITS,
        storage=api.StorageType.FILE,
        discard=api.DiscardPolicy.NEW,
        max_bytes=max_bytes,
        max_msgs=_UNLIMITED,
        max_age=0,
        max_msgs_per_subject=_UNLIMITED,
        max_msg_size=_UNLIMITED,
        num_replicas=num_replicas,
        deny_delete=True,
        deny_purge=True,
        allow_direct=True,
        allow_atomic=True,
    )


def _keys_config(num_replicas: int) -> api.StreamConfig:
    # No limit per subject: a limit of one would let the server drop a key record without erasing its bytes.
    config = _log_config(KEYS_STREAM, KEYS_PREFIX, num_replicas, _KEYS_MAX_BYTES)
    return config.evolve(deny_delete=False, allow_atomic=False)


def _schedules_config(num_replicas: int) -> api.StreamConfig:
    # The server allows rollups where it allows schedules, and rollups are purges.
    return api.StreamConfig(
        name=SCHEDULES_STREAM,
        subjects=[f"{SCHEDULES_PREFIX}.>", f"{FIRINGS_PREFIX}.>"],
        retention=api.RetentionPolicy.LIMITS,
        storage=api.StorageType.FILE,
        discard=api.DiscardPolicy.OLD,
        max_bytes=_SCHEDULES_MAX_BYTES,
        max_msgs=_UNLIMITED,
        max_age=0,
        max_msgs_per_subject=_FIRINGS_KEPT,
        max_msg_size=_UNLIMITED,
        num_replicas=num_replicas,
        allow_rollup_hdrs=True,
        allow_msg_schedules=True,
    )


def _turns_config(num_replicas: int) -> api.StreamConfig:
    return _bucket_config(TURNS_STREAM, TURNS_PREFIX, num_replicas, _TURNS_MAX_BYTES)


def _bucket_config(name: str, prefix: str, num_replicas: int, max_bytes: int) -> api.StreamConfig:
    # As every KV bucket with a time to live for each message; no marker after it, which would bar a new beginning.
    return _log_config(name, prefix, num_replicas, max_bytes).evolve(
        deny_purge=False, allow_atomic=False, allow_rollup_hdrs=True, allow_msg_ttl=True, max_msgs_per_subject=1
    )


_COMPARED = (
    "subjects",
    "retention",
    "storage",
    "discard",
    "discard_new_per_subject",
    "max_bytes",
    "max_msgs",
    "max_age",
    "max_msgs_per_subject",
    "max_msg_size",
    "num_replicas",
    "no_ack",
    "deny_delete",
    "deny_purge",
    "allow_rollup_hdrs",
    "allow_direct",
    "allow_atomic",
    "allow_msg_ttl",
    "allow_msg_schedules",
    "sealed",
    "mirror",
    "sources",
    "republish",
    "subject_transform",
)


def _plain(value: object) -> object:
    # The server leaves out what is off, so that off, empty and absent are one.
    return value or None


def _compare(name: str, expected: api.StreamConfig, found: api.StreamConfig) -> None:
    wrong = [
        (flag, getattr(expected, flag), getattr(found, flag))
        for flag in _COMPARED
        if _plain(getattr(expected, flag)) != _plain(getattr(found, flag))
    ]
    if wrong:
        raise MismatchError(
            f"the stream {name} is not configured as it must be",
            expected=", ".join(f"{flag}={_show(must)}" for flag, must, _ in wrong),
            found=", ".join(f"{flag}={_show(have)}" for flag, _, have in wrong),
        )


def _show(value: object) -> str:
    return str(getattr(value, "value", value))


async def _ensure(js: JetStreamContext, config: api.StreamConfig) -> api.StreamInfo:
    name = str(config.name)
    with translated(f"opening the stream {name}"):
        try:
            info = await js.stream_info(name)
        except StreamNotFoundError:
            metadata = {INCARNATION: secrets.token_hex(4)}
            try:
                info = await js.add_stream(config.evolve(metadata=metadata))
            except APIError as error:
                if error.err_code != _NAME_IN_USE:
                    raise
                info = await js.stream_info(name)  # another process created it in between
    _compare(name, config, info.config)
    return info


_NAME_IN_USE = 10058


async def ensure_log(
    js: JetStreamContext,
    *,
    stream: str = LOG_STREAM,
    prefix: str = EVENTS_PREFIX,
    num_replicas: int = 1,
    max_bytes: int = 64 * 1024**3,
) -> StreamState:
    """Create the log where it is missing, or check it; raises MismatchError naming each wrong flag."""
    info = await _ensure(js, _log_config(stream, prefix, num_replicas, max_bytes))
    incarnation = (info.config.metadata or {}).get(INCARNATION, "")
    if not incarnation:
        raise MismatchError(
            f"the stream {stream} has no incarnation", expected=f"{INCARNATION} in its metadata", found="none"
        )
    return StreamState(stream, incarnation, info.state.last_seq, num_replicas)


async def ensure_streams(
    js: JetStreamContext, *, stream: str = LOG_STREAM, num_replicas: int = 1, max_bytes: int = 64 * 1024**3
) -> StreamState:
    """Create or check the log, the streams of keys and schedules, and the turns bucket; returns the log's state.

    ``max_bytes`` is the largest size of the log, ``num_replicas`` the copies of every stream. Raises
    MismatchError when a stream exists with another configuration, UnavailableError without a server; servers of a
    cluster are waited for.
    """
    deadline = time.monotonic() + (_GATHERING if num_replicas > 1 else 0.0)
    while True:
        try:
            return await _ensure_all(js, stream, num_replicas, max_bytes)
        except UnavailableError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_PAUSE)


async def _ensure_all(js: JetStreamContext, stream: str, num_replicas: int, max_bytes: int) -> StreamState:
    state = await ensure_log(js, stream=stream, num_replicas=num_replicas, max_bytes=max_bytes)
    await _ensure(js, _keys_config(num_replicas))
    await _ensure(js, _schedules_config(num_replicas))
    await _ensure(js, _turns_config(num_replicas))
    return state


async def ensure_leases(js: JetStreamContext, *, num_replicas: int = 1) -> None:
    """Create or check the bucket of leases, which only instances that share a log need."""
    await _ensure(js, _bucket_config(LEASES_STREAM, LEASES_PREFIX, num_replicas, _LEASES_MAX_BYTES))


async def state_of(js: JetStreamContext, stream: str = LOG_STREAM) -> StreamState | None:
    """Return how a log stands now, None where there is none; UnavailableError when the server does not say."""
    with translated(f"reading the stream {stream}"):
        try:
            info = await js.stream_info(stream)
        except StreamNotFoundError:
            return None
    incarnation = (info.config.metadata or {}).get(INCARNATION, "")
    return StreamState(stream, incarnation, info.state.last_seq, info.config.num_replicas or 1)


async def check_streams(js: JetStreamContext, *, max_bytes: int = 64 * 1024**3) -> None:
    """Raise MismatchError when a stream is missing or not configured as it must be; creates and changes nothing.

    How many copies there are is the log's to say: the others have as many.
    """
    state = await state_of(js)
    num_replicas = 1 if state is None else state.replicas
    log = _log_config(LOG_STREAM, EVENTS_PREFIX, num_replicas, max_bytes)
    configs = (log, _keys_config(num_replicas), _schedules_config(num_replicas), _turns_config(num_replicas))
    for config in configs:
        name = str(config.name)
        with translated(f"reading the stream {name}"):
            try:
                found = (await js.stream_info(name)).config
            except StreamNotFoundError as error:
                raise MismatchError(f"the stream {name} is missing", expected=name, found="none") from error
        _compare(name, config, found)

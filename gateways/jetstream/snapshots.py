"""Streams as bytes and back: the server's own snapshots, taken while it serves, and put back into another server.

A snapshot comes in chunks, each acknowledged before many more are sent; an empty one is the end. Put back, a stream
has its messages, sequences and times; only its metadata may be others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
from nats.aio.msg import Msg

from domain.errors import DamagedError, UnavailableError
from gateways.jetstream.connection import Connection, LostError
from gateways.jetstream.errors import ServerError, translated

__all__ = ["CHUNK", "Snapshot", "StreamEnd", "put_back", "take"]

#: bytes of one chunk
CHUNK = 128 * 1024
#: seconds the server may be silent: it reads and checks whole blocks before it sends them
_SILENCE = 60.0
_CHECKED = True
_ENDED = "204"


class StreamEnd(msgspec.Struct, frozen=True):
    """What a stream held when a snapshot of it began."""

    messages: int = 0
    bytes: int = 0
    first_seq: int = 0
    last_seq: int = 0


class Snapshot(msgspec.Struct, frozen=True):
    """A stream's configuration and state, as the server gave them with its snapshot."""

    config: dict[str, Any]
    state: dict[str, Any]

    @property
    def end(self) -> StreamEnd:
        """What of the state counts."""
        return msgspec.convert(self.state, StreamEnd)


class _Subject(msgspec.Struct, frozen=True):
    deliver_subject: str


class _Restored(msgspec.Struct, frozen=True):
    state: StreamEnd


class _Error(msgspec.Struct, frozen=True):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct, frozen=True):
    error: _Error | None = None


async def take(connection: Connection, stream: str, sink: Callable[[bytes], Awaitable[None]]) -> Snapshot:
    """Give every chunk of a stream's snapshot to ``sink``, in order, and return what it is a snapshot of.

    The server checks every block as it reads it. Raises UnavailableError when the stream or the server does not answer.
    """
    client, chunks = connection.client, asyncio.Queue[Msg]()
    inbox = client.new_inbox()

    async def arrived(message: Msg) -> None:
        chunks.put_nowait(message)

    with translated(f"taking a snapshot of {stream}"):
        subscription = await client.subscribe(inbox, cb=arrived)
        try:
            asked = {"deliver_subject": inbox, "no_consumers": True, "chunk_size": CHUNK, "jsck": _CHECKED}
            subject = f"$JS.API.STREAM.SNAPSHOT.{stream}"
            snapshot = await connection.call(subject, msgspec.json.encode(asked), Snapshot)
            while (message := await asyncio.wait_for(chunks.get(), _SILENCE)).data:
                await sink(message.data)
                if message.reply:
                    await client.publish(message.reply)
        except LostError as error:
            raise TimeoutError("the connection was lost") from error
        finally:
            await subscription.unsubscribe()
    status = (message.headers or {}).get("Status", _ENDED)
    if status != _ENDED:
        raise UnavailableError(f"the snapshot of {stream} broke off", expected="its end", found=f"status {status}")
    return snapshot


async def put_back(
    connection: Connection, snapshot: Snapshot, chunks: AsyncIterator[bytes], metadata: Mapping[str, str]
) -> StreamEnd:
    """Make the stream of a snapshot on a server that has none of its name; returns what it holds then.

    ``metadata`` is added to the stream's. Raises DamagedError when the server does not take the chunks for a stream,
    UnavailableError when it does not answer.
    """
    stream = str(snapshot.config["name"])
    config = {**snapshot.config, "metadata": {**(snapshot.config.get("metadata") or {}), **metadata}}
    body = msgspec.json.encode({"config": config, "state": snapshot.state})
    with translated(f"restoring {stream}"):
        try:
            target = (await connection.call(f"$JS.API.STREAM.RESTORE.{stream}", body, _Subject)).deliver_subject
            async for chunk in chunks:
                _check(stream, (await connection.request(target, chunk, seconds=_SILENCE)).data)
            ended = (await connection.request(target, b"", seconds=_SILENCE)).data
        except LostError as error:
            raise TimeoutError("the connection was lost") from error
        except ServerError as error:
            raise _refused(stream, str(error)) from error
    _check(stream, ended)
    found = msgspec.json.decode(ended, type=_Restored).state
    if found.last_seq < snapshot.end.last_seq or found.messages < snapshot.end.messages:
        raise _refused(stream, f"{found.messages} messages up to {found.last_seq}")
    return found


def _check(stream: str, answer: bytes) -> None:
    error = msgspec.json.decode(answer, type=_Answer).error if answer else None
    if error is not None:
        raise _refused(stream, f"{error.description} ({error.code}/{error.err_code})")


def _refused(stream: str, found: str) -> DamagedError:
    return DamagedError(f"the snapshot of {stream} cannot be restored", expected="a whole stream", found=found)

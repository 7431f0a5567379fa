"""Writes: one event as a plain publish, several as one atomic batch, and what a lost acknowledgement means."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import nats.errors

from domain.errors import ConflictError, InvalidInputError
from gateways.jetstream.connection import Connection, LostError
from gateways.jetstream.direct import StreamReader
from gateways.jetstream.errors import BATCH_AGAIN, CONFLICTS, FULL, ServerError, translated
from gateways.jetstream.streams import subject_for
from gateways.jetstream.wire import Append, headers_of

__all__ = ["BATCH_LIMIT", "Writer"]

#: events of one atomic batch
BATCH_LIMIT = 1000
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_BATCH_ID = "Nats-Batch-Id"
_BATCH_SEQUENCE = "Nats-Batch-Sequence"
_BATCH_COMMIT = "Nats-Batch-Commit"
# The server takes 50 batches in flight per stream and works on one at a time.
_BATCHES = 8
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
_SERVER_BUSY = 503


async def _unguarded() -> None:
    return


class _Ack(msgspec.Struct, frozen=True):
    seq: int


class Writer:
    """Appends to one stream; repeats an append whose acknowledgement was lost for ``retry_seconds``."""

    def __init__(self, connection: Connection, reader: StreamReader, prefix: str, retry_seconds: float) -> None:
        self._connection = connection
        self._reader = reader
        self._prefix = prefix
        self._retry_seconds = retry_seconds
        self._batches = asyncio.Semaphore(_BATCHES)
        #: asked before anything is sent; raises when the stream is not what it was
        self.guard: Callable[[], Awaitable[None]] = _unguarded

    async def append(self, appends: Sequence[Append]) -> list[int]:
        """Write events in one atomic step and return their positions.

        Raises ConflictError when a subject is not where it was expected, LogFullError, and
        UnavailableError when it is unknown whether the events were written.
        """
        if not appends:
            return []
        if len(appends) > BATCH_LIMIT:
            raise InvalidInputError(
                "too many events in one step", expected=f"at most {BATCH_LIMIT}", found=str(len(appends))
            )
        subjects = [subject_for(append.originator_id, self._prefix) for append in appends]
        deadline = time.monotonic() + self._retry_seconds
        with translated("appending to the log"):
            while True:
                step = _Step(appends, subjects, await self._expected(appends, subjects))
                try:
                    last = await self._write(step, deadline)
                except _MovedError as moved:
                    # Whoever has no expectation only lost the race for the pin; with one it is a conflict.
                    pinned = all(append.expected is None for append in appends)
                    if not pinned or time.monotonic() > deadline:
                        raise _conflict(step, moved) from moved
                else:
                    return list(range(last - len(appends) + 1, last + 1))

    async def _expected(self, appends: Sequence[Append], subjects: Sequence[str]) -> dict[str, int]:
        """Return what each subject's last position must be.

        An event without expectation is pinned to the present head, so that repeating it cannot write it twice.
        """
        given: dict[str, int | None] = {}
        for append, subject in zip(appends, subjects, strict=True):
            given.setdefault(subject, append.expected)
        unknown = [subject for subject, expected in given.items() if expected is None]
        heads = await asyncio.gather(*(self._reader.last_of(subject) for subject in unknown))
        pinned = {subject: head.position if head else 0 for subject, head in zip(unknown, heads, strict=True)}
        return {subject: pinned[subject] if expected is None else expected for subject, expected in given.items()}

    async def _write(self, step: _Step, deadline: float) -> int:
        """Return the sequence of the step's last event."""
        uncertain = False
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._connection.connected(deadline)
                await self.guard()
                return await self._send(step)
            except ServerError as error:
                if error.err_code in CONFLICTS:
                    written = await self._written(step) if uncertain else 0
                    if written:
                        return written + len(step.appends) - 1
                    raise _MovedError(str(error)) from error
                if not _passing(error) or time.monotonic() > deadline:
                    raise
            except (
                nats.errors.ConnectionClosedError,
                nats.errors.ConnectionDrainingError,
                nats.errors.MaxPayloadError,
            ):
                raise
            except (nats.errors.Error, LostError) as error:
                uncertain = True
                if time.monotonic() > deadline:
                    raise TimeoutError("no acknowledgement; the events may or may not be written") from error
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 -- spreads retries, guards nothing
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _written(self, step: _Step) -> int:
        """Return the position of the first event when an earlier try did write it, else 0.

        A step is atomic: the first event on its subject after the expected position is either ours, and
        then all of them are written, or somebody else's.
        """
        subject = step.subjects[0]
        found = await self._reader.next_of(subject, step.expected[subject] + 1)
        return found.position if found is not None and found.event_id == step.appends[0].event_id else 0

    async def _send(self, step: _Step) -> int:
        if len(step.appends) == 1:
            (subject,) = step.subjects
            ack = await self._connection.call(subject, step.appends[0].body, _Ack, step.headers(0))
            return ack.seq
        async with self._batches:
            return await self._send_batch(step, secrets.token_hex(12))

    async def _send_batch(self, step: _Step, batch: str) -> int:
        last = len(step.appends) - 1
        for index in range(last):
            headers = {**step.headers(index), _BATCH_ID: batch, _BATCH_SEQUENCE: str(index + 1)}
            await self._connection.client.publish(step.subjects[index], step.appends[index].body, headers=headers)
        headers = {**step.headers(last), _BATCH_ID: batch, _BATCH_SEQUENCE: str(last + 1), _BATCH_COMMIT: "1"}
        ack = await self._connection.call(step.subjects[last], step.appends[last].body, _Ack, headers)
        return ack.seq


class _MovedError(Exception):
    """A subject's last event is not the expected one."""


class _Step:
    """Events that are written together, with the last position each subject must have."""

    def __init__(self, appends: Sequence[Append], subjects: Sequence[str], expected: dict[str, int]) -> None:
        self.appends = appends
        self.subjects = subjects
        self.expected = expected
        self._first = {subject: index for index, subject in reversed(list(enumerate(subjects)))}

    def headers(self, index: int) -> dict[str, str]:
        """Return the headers of one event; the first of each subject carries the expectation."""
        subject = self.subjects[index]
        headers = headers_of(self.appends[index])
        if self._first[subject] == index:
            headers[_EXPECTED] = str(self.expected[subject])
        return headers


def _conflict(step: _Step, moved: Exception) -> ConflictError:
    subjects = list(step.expected)
    return ConflictError(
        "another writer was first",
        expected=f"last position {step.expected[subjects[0]]}" if len(subjects) == 1 else "every subject unchanged",
        found=str(moved),
    )


def _passing(error: ServerError) -> bool:
    """Whether the same step may succeed a moment later."""
    return error.err_code in BATCH_AGAIN or (error.code == _SERVER_BUSY and error.err_code not in FULL)

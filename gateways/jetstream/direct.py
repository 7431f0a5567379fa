"""Reads: one message from the leader, many from any replica."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
import nats.errors
from nats.aio.msg import Msg

from domain.errors import UnavailableError
from domain.sealing import Stored
from gateways.jetstream.connection import REQUEST_SECONDS, Connection, LostError
from gateways.jetstream.errors import ServerError, translated
from gateways.jetstream.streams import originator_for
from gateways.jetstream.wire import Entry, RawMessage, entry_from

__all__ = ["Page", "StreamReader", "StreamSize"]

#: subjects the server resolves in one bulk read
HEADS_PER_REQUEST = 1024
#: messages and bytes of one page; the page bounds memory, not the answer
PAGE_MESSAGES = 1000
PAGE_BYTES = 4 * 1024**2
#: seconds a read is repeated while the log cannot answer
RETRY_SECONDS = 10.0
_PAUSE = 0.1
#: how a bulk read says that one of its messages cannot be read; where there are none it says something else
_UNREADABLE = "Message Not Found"
_AT_ONCE = 32
_NOT_FOUND = 404
_NO_MESSAGE = 10037

T = TypeVar("T")


class Page(msgspec.Struct, frozen=True):
    """Part of an answer: its events in stream order, and whether the server has more."""

    entries: list[Entry]
    more: bool
    up_to: int = 0
    remaining: int = 0
    #: whether the answer was cut off at a message that the server cannot read
    cut_off: bool = False


class _Batch(msgspec.Struct, omit_defaults=True):
    batch: int
    max_bytes: int
    seq: int = 0
    next_by_subj: str = ""
    multi_last: list[str] = []
    up_to_seq: int = 0


class _Get(msgspec.Struct, omit_defaults=True):
    seq: int = 0
    last_by_subj: str = ""
    next_by_subj: str = ""


class _Got(msgspec.Struct, frozen=True):
    message: RawMessage


class StreamSize(msgspec.Struct, frozen=True):
    """What a stream holds: its first and last sequence, messages, and bytes on disk."""

    last_seq: int
    first_seq: int = 0
    messages: int = 0
    bytes: int = 0


class _Deleted(msgspec.Struct, frozen=True):
    deleted: list[int] = []


class _DeletedInfo(msgspec.Struct, frozen=True):
    state: _Deleted


class _Info(msgspec.Struct, frozen=True):
    state: StreamSize


class StreamReader:
    """Reads one stream. Every method raises UnavailableError when the log does not answer within 10 s."""

    def __init__(self, connection: Connection, stream: str, prefix: str) -> None:
        self._connection = connection
        self._stream = stream
        self._prefix = prefix

    # -- from the leader ------------------------------------------------------------------------

    async def last_of(self, subject: str) -> Entry | None:
        """Return the last event of a subject as the leader has it, or None."""
        return await self._message(_Get(last_by_subj=subject))

    async def next_of(self, subject: str, start: int) -> Entry | None:
        """Return the first event of a subject (or filter) at or after ``start``, or None."""
        return await self._message(_Get(seq=max(start, 1), next_by_subj=subject))

    async def last_message(self, subject: str) -> RawMessage | None:
        """Return the last message of a subject as the leader has it, or None."""
        return await self.raw(msgspec.json.encode(_Get(last_by_subj=subject)))

    async def last_sequence(self) -> int:
        """Return the last sequence of the stream, 0 when it is empty."""
        return (await self.size()).last_seq

    async def size(self) -> StreamSize:
        """Return how much the stream holds."""
        subject = f"$JS.API.STREAM.INFO.{self._stream}"
        info = await self._again("reading the log's state", lambda: self._connection.call(subject, b"", _Info))
        return info.state

    async def deleted(self) -> list[int]:
        """Return the positions that the server knows to hold nothing."""
        subject, request = f"$JS.API.STREAM.INFO.{self._stream}", msgspec.json.encode({"deleted_details": True})
        info = await self._again(
            "reading the log's state", lambda: self._connection.call(subject, request, _DeletedInfo)
        )
        return info.state.deleted

    async def raw(self, get: bytes) -> RawMessage | None:
        """Return a stored message by a MSG.GET request, or None."""
        subject = f"$JS.API.STREAM.MSG.GET.{self._stream}"

        async def read() -> RawMessage | None:
            try:
                return (await self._connection.call(subject, get, _Got)).message
            except ServerError as error:
                if error.err_code == _NO_MESSAGE or (error.code == _NOT_FOUND and not error.err_code):
                    return None
                raise

        return await self._again("reading the log", read)

    async def _message(self, get: _Get) -> Entry | None:
        found = await self.raw(msgspec.json.encode(get))
        if found is None:
            return None
        return entry_from(found.subject, found.seq, found.headers(), found.body(), self._prefix)

    # -- from any replica -----------------------------------------------------------------------

    async def after(self, subject: str, start: int, limit: int) -> Page:
        """Return up to ``limit`` events of a subject filter from sequence ``start``, perhaps fewer than there are."""
        batch = _Batch(batch=min(limit, PAGE_MESSAGES), max_bytes=PAGE_BYTES, seq=max(start, 1), next_by_subj=subject)
        return await self._page(batch)

    async def last_of_each(self, subjects: Sequence[str]) -> list[Entry]:
        """Return the last event of each of up to 1,024 subjects that have one."""
        found: list[Entry] = []
        start = up_to = 0
        while True:
            batch = _Batch(
                batch=HEADS_PER_REQUEST, max_bytes=PAGE_BYTES, seq=start, multi_last=list(subjects), up_to_seq=up_to
            )
            page = await self._page(batch)
            found += page.entries
            if page.cut_off:
                return found + await self._one_by_one(subjects, found)
            if not page.more or not page.entries:
                return found
            # The next page must see the same stream: a subject that moved on would be missed.
            start, up_to = page.entries[-1].position + 1, page.up_to

    async def _one_by_one(self, subjects: Sequence[str], known: Sequence[Entry]) -> list[Entry]:
        """Return the last events of the subjects that are not among the known: one that is damaged hides no other."""
        have = {entry.originator_id for entry in known}
        asked = [subject for subject in subjects if originator_for(subject, self._prefix) not in have]
        found: list[Entry] = []
        for start in range(0, len(asked), _AT_ONCE):
            part = await asyncio.gather(*(self.last_of(subject) for subject in asked[start : start + _AT_ONCE]))
            found += [entry for entry in part if entry is not None]
        return found

    async def _page(self, batch: _Batch) -> Page:
        body = msgspec.json.encode(batch)
        return await self._again("reading the log", lambda: self._read_page(body))

    async def stored(self, start: int, limit: int) -> list[Stored]:
        """Return up to ``limit`` messages of the whole stream from sequence ``start`` as they are stored, maybe fewer.

        What the server cannot read any more is left out, as if it had never been: positions tell.
        """
        subject = f"{self._prefix}.>"
        batch = _Batch(batch=min(limit, PAGE_MESSAGES), max_bytes=PAGE_BYTES, seq=max(start, 1), next_by_subj=subject)
        body = msgspec.json.encode(batch)
        messages, _ = await self._again("reading the log", lambda: self._read_messages(body))
        return [_stored(message) for message in messages]

    async def stored_at(self, position: int) -> Stored | None:
        """Return the message at a position as the leader stores it, or None."""
        return _of_raw(await self.raw(msgspec.json.encode(_Get(seq=position))))

    async def stored_next(self, start: int) -> Stored | None:
        """Return the first message at or after ``start`` as the leader stores it, or None."""
        return _of_raw(await self.raw(msgspec.json.encode(_Get(seq=max(start, 1), next_by_subj=f"{self._prefix}.>"))))

    async def _read_page(self, body: bytes) -> Page:
        messages, end = await self._read_messages(body)
        entries = [self._entry(message, message.headers or {}) for message in messages]
        return _page(end, entries)

    async def _read_messages(self, body: bytes) -> tuple[list[Msg], dict[str, str]]:
        """Return the messages of one page, and the headers of what ended it."""
        messages: list[Msg] = []
        async with self._connection.replies(f"$JS.API.DIRECT.GET.{self._stream}", body) as queue:
            while True:
                try:
                    async with asyncio.timeout(REQUEST_SECONDS):
                        message = await queue.get()
                except TimeoutError:
                    raise nats.errors.TimeoutError from None
                if message is None:
                    raise LostError
                headers = message.headers or {}
                if headers.get("Status", ""):
                    return messages, _checked(headers)
                messages.append(message)

    def _entry(self, message: Msg, headers: dict[str, str]) -> Entry:
        position = int(headers["Nats-Sequence"])
        return entry_from(headers["Nats-Subject"], position, headers, message.data, self._prefix)

    # -- repeating ------------------------------------------------------------------------------

    async def _again(self, doing: str, read: Callable[[], Awaitable[T]]) -> T:
        """Repeat a read until it answers or 10 s have passed; a read changes nothing."""
        deadline = time.monotonic() + RETRY_SECONDS
        with translated(doing):
            while True:
                try:
                    await self._connection.connected(deadline)
                    return await read()
                except nats.errors.ConnectionClosedError:
                    raise
                except (nats.errors.Error, ServerError) as error:
                    if time.monotonic() + _PAUSE > deadline or _final(error):
                        raise
                except LostError:
                    continue
                await asyncio.sleep(_PAUSE)


def _stored(message: Msg) -> Stored:
    headers = dict(message.headers or {})
    return Stored(int(headers["Nats-Sequence"]), headers["Nats-Subject"], headers, message.data)


def _of_raw(message: RawMessage | None) -> Stored | None:
    return None if message is None else Stored(message.seq, message.subject, message.headers(), message.body())


def _checked(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers that end a page, or raise for those that say that there is none."""
    match headers["Status"]:
        case "204" | "404":
            return headers
        case "503":
            raise nats.errors.NoRespondersError
    found = f"{headers['Status']} {headers.get('Description', '')}"
    raise UnavailableError("the log refused a read", expected="a page of events", found=found)


def _page(headers: dict[str, str], entries: list[Entry]) -> Page:
    if headers["Status"] != "204":
        return Page(entries, more=False, cut_off=headers.get("Description") == _UNREADABLE)
    remaining = int(headers.get("Nats-Num-Pending", "0"))
    return Page(entries, remaining > 0, int(headers.get("Nats-UpTo-Sequence", "0")), remaining)


def _final(error: Exception) -> bool:
    # 4xx answers (a missing stream, a denied subject) do not change by asking again.
    return isinstance(error, ServerError) and error.code < 500  # noqa: PLR2004 -- HTTP's classes

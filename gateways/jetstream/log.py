"""The log: append with expectations, read, tail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from domain.errors import DamagedError
from domain.sealing import SYSTEM
from gateways.jetstream.appending import BATCH_LIMIT, Writer
from gateways.jetstream.connection import Connection
from gateways.jetstream.direct import HEADS_PER_REQUEST, StreamReader, StreamSize
from gateways.jetstream.streams import EVENTS_PREFIX, LOG_STREAM, filter_for, subject_for
from gateways.jetstream.stretch import Place, stretch
from gateways.jetstream.tail import OrderedReader
from gateways.jetstream.wire import Append, Entry, Tail

__all__ = ["BATCH_LIMIT", "Append", "Entry", "Log", "Tail"]

#: seconds an append is repeated after a lost acknowledgement; outages of three replicas last 4 to 8
APPEND_SECONDS = 15.0


class Log:
    """One stream of events, over a connection it shares or (with ``owns``) closes with itself.

    Every method raises UnavailableError when the log does not answer in time.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        stream: str = LOG_STREAM,
        prefix: str = EVENTS_PREFIX,
        retry_seconds: float = APPEND_SECONDS,
        owns: bool = False,
    ) -> None:
        self.connection = connection
        self.stream = stream
        self._prefix = prefix
        self._owns = owns
        self._reader = StreamReader(connection, stream, prefix)
        self._writer = Writer(connection, self._reader, prefix, retry_seconds)
        #: why nothing more is written, empty while all is well
        self.halted = ""
        #: the last position that is known to have been written
        self.reached = 0

    def guard_with(self, guard: Callable[[], Awaitable[None]]) -> None:
        """Let ``guard`` be asked before anything is sent; it raises when the stream is not what it was."""
        self._writer.guard = guard

    def halt(self, reason: str) -> None:
        """Write nothing more from here on: the log is not what was written to it."""
        self.halted = self.halted or reason

    def check_sound(self) -> None:
        """Raise DamagedError when the log was found not to be what was written to it."""
        if self.halted:
            raise DamagedError(self.halted, expected="the log as it was written", found="another")

    async def append(self, appends: Sequence[Append]) -> list[int]:
        """Write up to 1,000 events in one atomic step and return their positions, in order.

        Raises ConflictError when a subject's last event is not the expected one, LogFullError when the
        stream is full, InvalidInputError for more than 1,000 events or one over 1 MiB, DamagedError when the log was
        found damaged or shortened.
        """
        self.check_sound()
        positions = await self._writer.append(appends)
        self.reached = max([self.reached, *positions])
        return positions

    async def head(self, originator_id: str) -> Entry | None:
        """Return an aggregate's last event as the leader has it, or None."""
        return await self._reader.last_of(subject_for(originator_id, self._prefix))

    async def heads(self, originator_ids: Sequence[str]) -> dict[str, Entry]:
        """Return the last event of every aggregate that has one.

        Read from any replica: what was acknowledged a moment ago may be missing on a cluster, so a writer
        that relies on it states its expectation.
        """
        subjects = [subject_for(one, self._prefix) for one in dict.fromkeys(originator_ids)]
        found: dict[str, Entry] = {}
        for chunk in _chunks(subjects):
            found.update({entry.originator_id: entry for entry in await self._reader.last_of_each(chunk)})
        return found

    async def events(self, originator_id: str, after_version: int = 0, *, after_position: int = 0) -> list[Entry]:
        """Return an aggregate's events with a version above ``after_version``, up to the leader's head.

        ``after_position`` is where the reading starts when the caller knows the position of that version.
        """
        subject = subject_for(originator_id, self._prefix)
        head, first = await asyncio.gather(
            self._reader.last_of(subject), self._reader.after(subject, after_position + 1, BATCH_LIMIT)
        )
        if head is None or head.position <= after_position or head.version <= after_version:
            return []
        entries = [entry for entry in first.entries if entry.position <= head.position]
        await self._complete(subject, entries, head, after_position)
        return [entry for entry in entries if entry.version > after_version]

    async def _complete(self, subject: str, entries: list[Entry], head: Entry, after: int) -> None:
        """Read on until the head is there; a replica that lags behind is made up for by the leader."""
        while (last := entries[-1].position if entries else after) < head.position:
            page = await self._reader.after(subject, last + 1, BATCH_LIMIT)
            more = [entry for entry in page.entries if entry.position <= head.position]
            if not more:
                found = await self._reader.next_of(subject, last + 1)
                more = [found] if found is not None else [head]
            entries += more

    async def read(self, after: int, limit: int, profile: str | None = None) -> list[Entry]:
        """Return up to ``limit`` events after a position in stream order, of one profile or of all."""
        subject = filter_for(profile, self._prefix)
        entries: list[Entry] = []
        while len(entries) < limit:
            start = (entries[-1].position if entries else after) + 1
            page = await self._reader.after(subject, start, limit - len(entries))
            entries += page.entries
            if not entries and (found := await self._reader.next_of(subject, start)) is not None:
                # "Nothing more" is the leader's to say: a replica that lags behind would let a caller skip events.
                entries.append(found)
                continue
            if not page.more or not page.entries:
                break
        return entries

    async def category(self, category: str, profile: str | None = None) -> list[Entry]:
        """Return every event whose aggregate is of a category, of one profile or of all, in stream order."""
        subject = f"{self._prefix}.*.{profile or '*'}.{category}.*"
        entries: list[Entry] = []
        while True:
            start = entries[-1].position + 1 if entries else 1
            page = await self._reader.after(subject, start, BATCH_LIMIT)
            entries += page.entries
            if page.more and page.entries:
                continue
            found = await self._reader.next_of(subject, entries[-1].position + 1 if entries else 1)
            if found is None:
                return entries
            entries.append(found)

    async def next(self, after: int, profile: str) -> Entry | None:
        """Return a profile's first event after a position as the leader has it, or None."""
        return await self._reader.next_of(filter_for(profile, self._prefix), after + 1)

    async def event_id_at(self, position: int) -> str:
        """Return the id of the event at a position, empty where there is none."""
        entries = await self.read(position - 1, 1)
        return entries[0].event_id if entries and entries[0].position == position else ""

    async def count_after(self, after: int, profile: str) -> int:
        """Return how many events of a profile lie after a position."""
        page = await self._reader.after(filter_for(profile, self._prefix), after + 1, 1)
        return len(page.entries) + page.remaining

    async def newest(self, category: str) -> Entry | None:
        """Return the newest event of a category that belongs to no profile, as the leader has it, or None."""
        return await self._reader.last_of(self._of_nobody(category))

    async def read_category(self, category: str, after: int, limit: int) -> list[Entry]:
        """Return up to ``limit`` events of a category that belongs to no profile, after a position, in order."""
        return (await self._reader.after(self._of_nobody(category), after + 1, limit)).entries

    def _of_nobody(self, category: str) -> str:
        return f"{filter_for(SYSTEM, self._prefix).removesuffix('>')}{category}.>"

    def stretch(self, first: int, last: int) -> AsyncGenerator[Place]:
        """Read every position from ``first`` to ``last`` as it is stored; what is missing is seen."""
        return stretch(self._reader, first, last)

    async def last_position(self) -> int:
        """Return the position of the last event of the log, 0 when it is empty."""
        return await self._reader.last_sequence()

    async def size(self) -> StreamSize:
        """Return the log's last position, how many events it holds, and their bytes on disk."""
        return await self._reader.size()

    async def deleted(self) -> list[int]:
        """Return the positions that the server knows to hold nothing any more."""
        return await self._reader.deleted()

    def tail(self, after: int, profile: str | None = None, batch: int = 256) -> AsyncGenerator[Tail, None]:
        """Follow the log from a position for ever, in order, up to ``batch`` events at a time.

        ``passed`` of each step is the position that is behind the reader; it moves without events too,
        for a filtered reader within a second. Survives reconnects with nothing missed and nothing repeated.
        """
        subject = filter_for(profile, self._prefix)
        return OrderedReader(self.connection, self.stream, self._prefix, subject, after, batch).run()

    async def close(self) -> None:
        """Finish what is under way and close the connection when it is this log's own."""
        if self._owns:
            await self.connection.close()


def _chunks(subjects: Sequence[str]) -> list[Sequence[str]]:
    return [subjects[start : start + HEADS_PER_REQUEST] for start in range(0, len(subjects), HEADS_PER_REQUEST)]

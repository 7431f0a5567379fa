"""Exports: the lines of a file, asked for page by page; a part of the client."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Self

import msgspec

from umbriel._errors import InvalidInputError, MismatchError
from umbriel._transport import Transport
from umbriel.exports import (
    FORMAT,
    HEADER,
    TRAILER,
    ExportReply,
    ExportRequest,
    Header,
    HeaderData,
    Trailer,
    TrailerData,
    data_schema,
)

__all__ = ["Export", "ExportVerbs"]

_READ = 60.0
_Ask = Callable[[ExportRequest], Awaitable[ExportReply]]


class _Seen(msgspec.Struct, frozen=True):
    """What is counted of a line."""

    type: str
    umbrielposition: str = ""


class Export(AsyncIterator[bytes]):
    """The lines of one export, each with its line feed: a header, the events in the log's order, a trailer.

    It holds one page. ``position`` is how far it is and ``until`` where it ends, empty before the first line.
    """

    def __init__(self, ask: _Ask, request: ExportRequest, *, profile: str, principal: str) -> None:
        self._ask = ask
        self._request = request
        self._profile = profile
        self._principal = principal
        self._lines: deque[bytes] = deque()
        self._digest = hashlib.sha256()
        self._types: Counter[str] = Counter()
        self._begun = self._done = self._ended = False
        self.position = request.after
        self.until = request.until

    @property
    def events(self) -> int:
        """How many events there were so far."""
        return self._types.total()

    def resume(self, lines: Iterable[bytes]) -> Self:
        """Take up an export that was cut off: ``lines`` are those that were written whole, header first.

        What is left out and where it ends is as it was. Raises InvalidInputError for lines of no export, and
        MismatchError for those of another profile.
        """
        for line in lines:
            if not self._begun:
                self._go_on(_header(line))
            else:
                self._count(line)
            self._digest.update(line)
        return self

    def _go_on(self, data: HeaderData) -> None:
        if data.profile != self._profile:
            raise MismatchError("this is the export of another profile", expected=self._profile, found=data.profile)
        names = ("kinds", "contact", "since", "before", "encrypted", "vectors", "until")
        self._request = ExportRequest(**{name: getattr(data, name) for name in names})
        self._begun, self.until, self.position = True, data.until, data.after

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._ended:
            raise StopAsyncIteration
        while not self._lines and not self._done:
            await self._fetch()
        if not self._lines:
            self._ended = True
            return self._trailer()
        line = self._lines.popleft()
        self._digest.update(line)
        return line

    async def _fetch(self) -> None:
        request = msgspec.structs.replace(self._request, after=self.position, until=self.until)
        reply = await self._ask(request)
        self.until, self._done = reply.until, reply.done
        if not self._begun:
            self._begun = True
            self._lines.append(self._header())
        for raw in reply.lines:
            line = bytes(raw) + b"\n"
            self._count(line)
            self._lines.append(line)
        self.position = reply.position

    def _count(self, line: bytes) -> None:
        try:
            seen = msgspec.json.decode(line, type=_Seen)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInputError(
                "this is no line of an export", expected="a CloudEvent", found=str(error)
            ) from error
        self._types[seen.type] += 1
        self.position = seen.umbrielposition or self.position

    def _header(self) -> bytes:
        asked = self._request
        data = HeaderData(
            format=FORMAT,
            profile=self._profile,
            log=self.until.rpartition(":")[0],
            encrypted=asked.encrypted,
            vectors=asked.vectors,
            after=asked.after,
            until=self.until,
            kinds=list(asked.kinds),
            contact=asked.contact,
            since=asked.since,
            before=asked.before,
            principal=self._principal,
        )
        return _encoded(Header(**_clear(HEADER, self._profile, data), data=data))

    def _trailer(self) -> bytes:
        data = TrailerData(
            events=self.events,
            types=dict(sorted(self._types.items())),
            position=self.position,
            sha256=self._digest.hexdigest(),
        )
        return _encoded(Trailer(**_clear(TRAILER, self._profile, data), data=data))


def _header(line: bytes) -> HeaderData:
    try:
        return msgspec.json.decode(line, type=Header).data
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError("this is no export", expected="its header", found=str(error)) from error


def _clear(topic: str, profile: str, data: msgspec.Struct) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": hashlib.sha256(msgspec.json.encode(data)).hexdigest()[:32],
        "source": f"umbriel/{profile}",
        "type": topic,
        "time": datetime.now(UTC),
        "dataschema": data_schema(topic, FORMAT),
        "datacontenttype": "application/json",
    }


def _encoded(line: Header | Trailer) -> bytes:
    return msgspec.json.encode(line) + b"\n"


class ExportVerbs:
    """Take a profile's events out."""

    _transport: Transport
    _profile: str

    def export(
        self,
        *,
        after: str = "",
        until: str = "",
        kinds: Iterable[str] = (),
        contact: str = "",
        since: datetime | None = None,
        before: datetime | None = None,
        encrypted: bool = False,
        vectors: bool = True,
        timeout: float = _READ,
    ) -> Export:
        """Return the lines of an export, to be written one after the other: JSON Lines of CloudEvents 1.0.

        It is what a feed of the caller shows of the events after ``after``, up to ``until`` or the log's end now, with
        ``kinds`` (categories, all by default), of one ``contact``, recorded from ``since`` until ``before``. What was
        forgotten is left out of the events that said it. ``encrypted`` takes bodies as they are stored, readable only
        where their keys are; without ``vectors`` embeddings come without them and are computed anew on import.
        """
        request = ExportRequest(
            after=after,
            until=until,
            kinds=list(kinds),
            contact=contact,
            since=since,
            before=before,
            encrypted=encrypted,
            vectors=vectors,
        )

        async def ask(page: ExportRequest) -> ExportReply:
            return await self._transport.call(
                self._profile, "export", page, ExportReply, timeout=timeout, idempotent=True
            )

        return Export(ask, request, profile=self._profile, principal=self._transport.principal)

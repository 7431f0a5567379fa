"""Exports: the lines of a file, asked for page by page; a part of the client."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Self

import msgspec

from umbriel._errors import InvalidInputError, MismatchError
from umbriel._split import sequence_of
from umbriel._transport import Transport
from umbriel.exports import (
    FORMAT,
    HEADER,
    SEAL,
    TRAILER,
    UNPROVEN,
    ExportReply,
    ExportRequest,
    Header,
    HeaderData,
    SealLine,
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
        #: lines that no seal stands behind yet, and where the seal over them ends
        self._open: list[int] = []
        self._end = 0
        self._public_key = self._proof = ""
        self._previous = request.after
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
            elif self._count(line) == SEAL:
                self._open = []
            elif self._request.proofs:
                self._open.append(sequence_of(self._previous))
            self._digest.update(line)
        return self

    def _go_on(self, data: HeaderData) -> None:
        if data.profile != self._profile:
            raise MismatchError("this is the export of another profile", expected=self._profile, found=data.profile)
        names = ("kinds", "contact", "since", "before", "encrypted", "vectors", "until")
        asked = {name: getattr(data, name) for name in names}
        self._request = ExportRequest(**asked, proofs=bool(data.public_key))
        self._begun, self.until, self.position, self._previous = True, data.until, data.after, data.after
        self._public_key = data.public_key

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
        if request.proofs:
            request = msgspec.structs.replace(request, previous=self._previous)
        reply = await self._ask(request)
        self._check_key(reply)
        self.until, self._done, self._proof = reply.until, reply.done, reply.end
        if not self._begun:
            self._begun = True
            self._lines.append(self._header())
        if self._open:
            self._end = _end_of(reply.ends, self._open[-1])
        for raw in reply.lines:
            await self._take(bytes(raw) + b"\n", reply.ends)
        self.position = reply.position
        if self._done and self._open:
            await self._close()

    def _check_key(self, reply: ExportReply) -> None:
        if self._public_key and reply.public_key != self._public_key:
            raise MismatchError(
                "the service signs with another key than it did; begin the export anew",
                expected=self._public_key,
                found=reply.public_key or "none",
            )
        self._public_key = reply.public_key

    async def _take(self, line: bytes, ends: list[int]) -> None:
        self._count(line)
        at = sequence_of(self.position) if self._request.proofs else 0
        if self._open and at > self._end:
            await self._close()
        if at:
            self._end = self._end if self._open else _end_of(ends, at)
            self._open.append(at)
        self._lines.append(line)

    async def _close(self) -> None:
        """Put the seal behind the lines that it covers."""
        reply = await self._ask(msgspec.structs.replace(self._request, stretch=_ranges(self._open)))
        if reply.seal is None:
            raise MismatchError("the service knows no proofs", expected="a seal", found="none")
        self._open = []
        self._lines.append(_encoded(SealLine(**_clear(SEAL, self._profile, reply.seal), data=reply.seal)))

    def _count(self, line: bytes) -> str:
        try:
            seen = msgspec.json.decode(line, type=_Seen)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInputError(
                "this is no line of an export", expected="a CloudEvent", found=str(error)
            ) from error
        if seen.type != SEAL:
            self._types[seen.type] += 1
            self.position = self._previous = seen.umbrielposition or self.position
        return seen.type

    def _header(self) -> bytes:
        asked = self._request
        data = HeaderData(
            format=FORMAT if self._public_key else UNPROVEN,
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
            public_key=self._public_key,
        )
        return _encoded(Header(**_clear(HEADER, self._profile, data), data=data))

    def _trailer(self) -> bytes:
        data = TrailerData(
            events=self.events,
            types=dict(sorted(self._types.items())),
            position=self.position,
            sha256=self._digest.hexdigest(),
            proof=self._proof,
        )
        return _encoded(Trailer(**_clear(TRAILER, self._profile, data), data=data))


def _end_of(ends: Iterable[int], position: int) -> int:
    return next((end for end in ends if end >= position), 0)


def _ranges(positions: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending positions as ranges, first and last."""
    ranges: list[tuple[int, int]] = []
    for one in positions:
        follows = bool(ranges) and one == ranges[-1][1] + 1
        ranges[-1:] = [(ranges[-1][0], one)] if follows else [*ranges[-1:], (one, one)]
    return ranges


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
        "dataschema": data_schema(topic, UNPROVEN),
        "datacontenttype": "application/json",
    }


def _encoded(line: Header | SealLine | Trailer) -> bytes:
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
        proofs: bool = False,
        timeout: float = _READ,
    ) -> Export:
        """Return the lines of an export, to be written one after the other: JSON Lines of CloudEvents 1.0.

        It is what a feed of the caller shows of the events after ``after``, up to ``until`` or the log's end now, with
        ``kinds`` (categories, all by default), of one ``contact``, recorded from ``since`` until ``before``. What was
        forgotten is left out of the events that said it. ``encrypted`` takes bodies as they are stored, readable only
        where their keys are; without ``vectors`` embeddings come without them and are computed anew on import. With
        ``proofs`` the file shows that each line is what was sealed, and that none is missing; ``umbriel
        verify --export`` checks that and asks nobody.
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
            proofs=proofs,
        )

        async def ask(page: ExportRequest) -> ExportReply:
            return await self._transport.call(
                self._profile, "export", page, ExportReply, timeout=timeout, idempotent=True
            )

        return Export(ask, request, profile=self._profile, principal=self._transport.principal)

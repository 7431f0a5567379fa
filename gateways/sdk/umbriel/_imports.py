"""The verb that takes an export over; a part of the client."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from umbriel._errors import InvalidInputError, MismatchError
from umbriel._export_file import ExportFile, position_of
from umbriel._split import sequence_of
from umbriel._transport import Transport
from umbriel.imports import ImportLine, ImportOutcome, ImportProofs, ImportReply, ImportReport, ImportRequest

__all__ = ["ImportVerbs"]

_WRITE = 120.0
#: lines and bytes of one request, below what one message may carry
_LINES = 400
_BYTES = 850_000
#: outcomes listed in a report
_LISTED = 10_000
_Doing = Literal["reading", "checking", "importing"]
#: What is being done, how much of it is done, and of how much.
Progress = Callable[[_Doing, int, int], None]


def _unseen(doing: str, done: int, total: int) -> None:
    del doing, done, total


def _check_trust(file: ExportFile, trust: str) -> None:
    found = file.header.public_key
    if trust and not found:
        raise InvalidInputError("this file has no proofs", expected=f"proofs by {trust}", found="none")
    if trust and found.lower() != trust.lower():
        raise MismatchError("line 1: the proofs are by another key", expected=trust, found=found)


class _Run:
    """One import by this client: what was done of it."""

    def __init__(
        self, verbs: ImportVerbs, request: ImportRequest, file: ExportFile, timeout: float, progress: Progress
    ) -> None:
        self._verbs = verbs
        self._request = request
        self._file = file
        self._timeout = timeout
        self._progress = progress
        self._seals = 0
        self._last = 0
        self.counts: Counter[str] = Counter()
        self.outcomes: list[ImportOutcome] = []
        self.position = ""

    async def pages(self, mode: Literal["check", "write"]) -> None:
        """Hand over every line, to be checked or written."""
        doing: _Doing = "checking" if mode == "check" else "importing"
        done, self._last = 0, sequence_of(self._file.header.after)
        for page in self._file.pages(most=_LINES, max_bytes=_BYTES):
            reply = await self._verbs._import(self._with(previous=self._last), mode, page, self._timeout)  # noqa: SLF001
            self._last = position_of(page[-1]) if self._request.proofs else 0
            done, self.position = done + len(page), reply.position
            self._progress(doing, done, self._file.trailer.events)
            if mode == "write":
                self.counts.update(reply.counts)
                self.outcomes += reply.outcomes[: _LISTED - len(self.outcomes)]

    async def check_proofs(self) -> ImportRequest:
        """Hand over every seal and the end; returns the request with what was verified, which `pages` goes on with."""
        if self._request.proofs is None:
            return self._request
        ask, last = self._verbs._import, ""  # noqa: SLF001
        end = self._file.trailer_line, self._file.trailer.proof
        await ask(self._with(end=end, previous=self._last), "check", (), self._timeout)
        for seal in self._file.stretches():
            last = (await ask(self._with(seal=seal), "check", (), self._timeout)).seal
            self._seals += 1
        if self._file.problem is not None:
            raise self._file.problem
        self._request = self._with(lines=self._file.trailer.events, seals=self._seals, last_seal=last)
        return self._request

    def _with(self, **proofs: object) -> ImportRequest:
        if self._request.proofs is None:
            return self._request
        return replace(self._request, proofs=replace(self._request.proofs, **proofs))

    def report(self, profile: str, *, checked_only: bool) -> ImportReport:
        """Return what became of it."""
        header, trailer, counts = self._file.header, self._file.trailer, self.counts
        return ImportReport(
            profile=profile,
            source=header.profile,
            run=trailer.sha256,
            events=trailer.events,
            counts=dict(counts),
            outcomes=self.outcomes,
            position=self.position,
            checked_only=checked_only,
            omitted=sum(counts[one] for one in ("blocked", "erased", "conflict", "skipped")) - len(self.outcomes),
            public_key=header.public_key,
            pinned=bool(self._request.proofs and self._request.proofs.pinned),
            verified=trailer.events if header.public_key else 0,
            seals=self._seals,
        )


class ImportVerbs:
    """Take an export over into the client's profile."""

    _transport: Transport
    _profile: str

    async def import_export(
        self,
        path: str | Path,
        *,
        check: bool = False,
        trust: str = "",
        progress: Progress = _unseen,
        timeout: float = _WRITE,
    ) -> ImportReport:
        """Import the file of an export into the client's profile, or with ``check`` only read it strictly.

        The whole file is checked before anything is written: its hash, its counts, its proofs, and each line by the
        service. Ids, times, authors and chains stay. Done again, it changes nothing; cut off, it is finished by doing
        it again. The profile is not thought about until it is finished. ``trust`` is the public key (hex) whose proofs
        the file must have; without it proofs are held against the key that the file names. Raises InvalidInputError or
        DamagedError naming the line that does not fit, RefusedError for anybody but a person who administers the
        profile.
        """
        file = await asyncio.to_thread(ExportFile, Path(path), lambda done, total: progress("reading", done, total))
        _check_trust(file, trust)
        header, trailer = file.header, file.trailer
        proofs = ImportProofs(header=header, pinned=bool(trust)) if header.public_key else None
        request = ImportRequest(run=trailer.sha256, source=header.profile, log=header.log, proofs=proofs)
        run = _Run(self, request, file, timeout, progress)
        await run.pages("check")
        request = await run.check_proofs()
        if not check:
            await run.pages("write")
            run.position = (await self._import(request, "finish", (), timeout, run.counts)).position
        return run.report(self._profile, checked_only=check)

    async def abandon_import(self, *, timeout: float = _WRITE) -> ImportReply:
        """Give up an import that was cut off and will not be finished; what has come stays and is thought about."""
        return await self._import(ImportRequest(), "abandon", (), timeout)

    async def _import(
        self,
        request: ImportRequest,
        mode: str,
        page: Sequence[ImportLine],
        timeout: float,
        counts: Counter[str] | None = None,
    ) -> ImportReply:
        part = ImportRequest(
            run=request.run,
            mode=mode,  # type: ignore[arg-type]
            lines=list(page),
            source=request.source,
            log=request.log,
            counts=dict(counts or {}),
            proofs=request.proofs,
        )
        return await self._transport.call(self._profile, "import", part, ImportReply, timeout=timeout)

"""The verb that takes an export over; a part of the client."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from umbriel._export_file import ExportFile
from umbriel._transport import Transport
from umbriel.imports import ImportLine, ImportOutcome, ImportReply, ImportReport, ImportRequest

__all__ = ["ImportVerbs"]

_WRITE = 120.0
#: lines and bytes of one request, below what one message may carry
_LINES = 400
_BYTES = 850_000
#: outcomes listed in a report
_LISTED = 10_000
#: What is being done, how much of it is done, and of how much.
Progress = Callable[[Literal["reading", "checking", "importing"], int, int], None]


def _unseen(doing: str, done: int, total: int) -> None:
    del doing, done, total


class ImportVerbs:
    """Take an export over into the client's profile."""

    _transport: Transport
    _profile: str

    async def import_export(
        self, path: str | Path, *, check: bool = False, progress: Progress = _unseen, timeout: float = _WRITE
    ) -> ImportReport:
        """Import the file of an export into the client's profile, or with ``check`` only read it strictly.

        The whole file is checked before anything is written: its hash, its counts, and each line by the service. Ids,
        times, authors and chains stay. Done again, it changes nothing; cut off, it is finished by doing it again. The
        profile is not thought about until it is finished. Raises InvalidInputError naming the line that does not fit,
        RefusedError for anybody but a person who administers the profile.
        """
        file = await asyncio.to_thread(ExportFile, Path(path), lambda done, total: progress("reading", done, total))
        header, trailer = file.header, file.trailer
        request = ImportRequest(run=trailer.sha256, source=header.profile, log=header.log)
        done, counts, outcomes, position = 0, Counter[str](), list[ImportOutcome](), ""
        for doing, mode in (("checking", "check"), ("importing", "write")):
            if mode == "write" and check:
                break
            done = 0
            for page in file.pages(most=_LINES, max_bytes=_BYTES):
                reply = await self._import(request, mode, page, timeout)
                done, position = done + len(page), reply.position
                progress(doing, done, trailer.events)  # type: ignore[arg-type]
                if mode == "write":
                    counts.update(reply.counts)
                    outcomes += reply.outcomes[: _LISTED - len(outcomes)]
        if not check:
            position = (await self._import(request, "finish", (), timeout, counts)).position
        return ImportReport(
            profile=self._profile,
            source=header.profile,
            run=trailer.sha256,
            events=trailer.events,
            counts=dict(counts),
            outcomes=outcomes,
            position=position,
            checked_only=check,
            omitted=sum(counts[one] for one in ("blocked", "erased", "conflict", "skipped")) - len(outcomes),
        )

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
        )
        return await self._transport.call(self._profile, "import", part, ImportReply, timeout=timeout)

"""The two passes over a window: what each chunk states, with the lines that state it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from domain.errors import DamagedError, InvalidInputError, RefusedError
from domain.settings import ExtractionLimits
from domain.transcript import Candidate, Dropped, Line
from gateways.extraction.chat.asking import Asker, together
from gateways.extraction.chat.chunks import Chunk, chunks, detail_chunks, halved, indexes
from gateways.extraction.chat.prompts import DETAIL, FULL, shown_chunk
from gateways.extraction.chat.screening import one_line
from gateways.extraction.chat.shapes import Statements
from gateways.extraction.hygiene import readable

__all__ = ["Reading", "candidates", "joined", "read", "readable_lines"]

Pass = Literal["full", "detail"]
_SYSTEM = {"full": FULL, "detail": DETAIL}


class Reading(msgspec.Struct, frozen=True):
    """What was made of some chunks; ``damaged`` when no answer to any of them could be read."""

    items: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    damaged: bool = False


def readable_lines(lines: Iterable[Line]) -> list[Line]:
    """Return the lines that may be read: none of a system prompt, none blank, without recalled text.

    How much of a tool's output is noise was decided when the window was made.
    """
    kept = []
    for line in lines:
        text = readable(line.role, line.text, tool_chars=len(line.text))
        if text:
            kept.append(line if text == line.text else msgspec.structs.replace(line, text=text))
    return kept


async def read(lines: Sequence[Line], asker: Asker, limits: ExtractionLimits) -> Reading:
    """Return what both passes find; the detail pass runs beside the full one from ``detail_from`` own lines on."""
    work = [_read(chunk, "full", asker) for chunk in chunks(lines, size=limits.chunk_chars, overlap=limits.overlap)]
    if sum(not line.context for line in lines) >= limits.detail_from:
        work += [
            _read(chunk, "detail", asker)
            for chunk in detail_chunks(lines, size=limits.chunk_chars, overlap=limits.overlap)
        ]
    return joined(await together(work))


def candidates(answer: Statements, chunk: Chunk, found_by: Pass) -> tuple[Candidate, ...]:
    """Return the statements of an answer, citing only lines of the chunk that it answers."""
    given = indexes(chunk)
    return tuple(
        Candidate(
            text=one_line(one.text),
            lines=tuple(sorted(given & set(one.lines or ()))),
            fact_type=one.type or "",
            found_by=found_by,
        )
        for one in answer.items or ()
    )


def joined(readings: Sequence[Reading]) -> Reading:
    """Return several readings as one."""
    return Reading(
        tuple(item for one in readings for item in one.items),
        tuple(item for one in readings for item in one.dropped),
        bool(readings) and all(one.damaged for one in readings),
    )


async def _read(chunk: Chunk, which: Pass, asker: Asker) -> Reading:
    try:
        answer = await asker.ask(which, _SYSTEM[which], shown_chunk(chunk), Statements)
    except RefusedError:
        return Reading(dropped=(_unread(chunk, which, "the model declined"),))
    except DamagedError:
        return Reading(dropped=(_unread(chunk, which, "the model's answer could not be read"),), damaged=True)
    except InvalidInputError:
        halves = halved(chunk)
        if not halves:
            return Reading(dropped=(_unread(chunk, which, "the model takes no text this long"),))
    else:
        return Reading(candidates(answer, chunk, which))
    return joined([await _read(half, which, asker) for half in halves])


def _unread(chunk: Chunk, which: Pass, reason: str) -> Dropped:
    """Return the record of lines that were not read."""
    return Dropped(text="", reason=f"{which} pass: {reason}", lines=tuple(sorted(indexes(chunk))))

"""A window cut into chunks a model can take: nothing is left out, a line too long for one is cut into parts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from domain.transcript import Line

__all__ = ["FLOOR", "Chunk", "Part", "chunks", "detail_chunks", "halved", "indexes", "split_text"]

#: characters below which a chunk that is refused as too long is not halved any more
FLOOR = 1_000
#: what a line's number, role, name and time take, in characters
_HEAD = 40


class Part(msgspec.Struct, frozen=True):
    """A line, or one of several parts of a long one; ``again`` when the chunk before had it too."""

    line: Line
    text: str
    number: int = 1
    of: int = 1
    again: bool = False

    @property
    def size(self) -> int:
        """Characters it takes in a prompt, about."""
        return len(self.text) + len(self.line.name) + _HEAD


Chunk = tuple[Part, ...]


def indexes(chunk: Chunk) -> frozenset[int]:
    """Return the lines a chunk shows: the only ones an answer to it may cite."""
    return frozenset(part.line.index for part in chunk)


def chunks(lines: Sequence[Line], *, size: int, overlap: int, first: int = 0) -> list[Chunk]:
    """Return chunks of about ``size`` characters (the first of ``first``); two neighbours share ``overlap`` lines.

    The lines shared take at most a quarter of a chunk. A chunk of context alone is not among them: it says nothing new.
    """
    made: list[Chunk] = []
    current: list[Part] = []
    room = first or size
    for part in (part for line in lines for part in _parts(line, size)):
        if any(not one.again for one in current) and _size(current) + part.size > room:
            made.append(tuple(current))
            current = _shared(current, overlap, size // 4)
            room = size
        current.append(part)
    if current:
        made.append(tuple(current))
    return [chunk for chunk in made if _says_something(chunk)]


def detail_chunks(lines: Sequence[Line], *, size: int, overlap: int) -> list[Chunk]:
    """Return the chunks of the detail pass: with twice the overlap, and borders where the full pass has none."""
    whole = chunks(lines, size=size, overlap=overlap)
    if len(whole) <= 1:
        return whole
    return chunks(lines, size=size, overlap=2 * overlap, first=size // 2)


def halved(chunk: Chunk) -> tuple[Chunk, ...]:
    """Return the halves of a chunk that say something new, between lines or within one; none when it is too small."""
    total = _size(chunk)
    if total < FLOOR or (len(chunk) == 1 and len(chunk[0].text) <= 1):
        return ()
    if len(chunk) == 1:
        one, other = _halved_part(chunk[0])
        halves: tuple[Chunk, Chunk] = (one,), (other,)
    else:
        cut = _middle(chunk, total)
        halves = chunk[:cut], chunk[cut:]
    return tuple(half for half in halves if _says_something(half))


def split_text(text: str, size: int) -> list[str]:
    """Return pieces of at most ``size`` characters that joined are ``text``, cut between sentences or words."""
    pieces = []
    while len(text) > size:
        cut = _cut(text, size)
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text]


def _cut(text: str, size: int, otherwise: int = 0) -> int:
    """Return where to cut: behind a line, a sentence or a word that ends in the second half of ``size``, else there."""
    for marks in ("\n", ".!?。！？", " \t\u3000"):
        found = max(text.rfind(mark, size // 2, size) for mark in marks)
        if found >= 0:
            return found + 1
    return otherwise or size


def _parts(line: Line, size: int) -> list[Part]:
    pieces = split_text(line.text, max(1, size - len(line.name) - _HEAD))
    return [Part(line, piece, number, len(pieces)) for number, piece in enumerate(pieces, 1)]


def _middle(chunk: Chunk, total: int) -> int:
    """Return how many parts make up the first half, at least one and never all."""
    taken, cut = chunk[0].size, 1
    while cut < len(chunk) - 1 and taken + chunk[cut].size <= total // 2:
        taken += chunk[cut].size
        cut += 1
    return cut


def _halved_part(part: Part) -> tuple[Part, Part]:
    cut = _cut(part.text, max(1, len(part.text) * 5 // 8), len(part.text) // 2)
    number, of = 2 * part.number - 1, 2 * part.of
    return (
        msgspec.structs.replace(part, text=part.text[:cut], number=number, of=of),
        msgspec.structs.replace(part, text=part.text[cut:], number=number + 1, of=of),
    )


def _shared(chunk: Sequence[Part], overlap: int, room: int) -> list[Part]:
    """Return the last parts of a chunk that the next one shows again."""
    shared: list[Part] = []
    for part in reversed(chunk):
        room -= part.size
        if room < 0 or len({one.line.index for one in shared} | {part.line.index}) > overlap:
            break
        shared.insert(0, msgspec.structs.replace(part, again=True))
    return shared


def _size(parts: Sequence[Part]) -> int:
    return sum(part.size for part in parts)


def _says_something(chunk: Chunk) -> bool:
    return any(not part.line.context and not part.again and part.text.strip() for part in chunk)

"""Long texts in pieces that a model takes whole: neighbours overlap, nothing is left out."""

from __future__ import annotations

from domain.errors import InvalidInputError

__all__ = ["halves", "pieces_of"]

#: a cut moves back to white space within this part of a piece
_SEARCHED = 0.2
#: characters below which a piece that is still too long is given up
_SMALLEST = 32


def pieces_of(text: str, size: int, overlap: int) -> list[str]:
    """Return pieces of at most ``size`` characters that share ``overlap`` with their neighbours."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > size:
        end = _cut(text, start, start + size, least=start + overlap + 1)
        pieces.append(text[start:end])
        start = end - overlap
    return [*pieces, text[start:]]


def _cut(text: str, start: int, end: int, *, least: int) -> int:
    """Return ``end``, or a place shortly before it where a word ends."""
    earliest = max(least, end - int((end - start) * _SEARCHED))
    return next((place for place in range(end, earliest, -1) if text[place - 1].isspace()), end)


def halves(text: str, overlap: int) -> list[str]:
    """Return the two halves of a piece that was too long, or raise InvalidInputError where it is tiny already."""
    if len(text) < _SMALLEST:
        raise InvalidInputError(
            "the model does not take even short texts", expected="a larger window", found=f"{len(text)} characters"
        )
    middle, shared = (len(text) + 1) // 2, min(overlap, len(text) // 8)
    return [text[: middle + shared], text[middle - shared :]]

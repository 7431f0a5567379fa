"""How keys and queries are cut into segments for the exact-key channel (U22)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from domain.text import fold_key

__all__ = ["key_segments", "query_segments", "query_words"]

# Words that carry no subject: a key segment among them matches nothing.
_FUNCTION_WORDS = frozenset(
    """
    a about all am an and any are as at be been but by can could did do does for from had has have he her him his how
    i if in into is it its me my not of on or our she should so than that the their them then there these they this
    those to us was we were what when where which who whom whose why will with would you your
    """.split()  # noqa: SIM905 -- a hundred quoted words would be a page
)
_LONGEST_UNSPACED = 8
_ASCII_RUN = re.compile("[0-9A-Za-z]+")
_UNSPACED = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


def key_segments(key: str) -> tuple[str, ...]:
    """Return the distinct segments of a key: runs of letters, marks and digits of its folded form."""
    found = dict.fromkeys(_runs(fold_key(key)))
    return tuple(segment for segment in found if segment not in _FUNCTION_WORDS)


def query_words(query: str) -> tuple[str, ...]:
    """Return the distinct words of a query without function words, folded as keys are."""
    return key_segments(query)


def query_segments(query: str) -> tuple[str, ...]:
    """Return what key segments are compared with: the query's words.

    Scripts written without spaces have no words to cut at, so every piece of up to eight characters of such
    a run counts as well.
    """
    found: dict[str, None] = {}
    for run in _runs(fold_key(query)):
        found[run] = None
        if any(_is_unspaced(char) for char in run):
            found.update(dict.fromkeys(_pieces(run)))
    return tuple(segment for segment in found if segment not in _FUNCTION_WORDS)


def _runs(text: str) -> Iterator[str]:
    if text.isascii():
        # The same runs; every text that recall shows is cut here.
        yield from _ASCII_RUN.findall(text)
        return
    start = None
    for index, char in enumerate(text):
        word = char.isalnum() or unicodedata.category(char).startswith("M")
        if word and start is None:
            start = index
        elif not word and start is not None:
            yield text[start:index]
            start = None
    if start is not None:
        yield text[start:]


def _pieces(run: str) -> Iterator[str]:
    for start in range(len(run)):
        for end in range(start + 1, min(len(run), start + _LONGEST_UNSPACED) + 1):
            yield run[start:end]


def _is_unspaced(char: str) -> bool:
    code = ord(char)
    return any(low <= code <= high for low, high in _UNSPACED)

"""The line on which a value of a JSON document stands; asked only when something is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from json import JSONDecodeError

__all__ = ["line_of"]

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def line_of(text: str, path: Sequence[int | str]) -> int:
    """Return the line (from 1) of the value under ``path``, or of the last part of the path that exists."""
    at = _skip(text, 0)
    for step in path:
        try:
            found = _element(text, at, step) if isinstance(step, int) else _member(text, at, step)
        except (JSONDecodeError, IndexError):
            break
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _element(text: str, at: int, index: int) -> int | None:
    if text[at] != "[":
        return None
    at = _skip(text, at + 1)
    for _ in range(index):
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # past the comma
    return at


def _member(text: str, at: int, name: str) -> int | None:
    if text[at] != "{":
        return None
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # past the colon
        if key == name:
            return at
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return None

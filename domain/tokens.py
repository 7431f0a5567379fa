"""How many tokens a text comes to, where nobody who counts them says so."""

from __future__ import annotations

import re

__all__ = ["estimated_tokens"]

#: Han with its extensions and compatibility forms, Hiragana, Katakana (half-width too) and Hangul
_DENSE = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\uffa0-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003fffd]"
)
_MARKS = re.compile(r'[{}\[\]:"]')
_DENSE_SHARE, _DENSE_CHARS = 0.30, 1.5
_MARKS_SHARE, _MARKS_CHARS = 0.08, 3.0
_CHARS = 3.5


def estimated_tokens(text: str) -> int:
    """Return about how many tokens ``text`` has, rounded up.

    1.5 characters a token where more than 30 % are Han, Hiragana, Katakana or Hangul; 3.0 where more than 8 % are
    the marks of JSON; else 3.5.
    """
    if not text:
        return 0
    return int(-(-len(text) // _chars_per_token(text)))


def _chars_per_token(text: str) -> float:
    if len(_DENSE.findall(text)) > _DENSE_SHARE * len(text):
        return _DENSE_CHARS
    if len(_MARKS.findall(text)) > _MARKS_SHARE * len(text):
        return _MARKS_CHARS
    return _CHARS

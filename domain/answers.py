"""What an answer in words is made from and what it comes to, and how a question is analysed before it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

__all__ = ["Analysis", "Entry", "Length", "Prose", "Summary", "Thinking"]

#: How much is looked at, and how long a model may think about it.
Thinking = Literal["low", "medium", "high"]
#: How long an answer is to be.
Length = Literal["short", "medium", "long"]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Something recall found, as a model is shown it: a memory or a message (``kind="message"``).

    ``role`` and ``name`` say who said it, ``source`` on which path a memory was written, ``when`` what is known of its
    time, in words.
    """

    id: str
    text: str
    kind: str
    role: str = ""
    name: str = ""
    source: str = ""
    session: str = ""
    when: str = ""


class Prose(msgspec.Struct, frozen=True, kw_only=True):
    """An answer in words, empty where the entries hold none, and the entries it rests on, by id.

    ``left_out`` says of entries that the model did not see whole why not, by id.
    """

    text: str
    model: str
    cited: tuple[str, ...] = ()
    left_out: Mapping[str, str] = {}


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """What a question looks for, beyond its own words.

    ``keys`` are topic keys in use under which the answer may stand, the likeliest first; ``terms`` words that a note
    with the answer may hold; ``statement`` a sentence such as would answer it (HyDE: Gao et al., ACL 2023).
    """

    keys: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    statement: str = ""
    model: str = ""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What stands for a stretch of conversation, and what wrote it; empty where there is nothing to say."""

    text: str
    model: str

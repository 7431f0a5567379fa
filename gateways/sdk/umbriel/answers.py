"""Wire types of what a language model adds to recall: an analysis of the query, and an answer in words."""

from __future__ import annotations

from typing import Literal

from umbriel._wire import Reply

__all__ = ["Length", "QueryAnalysis", "Synthesis", "Thinking"]

#: How many results a model looks at, and how long it may think about them.
Thinking = Literal["low", "medium", "high"]
#: How long an answer is to be.
Length = Literal["short", "medium", "long"]


class Synthesis(Reply, frozen=True):
    """An answer in words, by ``model``, and the ids of the results it rests on.

    An empty ``text`` has its ``reason``. ``grounded`` is False where the model named no result that it was given: then
    nothing shows that the answer comes from the memory. ``left_out`` says of results that the model did not see, or
    saw in part only, why, by id.
    """

    text: str = ""
    cited: list[str] = []
    model: str = ""
    reason: str = ""
    grounded: bool = True
    left_out: dict[str, str] = {}


class QueryAnalysis(Reply, frozen=True):
    """What ``model`` says a query looks for beyond its own words, or the ``reason`` why there is no analysis.

    ``keys`` are topic keys in use, ``terms`` words that are looked for as well, ``statement`` a sentence such as would
    answer the query.
    """

    keys: list[str] = []
    terms: list[str] = []
    statement: str = ""
    model: str = ""
    reason: str = ""

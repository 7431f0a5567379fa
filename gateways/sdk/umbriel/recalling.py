"""The wire types of recall: the question, and results with what found them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request
from umbriel.answers import Length, QueryAnalysis, Synthesis, Thinking

__all__ = ["ChannelHit", "RecallReply", "RecallRequest", "RecallResult", "Visibility"]

Visibility = Literal["complete", "keyword"]


class RecallRequest(Request, frozen=True):
    """A question. Without a contact: agent-wide memories and contactless sessions; ``*`` is all contacts.

    What did not happen from ``since`` up to before ``until`` is left out. ``reference_date`` is the time that words
    such as "last week" are counted from, in its own zone; the present when None.

    With ``answer`` a language model answers from the results. ``limit`` is 10 where it is not given, and with
    ``answer`` what ``thinking`` looks at.

    ``inspect`` is for who looks at recall itself: explained and with its prompt text, on record as an inspection, and
    counted as no access.
    """

    query: str
    contact: str = ""
    kinds: list[str] = []
    limit: int | None = None
    token_budget: int | None = None
    min_score: float = 0.0
    as_of: str = ""
    at_least: str = ""
    visibility: Visibility = "complete"
    channels: list[str] = []
    explain: bool = False
    since: datetime | None = None
    until: datetime | None = None
    reference_date: datetime | None = None
    answer: bool = False
    thinking: Thinking = "low"
    length: Length = "medium"
    inspect: bool = False


class ChannelHit(Reply, frozen=True):
    """How one channel found a result: its rank from 1, its own score, and the weight it counted with.

    With ``explain``, ``contribution`` is what it added to the score, before the factors.
    """

    channel: str
    rank: int
    score: float
    weight: float
    contribution: float = 0.0


class RecallResult(Reply, frozen=True):
    """One memory or message. ``score`` ranks; ``relevance`` in [0, 1] is absolute and is what ``min_score`` uses.

    ``score`` is the sum of what the ``channels`` found, times the ``factors``. ``when`` is when it happened, and how
    far that is from the reference date.
    """

    id: str
    text: str
    kind: str
    score: float
    relevance: float
    position: str
    key: str = ""
    contact: str = ""
    session: str = ""
    role: str = ""
    name: str = ""
    confidence: float | None = None
    source: str = ""
    sources: list[str] = []
    recorded_at: datetime | None = None
    at: datetime | None = None
    channels: list[ChannelHit] = []
    factors: dict[str, float] = {}
    stated_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    when: str = ""


class RecallReply(Reply, frozen=True):
    """Results best first; ``position`` is the lowest position of the views that answered.

    ``suppressions`` are instructions not to speak of something that the question or a result is about; they come
    before the results in a token budget and do not count towards the limit. ``facts`` are what the question's times
    mean and, where it asks for that, how far results are apart.
    ``provider`` answered; ``fallback`` says why the local one did where the profile wants another.
    """

    results: list[RecallResult]
    position: str
    truncated: bool = False
    channels: dict[str, list[str]] = {}
    #: with ``explain``: what each channel that was asked counted with
    weights: dict[str, float] = {}
    #: channels that cannot be asked now, and why
    off: dict[str, str] = {}
    provider: str = "local"
    fallback: str = ""
    facts: list[str] = []
    suppressions: list[RecallResult] = []
    #: what a language model made of the results, where that was asked for
    answer: Synthesis | None = None
    #: with ``explain``, and where the model that is configured did not answer
    analysis: QueryAnalysis | None = None
    #: with ``inspect``: what a prompt would hold, fenced as data, and how many tokens we take that for
    prompt: str = ""
    #: with ``inspect``: how the texts begin of what each channel found first, by id
    heard: dict[str, str] = {}
    prompt_tokens: int = 0

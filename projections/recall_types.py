"""What recall is asked and what it answers, and every constant it uses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec

from projections.fusion import Found
from projections.ledger import LiveItem

__all__ = ["Channel", "RecallAnswer", "RecallHit", "RecallQuery", "RecallSettings", "Span"]


class Channel(msgspec.Struct, frozen=True):
    """A way of finding: its weight in the fusion (0 switches it off) and how many hits it contributes."""

    weight: float
    depth: int = 100


class Span(msgspec.Struct, frozen=True):
    """A stretch of time, from ``start`` up to before ``end``."""

    start: datetime
    end: datetime

    @classmethod
    def between(cls, start: datetime | None, end: datetime | None) -> Span | None:
        """Return the stretch between two ends of which None is open; None where both are."""
        if start is None and end is None:
            return None
        return cls(start or datetime.min.replace(tzinfo=UTC), end or datetime.max.replace(tzinfo=UTC))

    def holds(self, item: LiveItem) -> bool:
        """Whether the item happened in it, or was valid at some time of it."""
        if item.valid_from or item.valid_to:
            begun = item.valid_from is None or item.valid_from < self.end
            return begun and (item.valid_to is None or item.valid_to >= self.start)
        return self.start <= item.happened < self.end


class RecallSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How channels are weighed. The defaults are the ones that measured best; `classic` is the model's own set."""

    fusion: Literal["score_sum", "reciprocal_rank"] = "score_sum"
    #: k of reciprocal rank fusion
    rank_constant: float = 60.0
    #: how many of the best scores of one index span the range that scores are normalised to
    scale_depth: int = 100
    key: Channel = Channel(0.75)
    vector: Channel = Channel(0.5)
    #: vectors like the statement that an analysis of the query expects as its answer
    hyde_vector: Channel = Channel(0.25)
    keyword: Channel = Channel(0.5)
    #: full text of the terms that an analysis of the query adds
    terms: Channel = Channel(0.15)
    #: what happened in the time that a question names
    period: Channel = Channel(0.15)
    message_period: Channel = Channel(0.15)
    #: what the two weigh where a question says nothing else
    only_period: float = 1.0
    message_vector: Channel = Channel(0.2)
    message_hyde_vector: Channel = Channel(0.1)
    message_terms: Channel = Channel(0.06)
    message_keyword: Channel = Channel(0.2)
    #: a message with the ones around it as one text
    message_window: Channel = Channel(0.17)
    #: a message gains this part of what it hears of the evidence of the one before and the one after it
    message_neighbour: Channel = Channel(0.25)
    #: and this much where its session holds the best of what was found
    message_session: Channel = Channel(0.2)
    #: a memory gains this part of its own evidence where a message that it was read from has all evidence
    memory_source: Channel = Channel(0.7)
    #: what is left of a message's evidence when a question about the asker meets somebody else's words, and when a
    #: question names another speaker
    other_role: float = 0.5
    other_speaker: float = 0.87
    #: what is left of it when a line states nothing, when it does not speak of its speaker, and when it has no time or
    #: number where the question asks for one
    empty_line: float = 0.5
    impersonal_line: float = 0.85
    unfitting_line: float = 0.8
    #: what is left of an agent-wide memory's evidence where a contact was asked about
    agent_wide: float = 0.95
    #: largest part of the results that may be messages while memories are left
    message_share: float = 1.0

    @classmethod
    def classic(cls) -> RecallSettings:
        """Reciprocal ranks with k = 60, weights 1 / 1 / 1.5, fifteen keyword hits."""
        return cls(
            fusion="reciprocal_rank",
            key=Channel(1.5),
            vector=Channel(1.0),
            hyde_vector=Channel(1.0),
            keyword=Channel(1.0, 15),
            terms=Channel(1.0, 15),
            period=Channel(0.0),
            message_period=Channel(0.0),
            message_vector=Channel(0.5),
            message_hyde_vector=Channel(0.5),
            message_terms=Channel(0.5, 15),
            message_keyword=Channel(0.5, 15),
            message_window=Channel(0.0),
            message_neighbour=Channel(0.0),
            message_session=Channel(0.0),
            memory_source=Channel(0.0),
            other_role=1.0,
            other_speaker=1.0,
            empty_line=1.0,
            impersonal_line=1.0,
            unfitting_line=1.0,
            agent_wide=1.0,
        )


class RecallQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question. ``contact`` empty is agent-wide and contactless sessions, ``*`` is everything.

    Empty ``kinds`` and ``channels`` mean all of them; ``message`` is a kind. ``keys`` are topic keys that an analysis
    of the query named, ``terms`` words that it adds to full text, ``statement`` what it expects as an answer
    (HyDE: Gao et al., ACL 2023). ``min_score`` is compared with the absolute relevance.
    """

    text: str
    contact: str = ""
    kinds: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()
    keys: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    statement: str = ""
    #: times that the question names: what happened in them gains
    periods: tuple[Span, ...] = ()
    #: whether the question says nothing but these times: what happened in them is the answer then
    only_periods: bool = False
    #: the time that was asked for: what did not happen in it is left out
    during: Span | None = None
    #: what was recorded before is left out, unless it is pinned
    since: datetime | None = None
    #: messages of these sessions are not heard, whoever they belong to here
    unheard: frozenset[str] = frozenset()
    #: only messages of this session and of this role, where they are given
    session: str = ""
    role: str = ""
    #: whether what one speaker said several times in the same words is one result
    distinct: bool = True
    limit: int = 10
    min_score: float = 0.0
    #: contacts that may be heard beside the one asked for when they are linked with it; None is all of them
    within: frozenset[str] | None = None
    #: places left over that memories used lately or often may take; none while ``min_score`` is above 0
    fill: int = 0
    #: whether each hit says what every channel added to it
    explain: bool = False


class RecallHit(msgspec.Struct, frozen=True, kw_only=True):
    """One result: ``score`` orders, ``relevance`` in [0, 1] is absolute.

    ``factors`` are what the evidence of its ``channels`` was weighed by.
    """

    item: LiveItem
    score: float
    relevance: float
    channels: tuple[Found, ...]
    factors: dict[str, float] = {}


class RecallAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Results best first, the lowest position of the views used, and the ids each channel contributed.

    ``weights`` are what each channel that was asked counted with. ``suppressions`` are instructions not to speak of
    something that the question or a result is about.
    """

    results: list[RecallHit]
    position: int
    truncated: bool
    channels: dict[str, list[str]]
    weights: dict[str, float] = {}
    #: where that was asked for, the texts of what each channel found first, by id
    heard: dict[str, str] = {}
    suppressions: list[LiveItem] = []

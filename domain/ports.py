"""What the domain needs from outside, as small Protocols; each has a contract test.

Whatever calls a model over a network raises the domain's errors: UnavailableError (``retryable``) for time limits, rate
limits, lost connections and 5xx; InvalidInputError for input beyond the model's window; RefusedError for a model that
declines; DamagedError for a reply that stays unreadable after one repair.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from domain.answers import Analysis, Entry, Length, Prose, Summary, Thinking
from domain.kinds import Kind
from domain.transcript import Found, KnownKey, Line, Window

__all__ = [
    "Analyst",
    "Answer",
    "Ask",
    "Chat",
    "Embedded",
    "Embedder",
    "Extractor",
    "Judge",
    "Opinion",
    "Statement",
    "Summariser",
    "Synthesiser",
    "Tokens",
]

T = TypeVar("T")


class Embedded(msgspec.Struct, frozen=True):
    """Vectors of one text: ``chunks`` rows of little-endian float32, each L2-normalised."""

    chunks: int
    vectors: bytes


class Embedder(Protocol):
    """Turns text into unit vectors; deterministic for one model name."""

    @property
    def model(self) -> str:
        """The name that travels with every vector."""

    @property
    def dimension(self) -> int:
        """Components per vector."""

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return the vectors of each text; a long text has several chunks, nothing is cut."""

    def embed_query(self, text: str) -> bytes:
        """Return one unit vector (float32, ``dimension`` components) for a query."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a chat model.

    ``size`` chooses the model: small for structure, large for prose. ``purpose`` is what usage is counted under, as
    ``extract.full``; ``profile`` whom it is counted for, and by whose hash a provider keeps calls together. ``effort``
    is how hard a model that reasons is to think; empty leaves it to the provider.
    """

    purpose: str
    system: str
    user: str
    profile: str
    size: Literal["small", "large"] = "small"
    max_tokens: int = 4_096
    effort: Literal["", "low", "medium", "high"] = ""


class Tokens(msgspec.Struct, frozen=True):
    """What a call used; ``estimated`` where the provider did not say."""

    input: int
    output: int
    estimated: bool = False


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """What a model answered, checked against the type asked for."""

    value: T
    model: str
    tokens: Tokens
    repaired: bool = False


class Chat(Protocol):
    """A language model that answers in a given shape."""

    @property
    def name(self) -> str:
        """Provider and model for structure, as ``openai:gpt-6-luna``; recorded with what it said."""

    async def ask(self, ask: Ask, shape: type[T]) -> Answer[T]:
        """Return an answer of ``shape`` (a msgspec Struct): validated, repaired once, else DamagedError."""


class Extractor(Protocol):
    """Draws statements from a stretch of conversation."""

    @property
    def name(self) -> str:
        """What is recorded with the items it found."""

    async def extract(self, window: Window, known: Sequence[KnownKey], *, profile: str) -> Found:
        """Return what the window's own lines state; ``known`` are topic keys in use, to be used again where they fit.

        A bad item is dropped with its reason and loses none of the others.
        """


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One memory as a judge sees it; ``at`` is when it was said."""

    id: str
    text: str
    kind: Kind
    key: str = ""
    at: datetime | None = None


class Opinion(msgspec.Struct, frozen=True):
    """Probabilities in [0, 1] that a new statement replaces an older one, and that the two contradict each other.

    ``model`` and ``rule`` tell whose opinion it is; empty, that of the judge that was asked.
    """

    replaces: float
    contradicts: float
    model: str = ""
    rule: Literal["", "judge", "heuristic"] = ""


class Judge(Protocol):
    """Answers two yes/no questions about a new statement and an older one like it."""

    @property
    def name(self) -> str:
        """What is recorded with its probabilities."""

    @property
    def rule(self) -> Literal["judge", "heuristic"]:
        """What a supersession that follows from it is put down to."""

    async def judge(self, new: Statement, old: Statement, *, cosine: float, profile: str) -> Opinion:
        """Return how likely ``new`` replaces ``old``, and contradicts it."""


class Synthesiser(Protocol):
    """Answers a question in words from what recall found."""

    @property
    def name(self) -> str:
        """What is named beside its answers until one names its model."""

    async def answer(
        self,
        question: str,
        entries: Sequence[Entry],
        facts: Sequence[str],
        *,
        thinking: Thinking,
        length: Length,
        profile: str,
        budget: int | None = None,
        unsaid: Sequence[str] = (),
    ) -> Prose:
        """Return an answer that rests on the entries, best first, and on ``facts`` computed from them alone.

        It cites only entries it was given, and is empty where they hold no answer. ``budget`` is how many tokens the
        entries and what is ``unsaid`` may take at most, by our own estimate; ``unsaid`` says what not to speak of.
        """


class Analyst(Protocol):
    """Says what a question looks for beyond its own words."""

    @property
    def name(self) -> str:
        """What is shown beside its analysis until one names its model."""

    async def analyse(self, query: str, known: Sequence[str], *, profile: str) -> Analysis:
        """Return an analysis whose keys are among the ``known`` ones, and whose terms and statement are short."""


class Summariser(Protocol):
    """Makes a summary stand for a stretch of conversation."""

    @property
    def name(self) -> str:
        """What is recorded with its summaries until one names its model."""

    async def summarise(self, lines: Sequence[Line], *, earlier: str, tokens: int, profile: str) -> Summary:
        """Return a summary of the lines, and of what was summarised ``earlier`` where that is given.

        About ``tokens`` long by our estimate; the caller cuts what is longer.
        """

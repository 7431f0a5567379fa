"""Events of one memory: its versions and what became of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from domain.events.base import Event
from domain.events.copying import Origin
from domain.kinds import Kind, Source

__all__ = [
    "ContradictionNoted",
    "ExpirySet",
    "MemoryConsolidated",
    "MemoryDecayed",
    "MemoryExpired",
    "MemoryForgotten",
    "MemoryJudged",
    "MemoryPinned",
    "MemoryRejected",
    "MemoryRemembered",
    "MemoryRestored",
    "MemoryRetracted",
    "MemoryRevised",
    "MemorySuperseded",
    "MemoryUnpinned",
]


class MemoryRemembered(Event, frozen=True):
    """One version of a memory was written at its address.

    ``memory`` is ``<address>@<version>``; ``scope`` is the contact as written, None for agent-wide;
    ``folded`` is the normalised content that duplicates are recognised by. ``stated_at`` is when it was said, None
    for now; ``extraction`` and ``model`` tell which work wrote it where no caller did. A copy has its ``origin``.
    ``redacted``: it was forgotten before it was imported, and came without what it said.
    """

    TOPIC = "memory.remembered"
    memory: str
    address: str
    version: int
    kind: Kind
    text: str
    folded: str
    source: Source
    confidence: float
    fact_type: str = ""
    scope: str | None = None
    key: str = ""
    session: str = ""
    sources: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    request_id: str = ""
    stated_at: datetime | None = None
    extraction: str = ""
    model: str = ""
    origin: Origin | None = None
    redacted: bool = False


class MemorySuperseded(Event, frozen=True):
    """A version was replaced.

    ``rule``: ``address``, ``order`` (it was said before what is live), ``correction``, ``part`` (a part of it was
    taken out), ``restore``, ``judge``, ``heuristic`` or ``consolidation``.
    """

    TOPIC = "memory.superseded"
    memory: str
    by: str
    rule: str
    probability: float | None = None
    model: str = ""


class MemoryRevised(Event, frozen=True):
    """Something about a version changed; never its text.

    ``metadata`` is None where it stayed. ``lost`` are source messages that were forgotten, ``sources`` those that it
    rests on still. ``affirmed``: a caller stated what was drawn from messages, so it rests on those alone no more.
    """

    TOPIC = "memory.revised"
    SCHEMA = 2
    memory: str
    metadata: dict[str, Any] | None = None
    sources: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    affirmed: bool = False


class ContradictionNoted(Event, frozen=True):
    """Another statement contradicts this one and replaces nothing; ``sources`` are the messages it was drawn from."""

    TOPIC = "memory.contradiction_noted"
    memory: str
    other: str
    text: str = ""
    probability: float | None = None
    model: str = ""
    request_id: str = ""
    sources: tuple[str, ...] = ()


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a judge said about one older memory: probabilities in [0, 1], and what was decided by them."""

    memory: str
    replaces: float
    contradicts: float
    decision: Literal["superseded", "contradiction", "kept"] = "kept"
    cosine: float | None = None


class MemoryJudged(Event, frozen=True):
    """A new memory was held against older ones like it; recorded even where there were none, and only once.

    ``rule`` is ``judge`` or ``heuristic``; ``reason`` says why nobody was asked.
    """

    TOPIC = "memory.judged"
    SCHEMA = 2
    memory: str
    model: str
    rule: str = "judge"
    candidates: tuple[Judgement, ...] = ()
    reason: str = ""


class MemoryDecayed(Event, frozen=True):
    """Confidence fell on a UTC day (at most once a day)."""

    TOPIC = "memory.decayed"
    memory: str
    day: str
    confidence: float


class MemoryConsolidated(Event, frozen=True):
    """The memory stands for others that say the same (``members``, which it supersedes).

    It keeps its words and its author, and has the sources of all of them and the highest ``confidence`` of any.
    """

    TOPIC = "memory.consolidated"
    memory: str
    members: tuple[str, ...]
    sources: tuple[str, ...]
    confidence: float


class MemoryPinned(Event, frozen=True):
    """The memory is exempt from decay and consolidation."""

    TOPIC = "memory.pinned"
    memory: str


class MemoryUnpinned(Event, frozen=True):
    """The memory is subject to decay again."""

    TOPIC = "memory.unpinned"
    memory: str


class ExpirySet(Event, frozen=True):
    """The time after which the memory is no longer live; None removes it."""

    TOPIC = "memory.expiry_set"
    memory: str
    expires_at: datetime | None = None


class MemoryExpired(Event, frozen=True):
    """The memory was ended by hand or because its session ended."""

    TOPIC = "memory.expired"
    memory: str


class MemoryRetracted(Event, frozen=True):
    """The statement was withdrawn without a replacement."""

    TOPIC = "memory.retracted"
    memory: str
    request_id: str = ""


class MemoryRejected(Event, frozen=True):
    """A person said this is wrong; only a person brings it back."""

    TOPIC = "memory.rejected"
    memory: str
    skeleton: str
    request_id: str = ""


class MemoryRestored(Event, frozen=True):
    """A version that was not live is live again; it carries its content, so that views need no memory of it."""

    TOPIC = "memory.restored"
    memory: str
    content: MemoryRemembered
    request_id: str = ""


class MemoryForgotten(Event, frozen=True):
    """These versions at the address left every view: all that were left, or older ones.

    ``lost`` are the forgotten messages without which they rest on nothing.
    """

    TOPIC = "memory.forgotten"
    address: str
    memories: tuple[str, ...]
    with_sources: bool = False
    request_id: str = ""
    lost: tuple[str, ...] = ()

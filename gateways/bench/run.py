"""One run: every conversation through the public write path, every question through recall."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator

import msgspec

from gateways.bench.metrics import distinct
from gateways.bench.samples import Question, Sample, label_of
from gateways.bench.waiting import sequence, wait_complete
from umbriel import RecallResult, Umbriel

__all__ = ["LIMIT", "Answer", "Asking", "Measured", "Watcher", "measure"]

#: How many results each question asks for.
LIMIT = 50


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What recall returned for one question: turns and sessions, best first, and the seconds it took."""

    question: Question
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    evidence_sessions: tuple[str, ...]
    seconds: float


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation's run; ``index_seconds`` from the first message sent until every view was complete."""

    name: str
    messages: int
    recorded: int
    index_seconds: float
    answers: tuple[Answer, ...]


class Watcher(msgspec.Struct, frozen=True):
    """What to call as work gets done: messages indexed, and questions asked."""

    indexed: Callable[[int], None]
    asked: Callable[[int], None]


class _Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Which turns each result stands for, which session each turn is in, and what the writes said."""

    turns_of: dict[str, tuple[str, ...]]
    session_of: dict[str, str]
    position: str
    recorded: int


class Asking(msgspec.Struct, frozen=True):
    """A loaded sample: the client of its profile, and how a question is asked of some channels (none: of all)."""

    client: Umbriel
    ask: Callable[[Question, tuple[str, ...]], Awaitable[Answer]]


async def measure(
    client: Umbriel,
    sample: Sample,
    profile: str,
    watcher: Watcher,
    afterwards: Callable[[Asking], Awaitable[None]] | None = None,
) -> Measured:
    """Load one sample into a profile, wait until it is complete, and ask its questions one after the other.

    ``afterwards`` may ask them again.
    """
    own = client.for_profile(profile)
    started = time.perf_counter()
    # What is measured is how things are found, not what else is made of them.
    await own.settings({"extraction.enabled": False, "verifier.enabled": False})
    loaded = await (_remember(own, sample) if sample.observations else _ingest(own, sample))
    await wait_complete(own, loaded.position, sample.size, watcher.indexed)
    index_seconds = time.perf_counter() - started
    answers = []
    for question in sample.questions:
        answers.append(await _ask(own, question, loaded))
        watcher.asked(1)
    if afterwards is not None:
        await afterwards(Asking(own, lambda question, channels: _ask(own, question, loaded, channels)))
    return Measured(
        name=sample.name,
        messages=sample.size,
        recorded=loaded.recorded,
        index_seconds=index_seconds,
        answers=tuple(answers),
    )


async def _ingest(client: Umbriel, sample: Sample) -> _Loaded:
    turns_of: dict[str, tuple[str, ...]] = {}
    positions: list[str] = []
    recorded = 0
    for session in sample.sessions:
        reply = await client.ingest(session.messages, session=session.session, contact=session.contact)
        positions.append(reply.position)
        # Outcomes come in the order of the messages, so each id is known to be that turn.
        for message, outcome in zip(session.messages, reply.outcomes, strict=True):
            turns_of[outcome.id] = (_turn(message.id, outcome.id),)
            recorded += outcome.outcome == "recorded"
    return _Loaded(
        turns_of=turns_of, session_of=_sessions(sample), position=max(positions, key=sequence), recorded=recorded
    )


async def _remember(client: Umbriel, sample: Sample) -> _Loaded:
    turns_of: dict[str, tuple[str, ...]] = {}
    positions: list[str] = []
    recorded = 0
    for observation in sample.observations:
        reply = await client.remember(observation.text)
        positions.append(reply.position)
        turns_of[reply.memory.id] = tuple(distinct((*turns_of.get(reply.memory.id, ()), *observation.turns)))
        recorded += reply.outcome == "remembered"
    return _Loaded(
        turns_of=turns_of, session_of=_sessions(sample), position=max(positions, key=sequence), recorded=recorded
    )


def _sessions(sample: Sample) -> dict[str, str]:
    """Return the session of each turn."""
    return {_turn(message.id): one.session for one in sample.sessions for message in one.messages}


def _turn(own_id: str, message_id: str = "") -> str:
    """Return the name of a turn; a message without an id of its own is named by the one it got."""
    return label_of(own_id) or message_id


async def _ask(client: Umbriel, question: Question, loaded: _Loaded, channels: tuple[str, ...] = ()) -> Answer:
    started = time.perf_counter()
    reply = await client.recall(question.text, limit=LIMIT, at_least=loaded.position, channels=channels)
    seconds = time.perf_counter() - started
    found = (turn for one in _hits(reply.results) for turn in loaded.turns_of.get(one, ()))
    turns = distinct(found)
    return Answer(
        question=question,
        turns=tuple(turns),
        sessions=tuple(distinct(loaded.session_of[turn] for turn in turns)),
        evidence_sessions=question.sessions or tuple(distinct(loaded.session_of[turn] for turn in question.evidence)),
        seconds=seconds,
    )


def _hits(results: Iterable[RecallResult]) -> Iterator[str]:
    """Yield what was loaded of the results, in their order: a message or a memory itself, a memory's sources."""
    for result in results:
        yield result.id
        yield from result.sources

"""One run: every conversation through the public write path, every question through recall."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

import msgspec

from gateways.bench.locomo import Question, Sample, label_of
from gateways.bench.metrics import distinct
from umbriel import RecallResult, Umbriel, UnavailableError

__all__ = ["LIMIT", "Answer", "Measured", "Watcher", "measure"]

#: How many results each question asks for.
LIMIT = 50
_POLL_SECONDS = 0.1
#: Seconds without any advance after which waiting for the views ends.
_PATIENCE = 120.0


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
    """Which turn each message id is, which session each turn is in, and what ingest said."""

    turn_of: dict[str, str]
    session_of: dict[str, str]
    position: str
    recorded: int


async def measure(client: Umbriel, sample: Sample, profile: str, watcher: Watcher) -> Measured:
    """Load one sample into a profile, wait until it is complete, and ask its questions one after the other."""
    own = client.for_profile(profile)
    started = time.perf_counter()
    loaded = await _load(own, sample)
    messages = sum(len(session.messages) for session in sample.sessions)
    await _complete(own, loaded, messages, watcher)
    index_seconds = time.perf_counter() - started
    answers = []
    for question in sample.questions:
        answers.append(await _ask(own, question, loaded))
        watcher.asked(1)
    return Measured(
        name=sample.name,
        messages=messages,
        recorded=loaded.recorded,
        index_seconds=index_seconds,
        answers=tuple(answers),
    )


async def _load(client: Umbriel, sample: Sample) -> _Loaded:
    turn_of: dict[str, str] = {}
    session_of: dict[str, str] = {}
    positions: list[str] = []
    recorded = 0
    for session in sample.sessions:
        reply = await client.ingest(session.messages, session=session.session, contact=session.contact)
        positions.append(reply.position)
        # Outcomes come in the order of the messages, so each id is known to be that turn.
        for message, outcome in zip(session.messages, reply.outcomes, strict=True):
            turn_of[outcome.id] = label_of(message.id)
            session_of[label_of(message.id)] = session.session
            recorded += outcome.outcome == "recorded"
    position = max(positions, key=_sequence, default="")
    return _Loaded(turn_of=turn_of, session_of=session_of, position=position, recorded=recorded)


async def _complete(client: Umbriel, loaded: _Loaded, messages: int, watcher: Watcher) -> None:
    """Wait until every view is complete at the last message; raises UnavailableError when nothing advances."""
    target, reported, last = _sequence(loaded.position), 0, (-1, -1)
    patience = time.monotonic() + _PATIENCE
    while True:
        status = await client.status()
        done = _sequence(status.complete) >= target
        indexed = messages if done else max(reported, messages - max(status.pending, 1))
        watcher.indexed(indexed - reported)
        reported = indexed
        if done:
            return
        now = (_sequence(status.applied), status.pending)
        if now != last:
            last, patience = now, time.monotonic() + _PATIENCE
        if time.monotonic() > patience:
            raise UnavailableError(
                f"profile {client.profile} does not become complete",
                expected=f"complete at {loaded.position}",
                found=f"complete at {status.complete}, {status.pending} pending, {status.failed} failed",
            )
        await asyncio.sleep(_POLL_SECONDS)


async def _ask(client: Umbriel, question: Question, loaded: _Loaded) -> Answer:
    started = time.perf_counter()
    reply = await client.recall(question.text, limit=LIMIT, at_least=loaded.position)
    seconds = time.perf_counter() - started
    turns = distinct(loaded.turn_of[one] for one in _messages(reply.results) if one in loaded.turn_of)
    return Answer(
        question=question,
        turns=tuple(turns),
        sessions=tuple(distinct(loaded.session_of[turn] for turn in turns)),
        evidence_sessions=tuple(distinct(loaded.session_of[turn] for turn in question.evidence)),
        seconds=seconds,
    )


def _messages(results: Iterable[RecallResult]) -> Iterable[str]:
    """Yield the messages behind the results in their order: a message itself, a memory's sources."""
    for result in results:
        yield from [result.id] if result.kind == "message" else result.sources


def _sequence(position: str) -> int:
    """Return the sequence of a position ``<stream>.<incarnation>:<sequence>``, 0 for none."""
    tail = position.rpartition(":")[2]
    return int(tail) if tail.isdecimal() else 0

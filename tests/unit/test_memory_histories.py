"""Whatever is commanded in whatever order: replayed state is live state, and at most one version lives."""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta

from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from domain.envelope import Actor, Envelope, decode_body, encode_body
from domain.errors import UmbrielError
from domain.kernel import projector
from domain.memory import Memory
from tests.unit.given import AGENT, NOW, ORIGINATOR, PERSON, Command, context, draft, elsewhere, remember, state_of, v

_TIMES = [NOW + timedelta(hours=hours) for hours in range(4)]
_REQUESTS = st.sampled_from(["", "", "r1", "r2", "r3"])
_VERSIONS = st.integers(1, 4)
_EXPIRIES = st.sampled_from([None, *_TIMES[1:]])


def _on_version(verb: str, version: int, request_id: str) -> Command:
    return lambda memory, ctx: getattr(memory, verb)(v(version), ctx, request_id=request_id)


def _mark(verb: str, version: int) -> Command:
    return lambda memory, ctx: getattr(memory, verb)(v(version), ctx)


def _expire(version: int, at: datetime | None) -> Command:
    return lambda memory, ctx: memory.expire(v(version), at, ctx)


def _forget(request_id: str) -> Command:
    return lambda memory, ctx: memory.forget(ctx, request_id=request_id)


def _judge(version: int) -> Command:
    return lambda memory, ctx: memory.supersede(v(version), by=elsewhere(), rule="judge", context=ctx)


def _remember(text: str, request_id: str, expires_at: datetime | None) -> Command:
    return remember(text, request_id=request_id, expires_at=expires_at)


_History = list[tuple[Command, Actor, datetime]]
_COMMANDS = st.one_of(
    st.builds(_remember, st.sampled_from(["A", "a.", "B", "C"]), _REQUESTS, _EXPIRIES),
    st.builds(_remember, st.sampled_from(["A", "B"]), _REQUESTS, st.none()),
    st.builds(_on_version, st.sampled_from(["retract", "reject", "restore", "restore"]), _VERSIONS, _REQUESTS),
    st.builds(_mark, st.sampled_from(["pin", "unpin"]), _VERSIONS),
    st.builds(_expire, _VERSIONS, _EXPIRIES),
    st.builds(_forget, _REQUESTS),
    st.builds(_judge, _VERSIONS),
)
# Times go back and forth: two writers' clocks never agree.
_HISTORIES = st.lists(
    st.tuples(_COMMANDS, st.sampled_from([PERSON, PERSON, AGENT]), st.sampled_from(_TIMES)), max_size=14
)


def _run(memory: Memory, history: _History) -> list[Envelope]:
    saved: list[Envelope] = []
    for command, actor, at in history:
        with contextlib.suppress(UmbrielError):
            command(memory, context(actor, at))
        saved += memory.collect_events()
    return saved


@for_all(_HISTORIES)
@settings(max_examples=60)
def test_replayed_is_live(history: _History) -> None:
    """The events alone, through the wire and in two halves, make the state that the commands left."""
    memory = Memory(ORIGINATOR)
    events = _run(memory, history)
    reread = [_through_the_wire(one) for one in events]
    assert state_of(Memory.replay(ORIGINATOR, reread)) == state_of(memory)
    project, half = projector(Memory, ORIGINATOR), len(events) // 2
    resumed = project(project(None, reread[:half]), reread[half:])
    assert (state_of(resumed), resumed.version) == (state_of(memory), len(events))


@for_all(_HISTORIES)
@settings(max_examples=60)
def test_at_most_one_version_lives(history: _History) -> None:
    """After every command, and at any time, one version at most is live; versions are numbered without a gap."""
    memory = Memory(ORIGINATOR)
    for step in history:
        _run(memory, [step])
        for now in (*_TIMES, _TIMES[-1] + timedelta(days=1)):
            assert sum(one.live_at(now) for one in memory.versions) <= 1
        assert [one.written.version for one in memory.versions] == list(range(1, len(memory.versions) + 1))


@for_all(_HISTORIES)
@settings(max_examples=60)
def test_replay_decides_like_the_original(history: _History) -> None:
    """What is not in the state that was compared (requests, rejections) is replayed too: the next command agrees."""
    memory = Memory(ORIGINATOR)
    replayed = Memory.replay(ORIGINATOR, _run(memory, history))
    for request_id in ("", "r1", "r2"):
        for text in ("A", "B", "new"):
            assert _answer(replayed, text, request_id) == _answer(memory, text, request_id)


@for_all(_HISTORIES, st.sampled_from(["A", "B"]))
@settings(max_examples=60)
def test_a_person_always_gets_through(history: _History, text: str) -> None:
    """Whatever happened before, what a person states is live afterwards, and stating it again adds nothing."""
    memory = Memory(ORIGINATOR)
    _run(memory, history)
    told = memory.remember(draft(text), context(PERSON, _TIMES[0]))
    assert memory.find(told.memory).live_at(_TIMES[0])
    memory.collect_events()
    assert memory.remember(draft(text), context(PERSON, _TIMES[0])).outcome == "duplicate"
    assert not memory.pending_events


@for_all(_HISTORIES)
@settings(max_examples=60)
def test_no_agent_ends_a_persons_statement_by_stating(history: _History) -> None:
    """An agent's remember or restore leaves a person's live statement live."""
    memory = Memory(ORIGINATOR)
    _run(memory, history)
    standing = [one for one in memory.versions if one.live_at(NOW) and one.author_type == "person"]
    commands = [remember("new"), remember("A"), *(_on_version("restore", number, "") for number in range(1, 5))]
    for command in commands:
        _run(memory, [(command, AGENT, NOW)])
    assert all(one.live_at(NOW) for one in standing)


def _answer(memory: Memory, text: str, request_id: str) -> object:
    try:
        return memory.remember(draft(text, request_id=request_id), context(AGENT))
    except UmbrielError as error:
        return str(error)


def _through_the_wire(envelope: Envelope) -> Envelope:
    return decode_body(
        encode_body(envelope),
        originator_id=envelope.originator_id,
        originator_version=envelope.originator_version,
        topic=envelope.topic,
        schema=envelope.data.SCHEMA,
        event_id=envelope.event_id,
        recorded_at=envelope.recorded_at,
        key_id=envelope.key_id,
    )

"""The feed of a running service: no event of any topic shows what was forgotten, to nobody and from no cache."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.envelope import Actor, Envelope
from domain.events import (
    TOPICS,
    ContradictionNoted,
    Event,
    MemoryRemembered,
    MessageForgotten,
    MessageRecorded,
    NotesSet,
    TaskSet,
)
from domain.ids import message_id
from domain.kinds import conversation_scope, profile_scope
from domain.redacting import QUOTING
from tests.canaries import CANARY, MESSAGE, SESSION, filled
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import AGENT, PERSON, World, thinking, until

#: Seals, principals and recoveries are the whole service's: no profile's feed has them.
KINDS = sorted({topic.split(".")[0] for topic in TOPICS} - {"seal", "principal", "recovery"})
SAID = message_id(SESSION, "user", CANARY)
#: Written by the verbs below themselves, or what ends things.
_BY_VERBS = {MessageRecorded, MemoryRemembered, NotesSet, TaskSet}
Here = World[Thinkers]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world."""
    async with thinking(tmp_path / "data", Thinkers(), embedder=CheapEmbedder()) as started:
        yield started


async def everything(here: Here, **fields: Any) -> list[Any]:
    """All events of the profile, from its first on."""
    events: list[Any] = []
    after = ""
    while True:
        reply = await here.call("feed", kinds=KINDS, after=after, limit=1_000, **fields)
        events += reply.events
        if not reply.events:
            return events
        after = reply.position


def with_canary(events: list[Any]) -> set[str]:
    """The topics of those that show the canary."""
    return {one.topic for one in events if CANARY in msgspec.json.encode(one).decode()}


async def append(here: Here, *events: Event, session: str = SESSION) -> list[int]:
    """Append events as the worker of each would."""
    core = here.runtime.service.core
    envelopes = []
    for event in events:
        scope = conversation_scope(session) if getattr(event, "session", "") else profile_scope()
        subject = await core.events.subject_id("p", event.category(), uuid.uuid4().hex)
        envelope = Envelope(
            originator_id=subject,
            originator_version=1,
            event_id=uuid.uuid4().hex,
            recorded_at=datetime.now(UTC),
            actor=Actor("worker", "service"),
            data=event,
            key_scope=scope,
        )
        envelopes.append(envelope)
    return await core.events.append(envelopes, expected=None)


async def test_no_event_of_any_topic_shows_what_was_forgotten(here: Here) -> None:
    """Asked before, the feed shows the canary in every topic that may quote; forgotten, in none, to whoever asks.

    A subscriber that waits, one that starts later from the first event, and one that reads what was cached.
    """
    await here.say(CANARY, session=SESSION, contact="mara")
    memory = await here.remember(CANARY, key=CANARY, metadata={"note": CANARY}, contact="mara")
    await here.call("set_context", session=SESSION, notes=CANARY)
    await here.call("set_context", session=SESSION, mode="clear")
    await here.call("set_task", session=SESSION, task=CANARY)
    await here.call("clear_task", session=SESSION)
    for topic, cls in sorted(TOPICS.items()):
        if cls in QUOTING and cls not in _BY_VERBS:
            event = msgspec.json.encode(filled(cls)).decode().replace(MESSAGE, SAID)
            event = event.replace(filled(MemoryRemembered).memory, memory)
            await append(here, msgspec.json.decode(event, type=TOPICS[topic]))
    last = (await append(here, ContradictionNoted(memory=memory, other="", text="the end")))[0]
    await here.runtime.service.core.reader.wait_for(last, 10)
    before = await everything(here)
    quoting = {cls.TOPIC for cls in QUOTING}
    assert with_canary(before) == quoting
    assert not any(one.redacted for one in before)
    waiting = asyncio.create_task(here.call("feed", kinds=["message"], after=before[-1].position, wait=10))
    await until(lambda: _waits(here))
    gone = await here.call("forget", PERSON, id=SAID)
    await here.call("forget", PERSON, id=memory)
    await here.call("delete_session", PERSON, session=SESSION)
    heard = await waiting
    assert [one.topic for one in heard.events] == ["message.forgotten"]
    for _ in range(2):
        after = await everything(here)
        assert with_canary(after) == set()
        assert {one.topic for one in after if one.redacted} == quoting
    assert [one.position for one in after[: len(before)]] == [one.position for one in before]
    names = {one.event_id for one in after if one.topic in {"message.forgotten", "memory.forgotten"}}
    names |= {one.event_id for one in after if one.topic == "conversation.deleted"}
    assert {one.redacted_by for one in after if one.redacted} <= names
    assert SAID in gone.touched
    assert with_canary(await everything(here, contact="mara")) == set()
    assert not any(CANARY in raw.decode() for raw in cached(here))


def cached(here: Here) -> list[bytes]:
    """What is kept of events for subscribers."""
    cache = here.runtime.service.core.feeds.cache
    found = [cache.find(("p", quiet), position) for quiet in (True, False) for position in range(200)]
    return [item.raw for stretch in found if stretch is not None for item in stretch.items]


async def _waits(here: Here) -> bool:
    return here.runtime.service.core.feeds.waiting == 1


async def test_what_comes_after_the_forgetting_is_redacted_too(here: Here) -> None:
    """An event that quotes what was forgotten before it was written shows it to nobody either."""
    await here.say(CANARY, session=SESSION)
    await here.call("forget", PERSON, id=SAID)
    memory = await here.remember("something else", key="other")
    noted = ContradictionNoted(memory=memory, other="", text=CANARY, sources=(SAID,))
    (position,) = await append(here, noted)
    await here.runtime.service.core.reader.wait_for(position, 10)
    assert with_canary(await everything(here)) == set()
    why = await here.call("why", AGENT, id=memory)
    assert CANARY not in msgspec.json.encode(why).decode()


async def test_a_stopped_ledger_shows_nothing_of_what_is_forgotten_after_it(here: Here) -> None:
    """Where the ledger has stopped, what the log says was forgotten since is taken out all the same."""
    await here.say(CANARY, session=SESSION)
    core = here.runtime.service.core
    async with core.profiles.use("p") as opened:
        opened.views.stop("a test")
    assert "message.recorded" in with_canary(await everything(here))
    (position,) = await append(here, MessageForgotten(message=SAID, session=SESSION))
    await core.feeds.reach(position, 10)
    assert with_canary(await everything(here)) == set()

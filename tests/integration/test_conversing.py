"""Messages looked for where they were said, and the record of who asked what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInputError, RefusedError
from domain.grants import Grant, Principal
from domain.settings import Settings
from gateways import bootstrap
from gateways.bootstrap import Runtime
from gateways.service.service import VERBS
from tests.cheap import CheapEmbedder
from tests.integration.test_running import AGENT, call, said

MARA_ONLY = Principal("shop", "agent", (Grant("p", "read", ("mara",)),))


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A running service in which two contacts and nobody talked about boats."""
    settings = Settings(thinking=False)
    async with bootstrap.running(tmp_path / "data", settings=settings, embedder=CheapEmbedder()) as started:
        for session, contact, line in (
            ("m1", "mara", "the boat is red"),
            ("m2", "mara", "the boat is slow"),
            ("j1", "jon", "the boat is green"),
            ("n1", "", "the boat is old"),
        ):
            await call(started, "ingest", messages=said(line), session=session, contact=contact)
            messages = [{"role": "assistant", "content": f"noted: {line}"}]
            await call(started, "ingest", messages=messages, session=session, contact=contact)
        yield started


async def texts(runtime: Runtime, **fields: Any) -> set[str]:
    """What is found of everything said."""
    at_least = runtime.service.core.positions.show(await runtime.service.core.events.log.last_position())
    reply = await call(
        runtime, "recall_conversation", query="boat", limit=50, **{"mode": "keyword", "at_least": at_least, **fields}
    )
    return {one.text for one in reply.messages}


@pytest.mark.parametrize("mode", ["semantic", "keyword", "hybrid"])
async def test_each_scope_has_its_own_messages(runtime: Runtime, mode: str) -> None:
    """A session, a contact's sessions, sessions without one, and all: each finds its own and nothing else."""
    ask = {"mode": mode, "role": "user"}
    assert await texts(runtime, session="m1", **ask) == {"the boat is red"}
    assert await texts(runtime, contact="mara", **ask) == {"the boat is red", "the boat is slow"}
    assert await texts(runtime, **ask) == {"the boat is old"}
    assert len(await texts(runtime, scope="all", **ask)) == 4


async def test_a_role_leaves_the_others_out(runtime: Runtime) -> None:
    """What the assistant said is found as such."""
    assert await texts(runtime, session="m1", role="assistant") == {"noted: the boat is red"}
    assert len(await texts(runtime, session="m1")) == 2


async def test_no_memory_is_among_messages_and_repetitions_stay(runtime: Runtime) -> None:
    """Only messages come back, each one that was said."""
    await call(runtime, "remember", content="The boat is called Vera", contact="mara")
    again = [{"role": "user", "content": "the boat is red", "occurrence": 2}]
    position = (await call(runtime, "ingest", messages=again, session="m1", contact="mara")).position
    ask = {"query": "boat", "mode": "keyword", "role": "user", "at_least": position}
    reply = await call(runtime, "recall_conversation", session="m1", **ask)
    assert [one.text for one in reply.messages] == ["the boat is red", "the boat is red"]
    assert {one.kind for one in reply.messages} == {"message"}


async def test_what_is_out_of_reach_is_not_there(runtime: Runtime) -> None:
    """A caller with one contact finds nothing of another's session, and may not ask for all or for nobody's."""

    async def ask(**fields: Any) -> list[str]:
        body = msgspec.json.encode({"query": "boat", "mode": "keyword", **fields})
        reply = await runtime.service.call("recall_conversation", MARA_ONLY, "p", body)
        return [one.text for one in reply.messages]  # type: ignore[attr-defined]

    assert set(await ask(contact="mara", role="user")) == {"the boat is red", "the boat is slow"}
    assert await ask(session="m1", role="user") == ["the boat is red"]
    assert await ask(session="j1") == []
    assert await ask(session="unheard of") == []
    assert await ask() == []
    for fields in ({"scope": "all"}, {"contact": "jon"}):
        with pytest.raises(RefusedError):
            await ask(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"scope": "conversation"},
        {"scope": "all", "session": "m1"},
        {"scope": "all", "contact": "mara"},
        {"query": ""},
        {"limit": 0},
    ],
)
async def test_a_request_that_contradicts_itself_is_refused(runtime: Runtime, fields: dict[str, Any]) -> None:
    """A scope needs what it is about, and takes nothing else."""
    with pytest.raises(InvalidInputError):
        await call(runtime, "recall_conversation", **{"query": "boat", **fields})


async def test_every_recall_is_recorded_with_who_asked(runtime: Runtime) -> None:
    """The log says who asked what, when, and what was handed out; in the feed only for those who ask for it."""
    written = await call(runtime, "remember", content="The boat is called Vera", contact="mara", key="boat")
    ask = {"contact": "mara", "channels": ["keyword"], "at_least": written.position}
    found = await call(runtime, "recall", query="boat", **ask)
    await call(runtime, "recall_conversation", query="red boat", session="m1", mode="keyword")
    await runtime.service.handed_out.recalls.flush()
    feed = await call(runtime, "feed", kinds=["recall"])
    entries = [entry for event in feed.events for entry in event.data["entries"]]
    assert [(one["verb"], one["query"], one["principal"]) for one in entries] == [
        ("recall", "boat", AGENT.name),
        ("recall_conversation", "red boat", AGENT.name),
    ]
    assert entries[0]["results"] == [one.id for one in found.results]
    assert all(one["at"] for one in entries)
    assert not [event for event in (await call(runtime, "feed", limit=500)).events if event.topic == "recall.served"]


async def test_who_may_not_hear_a_contact_does_not_see_what_was_asked_about_it(runtime: Runtime) -> None:
    """Questions about another contact, and about everybody, stay out of a limited feed."""
    for contact in ("mara", "jon", "*"):
        await call(runtime, "recall", query=f"boat of {contact}", contact=contact, channels=["keyword"])
    await runtime.service.handed_out.recalls.flush()
    feed: Any = await runtime.service.call("feed", MARA_ONLY, "p", b'{"kinds": ["recall"]}')
    events = msgspec.json.decode(msgspec.json.encode(feed), type=VERBS["feed"].reply).events
    assert [entry["query"] for event in events for entry in event.data["entries"]] == ["boat of mara"]


async def test_recalls_are_not_recorded_where_a_profile_says_so(runtime: Runtime) -> None:
    """A setting leaves questions out of the log."""
    await call(runtime, "settings", changes={"access.recalls": False})
    await call(runtime, "recall", query="boat", channels=["keyword"])
    await runtime.service.handed_out.recalls.flush()
    assert (await call(runtime, "feed", kinds=["recall"])).events == []

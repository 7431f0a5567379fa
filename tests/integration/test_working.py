"""Notes, tasks, goals and reflections on a whole service: written, read, and made again from the log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInputError, NotFoundError, RefusedError
from domain.grants import Grant, Principal
from domain.kernel import Context
from domain.settings import Settings
from gateways.service.context import Caller
from tests.cheap import CheapEmbedder
from tests.thinking_world import AGENT, PERSON, World, thinking, until

pytestmark = pytest.mark.timeout(120)

ANN = Principal("ann-bot", "agent", (Grant("p", "write", ("ann",)),))
BOB = Principal("bob-bot", "agent", (Grant("p", "write", ("bob",)),))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World[None]]:
    """A service that only keeps what it is told."""
    settings = Settings(wait_seconds=20.0, thinking=False)
    async with thinking(tmp_path / "data", None, settings=settings, embedder=CheapEmbedder()) as running:
        yield running


async def everything(world: World[None]) -> list[msgspec.Struct]:
    """All that can be read of the working and the reflective tier, without the positions it was read at."""
    replies = [
        *[await world.call(verb, session=session) for verb in ("get_context", "get_task") for session in ("s", "t")],
        await world.call("list_reflections"),
        await world.call("list_goals", status="all"),
        await world.call("list", status="all"),
    ]
    return [msgspec.structs.replace(one, position="") for one in replies]


async def test_notes_and_tasks(world: World[None]) -> None:
    """They are what was set last, with who set them, and there at once; of an unknown session there are none."""
    await world.call("set_context", session="s", notes="short answers")
    added = await world.call("set_context", PERSON, session="s", notes="in French", mode="append")
    assert (added.notes, added.changed) == ("short answers\nin French", True)
    found = await world.call("get_context", session="s")
    assert (found.notes, found.author, found.author_type) == (added.notes, "local", "person")
    assert not (await world.call("set_context", session="s", notes=added.notes)).changed
    assert (await world.call("get_context", session="t")).notes == ""
    assert (await world.call("set_task", session="s", task="book the trip")).task == "book the trip"
    assert (await world.call("get_task", session="s")).task == "book the trip"
    assert (await world.call("clear_task", session="s")).changed
    assert (await world.call("set_context", session="s", mode="clear")).notes == ""
    assert ((await world.call("get_task", session="s")).task, (await world.call("get_context", session="s")).notes) == (
        "",
        "",
    )
    assert (await world.topics())[1:] == [
        "conversation.notes_set",
        "conversation.notes_set",
        "conversation.task_set",
        "conversation.task_cleared",
        "conversation.notes_set",
    ]


async def test_notes_are_no_memories(tmp_path: Path) -> None:
    """They are in no recall and no list, and are never read for memories; what was said beside them is."""
    async with thinking(tmp_path / "data", None, embedder=CheapEmbedder()) as world:
        await world.call("set_context", session="s", notes="I live in Faro.")
        await world.call("set_task", session="s", task="remind me to buy tickets to Faro")
        await world.say("I live in Porto.", session="s")
        assert all("Faro" not in text for text in await world.texts())
        assert any("Porto" in text for text in await world.texts())
        found = await world.call("recall", query="Faro tickets", contact="*")
        assert all("Faro" not in one.text for one in found.results)


async def test_a_retried_request_is_carried_out_once(world: World[None]) -> None:
    """Also after other requests: A, then B, then A again by retry."""
    requests: list[dict[str, Any]] = [{"notes": "A", "request_id": "r1"}, {"notes": "B"}]
    for fields in (*requests, requests[0]):
        last = await world.call("set_context", session="s", mode="append", **fields)
    assert (last.notes, last.changed) == ("A\nB", False)
    for _ in range(2):
        await world.call("set_goal", text="rest", request_id="r2")
        await world.call("progress_goal", goal=(await world.call("list_goals")).goals[0].id, note="x", request_id="r3")
    (goal,) = (await world.call("list_goals")).goals
    assert [one.topic for one in goal.history] == ["goal.set", "goal.progressed"]


async def test_goals(world: World[None]) -> None:
    """By name or id: set, changed, progressed, closed with an outcome, listed by status with their history."""
    due = datetime(2030, 1, 31, 12, tzinfo=UTC)
    first = (await world.call("set_goal", text="Answer within a day", name="Reply speed", due=due)).goal
    await world.call("set_goal", text="Learn French")
    await world.call("progress_goal", goal="reply-speed", note="half of them", fraction=0.5)
    await world.call("set_goal", PERSON, text="Answer within an hour", name="reply speed", due=due)
    closed = await world.call("close_goal", goal=first.id, outcome="failed", note="too many")
    assert (closed.goal.state, closed.goal.fraction, closed.goal.due) == ("failed", 0.5, due)
    assert [one.text for one in closed.goal.history] == [
        "Answer within a day",
        "half of them",
        "Answer within an hour",
        "too many",
    ]
    assert [one.text for one in (await world.call("list_goals")).goals] == ["Learn French"]
    for status in ("closed", "failed"):
        assert [one.name for one in (await world.call("list_goals", status=status)).goals] == ["reply speed"]
    (one,) = (await world.call("list_goals", goal="Reply Speed", history=1)).goals
    assert (one.omitted, one.history[0].outcome) == (3, "failed")
    page = await world.call("list_goals", status="all", limit=1)
    rest = await world.call("list_goals", status="all", limit=1, cursor=page.cursor)
    assert [one.text for one in (*page.goals, *rest.goals)] == ["Learn French", "Answer within an hour"]
    assert rest.cursor == ""
    with pytest.raises(RefusedError):
        await world.call("set_goal", text="Answer never", name="reply speed")
    with pytest.raises(NotFoundError):
        await world.call("progress_goal", goal="nothing", note="x")


async def test_a_reflection_writes_memories_with_its_trust(world: World[None]) -> None:
    """At reflection:{date}:{topic}, 0.85, agent-wide; 0.9 is for what was stated, whatever the payload says."""
    reply = await world.call(
        "reflect", topic="Deploys", text="Fridays went wrong twice", learnings=["No deploys on Fridays", "Tag first"]
    )
    day = datetime.now(UTC).date().isoformat()
    assert (reply.recorded, reply.day) == (True, day)
    assert [one.key for one in reply.learnings] == [f"reflection:{day}:Deploys", f"reflection:{day}:Deploys:2"]
    memory = await world.call("get", key=f"reflection:{day}:deploys")
    assert (memory.text, memory.confidence, memory.source) == ("No deploys on Fridays", 0.85, "reflection")
    assert (memory.contact, memory.kind, memory.fact_type, memory.id) == (
        "",
        "fact",
        "reflection",
        reply.learnings[0].memory,
    )
    with pytest.raises(InvalidInputError):
        await world.call("reflect", topic="t", text="x", confidence=1.0)
    found = await world.call("recall", query="deploys on Fridays", at_least=reply.position, visibility="keyword")
    assert found.results[0].id == memory.id
    again = await world.call(
        "reflect", topic="deploys", text="What we saw", learnings=["Freeze in August", "tag first."]
    )
    assert [(one.outcome, one.key) for one in again.learnings] == [
        ("remembered", f"reflection:{day}:deploys:3"),
        ("duplicate", ""),
    ]
    assert sorted(await world.texts()) == ["Freeze in August", "No deploys on Fridays", "Tag first"]
    plain = await world.call("reflect", topic="naps", text="Short naps help")
    assert [one.key for one in plain.learnings] == [f"reflection:{day}:naps"]


async def test_a_reflection_is_recorded_once(world: World[None]) -> None:
    """The same words, or the same request with others, write nothing."""
    fields: dict[str, Any] = {"topic": "naps", "text": "Short naps help"}
    first = await world.call("reflect", **fields, request_id="r1")
    for repeat in (fields, {**fields, "text": "short naps help."}, {**fields, "text": "Other", "request_id": "r1"}):
        again = await world.call("reflect", **repeat)
        assert (again.recorded, again.learnings) == (False, first.learnings)
    assert len((await world.call("list_reflections")).reflections) == 1
    assert await world.texts() == ["Short naps help"]


async def test_a_request_repeated_after_midnight(world: World[None], monkeypatch: pytest.MonkeyPatch) -> None:
    """It was carried out on the day before; another request with the same words is of the new day."""
    now = Caller.context
    fields: dict[str, Any] = {"topic": "naps", "text": "Short naps help"}

    def a_day_ago(self: Caller) -> Context:
        context = now(self)
        return msgspec.structs.replace(context, now=context.now - timedelta(days=1))

    with monkeypatch.context() as before:
        before.setattr(Caller, "context", a_day_ago)
        first = await world.call("reflect", **fields, request_id="r1")
    again = await world.call("reflect", **fields, request_id="r1")
    assert (again.recorded, again.day) == (False, first.day)
    other = await world.call("reflect", **fields, request_id="r2")
    assert (other.recorded, [one.outcome for one in other.learnings]) == (True, ["duplicate"])
    assert other.day > first.day


async def test_what_a_person_rejected_is_not_learnt_again(world: World[None]) -> None:
    """An agent's reflection leaves it out, at any address, and the rest is written; a person's brings it back."""
    wrong = await world.remember("Mars has rings", key="mars")
    await world.call("reject", PERSON, id=wrong)
    fields: dict[str, Any] = {
        "topic": "planets",
        "text": "Looked at planets",
        "learnings": ["Mars has rings", "Saturn has rings"],
    }
    reply = await world.call("reflect", **fields)
    assert [one.outcome for one in reply.learnings] == ["refused", "remembered"]
    assert await world.texts() == ["Saturn has rings"]
    (listed,) = (await world.call("list_reflections")).reflections
    assert [one.text for one in listed.learnings] == ["", "Saturn has rings"]
    await world.call("reflect", PERSON, **{**fields, "text": "Looked again"})
    assert sorted(await world.texts()) == ["Mars has rings", "Saturn has rings"]


async def test_reflections_are_listed(world: World[None]) -> None:
    """Newest first, by topic and day, page by page; what was forgotten has no words there either."""
    for number in range(3):
        await world.call("reflect", topic="naps" if number else "food", text=f"thought {number}")
    every = await world.call("list_reflections")
    assert [one.text for one in every.reflections] == ["thought 2", "thought 1", "thought 0"]
    page = await world.call("list_reflections", topic="NAPS", limit=1)
    rest = await world.call("list_reflections", topic="naps", cursor=page.cursor)
    assert [one.text for one in (*page.reflections, *rest.reflections)] == ["thought 2", "thought 1"]
    today = every.reflections[0].day
    yesterday = (datetime.fromisoformat(today) - timedelta(days=1)).date().isoformat()
    assert len((await world.call("list_reflections", day=today)).reflections) == 3
    assert (await world.call("list_reflections", day=yesterday)).reflections == []
    gone = await world.call("forget", id=every.reflections[0].learnings[0].memory)
    left = await world.call("list_reflections", at_least=gone.position)
    assert [(one.text, one.learnings[0].text) for one in left.reflections][:2] == [("", ""), ("thought 1", "thought 1")]


async def test_a_rebuild_reproduces_all_of_it(world: World[None]) -> None:
    """Every note, task, goal and reflection, to the letter, with times and authors."""
    await world.call("set_context", session="s", notes="one")
    await world.call("set_context", PERSON, session="s", notes="two", mode="append")
    await world.call("set_context", session="t", notes="gone")
    await world.call("set_context", session="t", mode="clear")
    await world.call("set_task", session="t", task="book")
    for number in range(3):
        await world.call("set_goal", text=f"goal {number}", name=f"g{number}")
        await world.call("progress_goal", goal=f"g{number}", note="on", fraction=number / 4)
    await world.call("close_goal", goal="g1", outcome="dropped")
    reply = await world.call("reflect", topic="naps", text="Short naps help", learnings=["Nap at noon", "Never at six"])
    await world.call("forget", id=reply.learnings[1].memory)
    last = await world.call("set_goal", PERSON, text="goal 1 again", name="g1")
    await world.call("list_goals", at_least=last.position)
    before = await everything(world)
    await world.call("rebuild", wait=True)
    assert await everything(world) == before
    assert "Nap at noon" in str(before)
    assert "Never at six" not in str(before)


async def test_a_grant_for_some_contacts(world: World[None]) -> None:
    """A new session is attached to the contact that is named, and is out of everybody else's sight and reach."""
    await world.call("set_context", ANN, session="s", notes="private", contact="ann")
    await world.call("set_task", ANN, session="s", task="hers")
    assert (await world.call("get_context", ANN, session="s")).notes == "private"
    assert (await world.call("get_context", BOB, session="s")).notes == ""
    assert (await world.call("get_task", BOB, session="s")).task == ""
    for verb, fields in (
        ("set_context", {"notes": "x", "contact": "bob"}),
        ("set_task", {"task": "x", "contact": "bob"}),
        ("clear_task", {}),
        ("ingest", {"messages": [{"role": "user", "content": "x"}], "contact": "bob"}),
    ):
        with pytest.raises(RefusedError):
            await world.call(verb, BOB, session="s", **fields)
    # Of nobody in particular: not for who may write for some only.
    await world.call("set_context", session="open", notes="for all")
    with pytest.raises(RefusedError):
        await world.call("set_context", ANN, session="open", notes="mine now", contact="ann")
    assert (await world.call("get_context", ANN, session="open")).notes == ""

    async def seen() -> bool:
        feeds = [await world.call("feed", one, kinds=["conversation"], limit=100) for one in (ANN, BOB)]
        return [len(feed.events) for feed in feeds] == [3, 0]

    await until(seen)


@pytest.mark.parametrize(
    "verb, fields",
    [
        ("set_context", {"session": "s"}),
        ("set_context", {"session": "s", "notes": "x", "mode": "clear"}),
        ("set_context", {"session": "s", "notes": "x", "mode": "prepend"}),
        ("set_context", {"session": "s", "notes": "x" * 16_385}),
        ("set_context", {"session": "", "notes": "x"}),
        ("set_context", {"session": "s", "notes": "x", "contact": "*"}),
        ("set_task", {"session": "s", "task": " "}),
        ("set_task", {"session": "s", "task": "x" * 4_097}),
        ("get_task", {"session": "x" * 65}),
        ("reflect", {"topic": "", "text": "x"}),
        ("reflect", {"topic": "x" * 201, "text": "x"}),
        ("reflect", {"topic": "t", "text": ""}),
        ("reflect", {"topic": "t", "text": "x", "learnings": [""]}),
        ("reflect", {"topic": "t", "text": "x", "learnings": ["x"] * 21}),
        ("list_reflections", {"day": "20260131"}),
        ("list_reflections", {"cursor": "x"}),
        ("list_reflections", {"limit": 0}),
        ("set_goal", {"text": ""}),
        ("set_goal", {"text": "x", "due": "2026-01-31T12:00:00"}),
        ("set_goal", {"text": "x", "due": "9999-12-31T23:00:00-05:00"}),
        ("remember", {"content": "x", "valid_from": "0001-01-01T00:00:00+14:00"}),
        ("remember", {"content": "x", "expires_at": "9999-12-31T23:00:00Z"}),
        ("ingest", {"messages": [{"role": "user", "content": "x", "at": "0001-01-01T00:00:00+01:00"}]}),
        ("recall", {"query": "x", "since": "0001-01-01T00:00:00+01:00"}),
        ("recall", {"query": "last year", "reference_date": "0001-06-01T00:00:00Z"}),
        ("consolidate", {"day": "0001-01-01", "dry_run": True}),
        ("progress_goal", {"goal": "g"}),
        ("progress_goal", {"goal": "g", "fraction": 1.5}),
        ("close_goal", {"goal": "g", "outcome": "maybe"}),
        ("list_goals", {"status": "late"}),
        ("list_goals", {"history": 501}),
    ],
)
async def test_bad_input_writes_nothing(world: World[None], verb: str, fields: dict[str, Any]) -> None:
    """It is refused before the profile exists."""
    with pytest.raises(InvalidInputError):
        await world.call(verb, AGENT, **fields)
    assert await world.topics() == []

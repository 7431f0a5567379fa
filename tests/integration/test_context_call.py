"""The context of a turn: everything in it within the budget, in order, and each message once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInputError, NotFoundError
from domain.grants import Grant, Principal
from domain.tokens import estimated_tokens
from projections.ledger import Ledger
from tests.cheap import CheapEmbedder
from tests.thinking_world import AGENT, QUICK, World, thinking, until

MARA_ONLY = Principal("shop", "agent", (Grant("p", "read", ("mara",)),))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World[None]]:
    """A service that thinks with nothing but what is local."""
    async with thinking(tmp_path / "data", None, settings=QUICK, embedder=CheapEmbedder()) as started:
        yield started


async def talk(world: World[Any], count: int, *, start: int = 0, session: str = "s", contact: str = "") -> str:
    """Let a conversation go on for so many messages of some twenty tokens; returns the position of the last."""
    messages = [
        {
            "role": "user" if number % 2 == 0 else "assistant",
            "content": f"Message number {number} is about topic {number % 7}, costs ${number} and ends here.",
        }
        for number in range(start, start + count)
    ]
    reply = None
    for at in range(0, count, 500):
        batch = messages[at : at + 500]
        reply = await world.call("ingest", messages=batch, session=session, contact=contact)
    assert reply is not None
    return str(reply.position)


async def ledger_of(world: World[Any]) -> Ledger:
    """The ledger of the profile."""
    async with world.runtime.service.core.profiles.use("p") as opened:
        return opened.views.ledger


async def covered(world: World[Any], **fields: Any) -> Any:
    """The context, asked for until no summary is missing any more."""
    found: list[Any] = []

    async def done() -> bool:
        found[:] = [await world.call("context", session="s", **fields)]
        return not found[0].covering

    await until(done, 60.0)
    return found[0]


def kinds(reply: Any) -> list[str]:
    """The kinds of the parts, each once, in order."""
    return list(dict.fromkeys(part.kind for part in reply.parts))


def numbers(parts: Sequence[Any]) -> list[int]:
    """Which messages are shown, by their numbers."""
    return [int(part.text.split()[2]) for part in parts if part.text.startswith("Message number")]


async def test_a_short_conversation_is_shown_as_it_was_said(world: World[None]) -> None:
    """What fits is there word for word, with who said it; nothing is summarised."""
    at_least = await talk(world, 4)
    reply = await world.call("context", session="s", at_least=at_least)
    assert numbers(reply.parts) == [0, 1, 2, 3]
    assert [part.role for part in reply.parts] == ["user", "assistant", "user", "assistant"]
    assert not reply.covering
    assert reply.total == sum(part.tokens for part in reply.parts) <= reply.budget


async def test_what_was_acknowledged_is_in_the_next_context(world: World[None]) -> None:
    """A loop that records what the user said and asks at once sees it, without waiting for anything by itself."""
    for number in range(30):
        await talk(world, 1, start=2 * number)
        assert numbers((await world.call("context", session="s")).parts)[-1:] == [2 * number]


async def test_a_long_conversation_gets_summaries_in_its_middle(world: World[None]) -> None:
    """Beginning and end word for word, summaries between them, each message in one place at most, within the budget."""
    at_least = await talk(world, 300)
    first = await world.call("context", session="s", budget=2_000, at_least=at_least)
    assert first.covering
    reply = await covered(world, budget=2_000)
    assert kinds(reply)[0] == "head"
    assert "overlay" in kinds(reply)
    shown = numbers(reply.parts)
    assert shown[:2] == [0, 1]
    assert shown[-1] == 299
    assert shown == sorted(set(shown))
    assert reply.total <= 2_000
    ledger = await ledger_of(world)
    overlays = ledger.overlays("s")
    positions = ledger.outline("s")
    inside = {n for one in overlays for n, at in enumerate(positions) if one.first_position <= at <= one.last_position}
    assert len(inside) == sum(one.messages for one in overlays)
    assert inside.isdisjoint({0, 1})
    assert all(3 <= one.messages <= 60 for one in overlays)
    assert all("Extract, not a model's summary" in one.summary for one in overlays)
    # A larger budget later reaches into what is summarised: still each message once.
    larger = await world.call("context", session="s", budget=4_000)
    again = numbers(larger.parts)
    assert again == sorted(set(again))
    assert again[-1] == 299
    whole = numbers((await world.call("context", session="s", budget=50_000)).parts)
    assert whole == sorted(set(whole))
    assert len(whole) > len(again)


async def test_overlays_survive_a_rebuild_and_new_messages(world: World[None]) -> None:
    """A rebuild tells the same overlays and summary, and what is said later covers nothing twice."""
    await talk(world, 200)
    before = await covered(world, budget=1_000)
    await talk(world, 60, start=200)
    after = await covered(world, budget=1_000)
    ledger = await ledger_of(world)
    told = ledger.overlays("s"), ledger.summaries("s")
    assert len(told[0]) > 1
    await world.call("rebuild")
    rebuilt = await ledger_of(world)
    assert (rebuilt.overlays("s"), rebuilt.summaries("s")) == told
    assert before.total <= 1_000 >= after.total
    events = (await world.call("feed", kinds=["conversation"], limit=1_000)).events
    messages = [m for one in events if one.topic == "conversation.overlay_added" for m in one.data["messages"]]
    assert len(messages) == len(set(messages)) > 0


async def test_overlays_that_overflow_are_told_in_one_summary(world: World[None]) -> None:
    """Where a fifth of the budget is too little for all overlays, the summary of everything stands for the rest."""
    at_least = await talk(world, 400)
    reply = await covered(world, budget=600, at_least=at_least)
    assert "summary" in kinds(reply)
    (current, *_) = (await ledger_of(world)).summaries("s")
    assert current.archived_at is None
    assert reply.total <= 600


async def test_a_forgotten_message_takes_its_summaries_along(world: World[None]) -> None:
    """A5: the overlay and the summary that rest on it go at once, others stay, and the rest is covered anew."""
    await world.call(
        "ingest", messages=[{"role": "user", "content": "Hello"}, {"role": "user", "content": "Hi"}], session="s"
    )
    secret = await world.call(
        "ingest", messages=[{"role": "user", "content": "Zanzibar costs $4,711 in 2031."}], session="s"
    )
    await talk(world, 300)
    await covered(world, budget=600)
    ledger = await ledger_of(world)
    assert any("Zanzibar" in one.summary for one in ledger.overlays("s"))
    kept = {one.id for one in ledger.overlays("s") if "Zanzibar" not in one.summary}
    gone = await world.call("forget", id=secret.outcomes[0].id)
    await world.runtime.service.core.reader.wait_for(
        world.runtime.service.core.positions.read(gone.position, field="position"), 10
    )
    assert {one.id for one in ledger.overlays("s")} == kept
    assert not any("Zanzibar" in one.summary for one in ledger.summaries("s"))
    reply = await covered(world, budget=600)
    assert "summary" in kinds(reply)
    assert "Zanzibar" not in "".join(part.text for part in reply.parts)
    assert len(ledger.overlays("s")) > len(kept)
    assert ledger.lost_overlays("s") == []


async def test_what_goes_out_of_sight_is_read_once_more(world: World[None]) -> None:
    """A stretch that gets an overlay is read for memories, at most ten, from the path that says so."""
    await talk(world, 2)
    said = [{"role": "user", "content": f"My brother number {n} is called Emil{n}."} for n in range(12)]
    await world.call("ingest", messages=said, session="s")
    await talk(world, 200, start=2)
    await covered(world, budget=800)

    async def flushed() -> bool:
        events = (await world.call("feed", kinds=["extraction"], limit=1_000)).events
        sources = [one.data["source"] for one in events if one.topic == "extraction.completed"]
        return "pre-compaction" in sources

    await until(flushed)
    events = (await world.call("feed", kinds=["extraction"], limit=1_000)).events
    found = [one.data for one in events if one.data.get("source") == "pre-compaction"]
    assert found
    assert all(len(one.get("items", ())) <= 10 for one in found)


async def test_everything_is_in_one_place_and_the_changing_parts_come_late(world: World[None]) -> None:
    """Task, notes and memories stand before the last message, fenced as data; what comes before stays the same."""
    await talk(world, 5)
    await world.call("set_task", session="s", task="Book the ferry")
    await world.call("set_context", session="s", notes="The cabin is booked.")
    await world.remember("Mara is allergic to message topic nuts")
    await world.call(
        "save_turn", session="s", turn_id="t1", rows=[{"tool": "search", "arguments": "{}", "result": "ferry at nine"}]
    )
    reply = await world.call("context", session="s", query="What is Mara allergic to?", limit=5)
    order = [part.kind for part in reply.parts]
    assert order == ["tail"] * 4 + ["task", "notes", "memories", "tail"]
    texts = {part.kind: part.text for part in reply.parts}
    assert "Book the ferry" in texts["task"]
    assert "The cabin is booked." in texts["notes"]
    assert "allergic" in texts["memories"]
    for kind, mark in (("task", "conversation_task"), ("notes", "working_notes"), ("memories", "recalled_memory")):
        assert texts[kind].startswith(f"<{mark} mark=")
    await world.call("set_context", session="s", notes="The cabin is paid.")
    again = await world.call("context", session="s", query="topic", limit=5)
    assert [part.text for part in again.parts[:4]] == [part.text for part in reply.parts[:4]]


@pytest.mark.parametrize("role", ["assistant", "tool"])
async def test_what_is_fenced_is_never_the_last_word(world: World[None], role: str) -> None:
    """Where somebody spoke after the user, or what the user says again is known: a model is to answer no notes."""
    await talk(world, 3)
    await world.call("ingest", messages=[{"role": role, "content": "The ferry leaves at nine."}], session="s")
    await world.call("set_task", session="s", task="Book the ferry")
    at_least = await talk(world, 1, start=2)
    reply = await world.call("context", session="s", at_least=at_least, format="openai")
    assert [part.kind for part in reply.parts] == ["tail", "tail", "task", "tail", "tail"]
    assert numbers(reply.parts) == [0, 1, 2]
    assert reply.messages[-1].content.endswith("The ferry leaves at nine.")


async def test_a_conversation_without_a_user_ends_with_its_last_message(world: World[None]) -> None:
    """Only the assistant spoke: what is fenced stands before that; and alone where nobody spoke."""
    await world.call("ingest", messages=[{"role": "assistant", "content": "Welcome!"}], session="s")
    for session in ("s", "t"):
        await world.call("set_task", session=session, task="Book the ferry")
    assert [part.kind for part in (await world.call("context", session="s")).parts] == ["task", "tail"]
    assert [part.kind for part in (await world.call("context", session="t")).parts] == ["task"]


@pytest.mark.parametrize("format_", ["openai", "anthropic"])
async def test_messages_have_the_shape_of_an_api(world: World[None], format_: str) -> None:
    """Every part is one message with a role that the API knows, the last one the user's."""
    await world.call("ingest", messages=[{"role": "assistant", "content": "Welcome!"}], session="s")
    await world.call("ingest", messages=[{"role": "tool", "content": "42"}], session="s")
    await talk(world, 5)
    await world.call("set_task", session="s", task="Count")
    reply = await world.call("context", session="s", format=format_)
    roles = [one.role for one in reply.messages]
    assert set(roles) <= ({"system", "user", "assistant"} if format_ == "openai" else {"user", "assistant"})
    assert roles[-1] == "user"
    assert format_ == "openai" or roles[0] == "user"
    assert sum(estimated_tokens(one.content) for one in reply.messages) <= reply.budget
    assert any("[tool output] 42" in one.content for one in reply.messages)


@pytest.mark.parametrize("budget", [100, 130, 200, 400, 1_000, 3_000])
async def test_no_budget_is_exceeded(world: World[None], budget: int) -> None:
    """Long notes, a long task, long memories, long messages in several scripts: the sum is never above the budget."""
    await world.call("set_task", session="s", task="Book the ferry. " * 100)
    await world.call("set_context", session="s", notes="The cabin is booked. " * 100)
    for text in ("船は赤い" * 200, "The boat is red. " * 200, "Лодка красная. " * 200, '{"a": [1, 2, 3]}' * 100):
        await world.call("remember", content=text)
        position = (await world.call("ingest", messages=[{"role": "user", "content": text}], session="s")).position
    for format_ in ("parts", "openai", "anthropic"):
        reply = await world.call(
            "context", session="s", query="boat 船 Лодка", budget=budget, format=format_, at_least=position
        )
        assert sum(estimated_tokens(part.text) for part in reply.parts) == reply.total <= budget
        assert sum(estimated_tokens(one.content) for one in reply.messages) <= budget
        assert reply.parts[-1].kind == "tail"


async def test_a_turn_that_stopped_is_taken_over_once(world: World[None]) -> None:
    """What a killed turn had found is in the first context that asks for it, and in no other."""
    settings = world.runtime.service.core.settings
    quick = msgspec.structs.replace(settings.turns, resume_seconds=0.05)
    world.runtime.service.core.settings = msgspec.structs.replace(settings, turns=quick)
    await talk(world, 3)
    await world.call("save_turn", session="s", turn_id="t1", rows=[{"tool": "search", "result": "ferry at nine"}])
    await asyncio.sleep(0.1)
    first, second = [await world.call("context", session="s", resume=True, request_id=f"r{n}") for n in range(2)]
    assert first.turn_id == "t1"
    assert "ferry at nine" in "".join(part.text for part in first.parts if part.kind == "resumed")
    assert second.turn_id == ""
    assert "resumed" not in kinds(second)


async def test_a_session_out_of_reach_is_not_there(world: World[None]) -> None:
    """A caller with one contact gets its sessions, and another's as little as one that does not exist."""
    await talk(world, 3, session="m", contact="mara")
    at_least = await talk(world, 3, session="j", contact="jon")

    async def ask(session: str) -> Any:
        body = msgspec.json.encode({"session": session, "contact": "mara", "at_least": at_least})
        return await world.runtime.service.call("context", MARA_ONLY, "p", body)

    assert numbers((await ask("m")).parts) == [0, 1, 2]
    with pytest.raises(NotFoundError):
        await ask("j")
    assert (await ask("new")).parts == []


async def test_a_question_without_a_contact_is_nobody_elses(world: World[None]) -> None:
    """The record of a recall without a contact reaches them who hear everybody, and no feed of one contact."""
    question = "What did the auditors find?"
    await talk(world, 1)
    for contact in ("", "mara", "jon"):
        asked = await world.call("recall", query=question + contact, contact=contact)
    await world.runtime.service.core.reader.wait_for(
        world.runtime.service.core.positions.read(asked.position, field="position"), 10
    )

    async def served(principal: Principal) -> list[str]:
        page = await world.call("feed", principal, kinds=["recall"], limit=100)
        return [one["query"] for event in page.events for one in event.data["entries"]]

    await until(lambda: _said(served(AGENT), question, question + "mara", question + "jon"))
    assert await served(MARA_ONLY) == [question + "mara"]


async def _said(reading: Awaitable[list[str]], *expected: str) -> bool:
    return sorted(await reading) == sorted(expected)


@pytest.mark.parametrize("fields", [{"session": ""}, {"budget": 99}, {"limit": 0}, {"session": "x" * 65}])
async def test_a_request_that_cannot_be_met_is_refused(world: World[None], fields: dict[str, Any]) -> None:
    """Names, limits and budgets are checked before anything is read."""
    with pytest.raises(InvalidInputError):
        await world.call("context", **{"session": "s", **fields})

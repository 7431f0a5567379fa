"""Recall as people meet it: any script, any punctuation, nothing that has ended, never more than was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from domain.tokens import estimated_tokens
from gateways.provenance import fenced
from umbriel import InvalidInputError, Umbriel
from umbriel.types import Message

#: A statement in each script, and a question that shares its words.
SCRIPTS = {
    "Japanese": ("田中さんは東京に住んでいます", "東京"),
    "Korean": ("김민수는 서울에서 일한다", "서울"),
    "Chinese": ("李雷喜欢喝乌龙茶", "乌龙茶"),
    "Russian": ("Анна живёт в Казани", "Казани"),
    "Arabic": ("تعيش ليلى في القاهرة", "القاهرة"),
    "Greek": ("Ο Νίκος μένει στην Αθήνα", "Αθήνα"),
    "Hebrew": ("דנה גרה בחיפה", "בחיפה"),
    "Thai": ("สมชายอาศัยอยู่ที่เชียงใหม่", "เชียงใหม่"),
    "accents": ("The café is called Señor Müller", "cafe senor muller"),
    "emoji": ("The team's mascot is 🦊", "🦊"),
}


async def _expire(person: Umbriel, id_: str) -> None:
    await person.expire(id_, at=datetime.now(UTC) + timedelta(milliseconds=50))
    await asyncio.sleep(0.1)


ENDINGS: dict[str, Callable[[Umbriel, str], Awaitable[object]]] = {
    "superseded": lambda person, id_: person.correct(id_, "The boat is called Wanda"),
    "retracted": lambda person, id_: person.retract(id_),
    "rejected": lambda person, id_: person.reject(id_),
    "forgotten": lambda person, id_: person.forget(id_),
    "expired": _expire,
}


@pytest.mark.parametrize("how", ENDINGS)
async def test_what_has_ended_never_comes_back(person: Umbriel, how: str) -> None:
    """Right after the change, without waiting for any view, no channel hands it out; before, every one did."""
    written = await person.remember("The boat is called Vera", key="boat name", kind="fact")
    kept = await person.remember("The boat house is green", key="boat house")
    everything = {"limit": 50, "visibility": "complete"}
    before = await person.recall("boat called Vera", at_least=kept.position, explain=True, **everything)  # type: ignore[arg-type]
    assert [one for one in before.channels if written.memory.id in before.channels[one]] == ["key", "vector", "keyword"]
    await ENDINGS[how](person, written.memory.id)
    after = await person.recall("boat called Vera", explain=True, **everything)  # type: ignore[arg-type]
    assert not [one for one in after.channels if written.memory.id in after.channels[one]]
    assert written.memory.id not in {one.id for one in after.results}
    assert kept.memory.id in {one.id for one in after.results}


async def test_every_script_is_a_memory_of_its_own_and_is_found(client: Umbriel) -> None:
    """No script folds to nothing: as many memories as statements, each found by its words alone."""
    written = {name: await client.remember(text) for name, (text, _) in SCRIPTS.items()}
    assert len({one.memory.address for one in written.values()}) == len(SCRIPTS)
    last = max(written.values(), key=lambda one: int(one.position.rpartition(":")[2]))
    for name, (text, words) in SCRIPTS.items():
        found = await client.recall(words, channels=["keyword"], at_least=last.position)
        assert [one.text for one in found.results][:1] == [text], name
        assert (await client.recall(words)).results[0].text == text, name


@pytest.mark.parametrize(
    "query",
    ["Ana's boat", "boat/Ana", "boat - Ana", "boat: Ana", '"boat" Ana', "boat AND Ana", "NOT boat", "boat*", "(boat",
     "#key:value boat", "boat^2", "'; DROP TABLE memories; --", "%boat_", "text:boat", "[boat TO zoo]", "a" * 1024],
)  # fmt: skip
async def test_no_character_is_syntax(client: Umbriel, query: str) -> None:
    """Whatever a question looks like, it is words: nothing fails, and the boat is found where it is named."""
    written = await client.remember("Ana's boat is red", key="boat")
    reply = await client.recall(query, at_least=written.position)
    assert ("boat" not in query) or reply.results[0].text == "Ana's boat is red"


async def test_a_persons_name_finds_that_person(client: Umbriel) -> None:
    """Of many with the same attribute the named one leads."""
    names = ("Ana", "Anabel", "Bea", "Carl", "Dora", "Emil", "Fritz", "Gina", "Hugo", "Ines")
    for name in names:
        last = await client.remember(f"{name} works as an engineer in the harbour")
    for name in names:
        found = await client.recall(f"What does {name} do?", at_least=last.position)
        assert found.results[0].text.startswith(f"{name} works")


async def test_nonsense_has_no_relevance_and_a_right_answer_is_above_the_floor(client: Umbriel) -> None:
    """Relevance is absolute: a floor that lets the answer through keeps nonsense out, on each path of the same call."""
    for text in ("The lab moved to Lisbon", "Invoices go out on Mondays", "Vera plays the cello"):
        last = await client.remember(text)
    await client.ingest([Message(role="user", content="we moved the lab to Lisbon")], session="s", wait=True)
    nonsense = await client.recall("zxqv blorptang", at_least=last.position)
    answer = await client.recall("Where did the lab move?", at_least=last.position)
    assert max((one.relevance for one in nonsense.results), default=0) < answer.results[0].relevance
    for channel in ("vector", "keyword", "message_vector", "message_keyword", ""):
        channels = [channel] if channel else []
        floored = await client.recall("Where did the lab move?", channels=channels, min_score=0.25)
        assert floored.results, channel
        assert all(one.relevance >= 0.25 for one in floored.results), channel
    assert not (await client.recall("zxqv blorptang", min_score=0.25)).results


async def test_limit_and_token_budget_are_upper_bounds_of_the_prompt(client: Umbriel) -> None:
    """A13: of short and long records in any script as many as fit, fenced and with where they come from."""
    for number in range(6):
        last = await client.remember(f"boat {number}: " + "a long story about the red boat " * (number * number))
        await client.remember(f"船は赤い {number} " + "とても長い話 " * number * 10)
    for budget in (1, 60, 120, 300, 1_000, 5_000):
        reply = await client.recall("red boat 船", limit=8, token_budget=budget, at_least=last.position)
        shown = fenced(reply.results) if reply.results else ""
        assert estimated_tokens(shown) <= budget
        assert len(reply.results) <= 8
        assert reply.truncated
    assert len((await client.recall("red boat 船", limit=8, token_budget=100_000)).results) == 8


async def test_a_long_record_does_not_hide_the_short_ones_after_it(client: Umbriel) -> None:
    """What is too long for a budget is left off whole; the rest of the budget is for others."""
    await client.remember("The red boat of Ana. " + "It is a red boat. " * 200)
    short = await client.remember("Bea rows now and then")
    reply = await client.recall("red boat rows", token_budget=150, at_least=short.position)
    assert [one.text for one in reply.results] == ["Bea rows now and then"]
    assert reply.truncated


async def test_a_time_bounds_and_dates_are_computed(client: Umbriel) -> None:
    """Last week is counted from the reference date; what is asked for says how far away it is."""
    at = datetime(2026, 4, 15, 9, tzinfo=UTC)
    for day, what in ((7, "Went to the dentist"), (1, "Went to the cinema"), (14, "Went to the bank")):
        written = await client.remember(what, kind="event", occurred_at=datetime(2026, 4, day, 12, tzinfo=UTC))
    asked = await client.recall("What did I do last week?", reference_date=at, at_least=written.position, explain=True)
    assert asked.results[0].text == "Went to the dentist"
    assert asked.results[0].when == "2026-04-07, 8 days ago"
    assert asked.facts[:2] == [
        "The reference date is 2026-04-15, a Wednesday.",
        '"last week" is 2026-04-06 to 2026-04-12.',
    ]
    april = await client.recall("went", since=datetime(2026, 4, 5, tzinfo=UTC), until=datetime(2026, 4, 10, tzinfo=UTC))
    assert [one.text for one in april.results] == ["Went to the dentist"]
    with pytest.raises(InvalidInputError, match="until is not after since"):
        await client.recall("went", since=at, until=at)
    with pytest.raises(InvalidInputError, match="no time zone"):
        await client.recall("went", reference_date=datetime(2026, 4, 15))  # noqa: DTZ001

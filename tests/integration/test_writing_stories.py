"""What users of such memories ran into when they wrote, told once more with the models that need no network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidInputError
from domain.fence import fence
from tests.thinking_world import PERSON, World, thinking

Here = World[None]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A service with the embedder, the extractor and the judge that it has by default."""
    async with thinking(tmp_path / "data", None) as started:
        yield started


async def ended(here: Here, memory: str) -> dict[str, Any]:
    """Return how a memory was superseded."""
    events = (await here.call("why", id=memory)).events
    (found,) = [event for event in events if event.topic == "memory.superseded" and event.memory == memory]
    return dict(found.detail)


async def live(here: Here, *texts: str) -> dict[str, str]:
    """Write these memories one after the other; return what is live afterwards, by id."""
    for text in texts:
        await here.remember(text)
    return {one.id: one.text for one in (await here.call("list")).entries}


# -- one fact, many times ------------------------------------------------------------------------


async def test_forty_turns_that_repeat_and_vary_one_fact(here: Here) -> None:
    """They leave one live memory, which says what was said last, and a history of the values in between."""
    said = ("I live in Porto.", "I live in porto", "I live in Lisbon now.", "I'm living in Lisbon.", "I moved to Faro.")
    for turn in range(40):
        await here.say(said[turn % len(said)], session=f"turn-{turn}")
    (memory,) = (await here.call("list")).entries
    assert "Faro" in memory.text
    why = await here.call("why", id=memory.id)
    assert {version.status for version in why.versions} == {"live", "superseded"}
    assert sum("Lisbon" in version.text for version in why.versions) >= 8
    assert all(version.sources for version in why.versions)


async def test_added_three_times_is_one(here: Here) -> None:
    """By the same path, by another one, and by reading: one memory, one version."""
    await here.say("My name is Ana.")
    (memory,) = (await here.call("list")).entries
    for session in ("a", "b"):
        await here.say("My name is Ana.", session=session)
    await here.remember(memory.text)
    found = (await here.call("list", status="live")).entries
    assert [one.text for one in found] == [memory.text]


async def test_a_paraphrase_does_not_become_a_second_memory(here: Here) -> None:
    """The same said in other words replaces what it repeats, by a rule that is on record."""
    found = await live(here, "Jay lives in Porto", "Jay is living in Porto")
    assert list(found.values()) == ["Jay is living in Porto"]
    old = (await here.call("list", status="superseded")).entries[0]
    assert (await ended(here, old.id))["rule"] == "heuristic"


# -- what replaces, and what must not --------------------------------------------------------------

REPLACED = (
    ("My favourite player is Ronaldo", "My favourite player is Messi"),
    ("The user loves hiking", "The user hates hiking"),
    ("The login page ticket is assigned to Ana", "The login page ticket was reassigned to Bea"),
    ("Ana lives in Porto", "Ana moved from Porto to Lisbon"),
    ("The standup is at 9:30", "The standup is at 10:00 now"),
)
KEPT = (
    ("Ana is the CEO of Acme", "Bea is the CTO of Acme"),
    ("PR 260 was merged", "PR 480 was merged"),
    ("The user likes tea", "The user likes coffee"),
    ("Ana lives in Porto", "Bea lives in Lisbon"),
    ("Ana lives in Porto", "Ana works in Lisbon"),
    ("The user has a dog called Rex", "The user has a cat called Miso"),
    ("The backup runs at night", "Do not forget to check the tapes of the backup at night"),
    ("The invoice of May was paid", "The invoice of June was not paid"),
)


@pytest.mark.parametrize("old,new", REPLACED)
async def test_the_new_replaces_the_old(here: Here, old: str, new: str) -> None:
    """Of two statements of one thing the later one stays, and recall knows only that."""
    assert list((await live(here, old, new)).values()) == [new]
    found = await here.call("recall", query=old, limit=5)
    assert old not in [result.text for result in found.results]
    assert new in [result.text for result in found.results]


@pytest.mark.parametrize("one,other", KEPT)
async def test_both_stay(here: Here, one: str, other: str) -> None:
    """Statements that are only alike stay side by side."""
    assert sorted((await live(here, one, other)).values()) == sorted([one, other])


async def test_love_turned_to_hate_leaves_the_hate(here: Here) -> None:
    """Never neither of the two: the new one is stored, the old one superseded."""
    await here.say("I love hiking.")
    await here.say("I hate hiking.", session="t")
    (text,) = await here.texts()
    assert "hates hiking" in text


async def test_one_part_of_a_compound_changes(here: Here) -> None:
    """A town and an employer said in one sentence are two memories; a new employer leaves the town alone."""
    await here.say("I live in Lisbon and work at Acme.")
    await here.say("I work at Globex now.", session="t")
    texts = sorted(await here.texts())
    assert len(texts) == 2
    assert "Globex" in " ".join(texts)
    assert "Lisbon" in " ".join(texts)
    assert "Acme" not in " ".join(texts)


async def test_two_periods_of_the_same_are_two_memories(here: Here) -> None:
    """What was true twice, with a time in between when it was not, is not one fact."""
    first: dict[str, Any] = {"valid_from": "2010-01-01T00:00:00Z", "valid_to": "2012-01-01T00:00:00Z"}
    second: dict[str, Any] = {"valid_from": "2020-01-01T00:00:00Z", "valid_to": "2022-01-01T00:00:00Z"}
    await here.remember("Ana works at Acme", key="job", **first)
    await here.remember("Ana works at Acme", key="job", **second)
    why = await here.call("why", id=(await here.call("get", key="job")).id)
    assert len(why.versions) == 2


async def test_the_predecessor_never_outranks_the_successor(here: Here) -> None:
    """After a correction only the successor is found, whichever of the two the question is like."""
    await here.remember("The office is in Porto", key="office")
    await here.remember("The office is in Lisbon", key="office")
    for question in ("office in Porto", "office in Lisbon", "where is the office"):
        texts = [result.text for result in (await here.call("recall", query=question)).results]
        assert texts == ["The office is in Lisbon"]


async def test_a_person_is_not_superseded_by_what_was_read(here: Here) -> None:
    """A person's own statement under a key stands against what a conversation says."""
    await here.remember("The user lives in Porto.", PERSON, key="user_home")
    await here.say("I live in Lisbon.")
    assert "The user lives in Porto." in await here.texts()
    assert "memory.contradiction_noted" in await here.topics()


# -- where it comes from ---------------------------------------------------------------------------


async def test_every_memory_leads_back_to_its_source(here: Here) -> None:
    """No orphans: what was read names lines that hold it, what was stated has its command's author."""
    await here.say("My sister is called Bea.", "I'm allergic to peanuts.", "From now on, answer in French.")
    await here.remember("The invoice goes out on Mondays", key="invoice")
    entries = (await here.call("list")).entries
    assert len(entries) >= 4
    for memory in entries:
        why = await here.call("why", id=memory.id)
        if memory.source == "explicit":
            assert memory.author == "local-agent"
        else:
            assert why.sources
            assert all(line.text for line in why.sources)
            assert memory.confidence == 0.5


async def test_recalled_text_is_never_remembered_again(here: Here) -> None:
    """What recall put into a prompt and an agent sent back is taken out before anything is read; the rest is read."""
    echo = fence(["I live in Porto.", "Always answer in French."])
    await here.say(f"{echo}\nI'm allergic to peanuts.", session="echo")
    texts = await here.texts()
    assert len(texts) == 1
    assert "peanuts" in texts[0]


async def test_nothing_is_made_of_nothing(here: Here) -> None:
    """System prompts, assistants' words and tool output make no memories, and a blank message is refused whole."""
    messages = [
        {"role": "system", "content": "You are an assistant. I live in Porto."},
        {"role": "assistant", "content": "I live in the cloud and I love cats."},
        {"role": "tool", "content": "I live in Porto. " * 500},
    ]
    await here.call("ingest", messages=messages, session="s", wait=True)
    assert await here.texts() == []
    with pytest.raises(InvalidInputError):
        await here.call("ingest", messages=[{"role": "user", "content": " "}], session="s")
    await here.say("I live in Porto.", session="control")
    assert len(await here.texts()) == 1


async def test_a_relative_date_is_of_the_messages_own_day(here: Here) -> None:
    """Yesterday is the day before the message, by the clock of who wrote it, however late it is read."""
    message = {"role": "user", "content": "I went to the dentist yesterday.", "at": "2024-03-02T01:00:00+09:00"}
    await here.call("ingest", messages=[message], session="s", wait=True)
    (memory,) = (await here.call("list")).entries
    assert "2024-03-01" in memory.text
    assert memory.kind == "event"


# -- scripts ---------------------------------------------------------------------------------------

SCRIPTS = (
    "東京に住んでいる",
    "大阪に住んでいる",
    "서울에 산다",
    "Живёт в Москве",
    "يسكن في القاهرة",
    "Lebt in Köln",
    "Lebt in Koln",
)


async def test_facts_in_every_script_are_facts_of_their_own(here: Here) -> None:
    """No two of them share an address, and each is found by its own words."""
    await live(here, *SCRIPTS)
    everything = await here.texts("all")
    assert sorted(everything) == sorted(SCRIPTS)
    keys = ("好きな食べ物", "좋아하는 음식", "любимая еда")
    for key in keys:
        await here.remember(f"{key}: {key}", key=key)
    for key in keys:
        assert (await here.call("get", key=key)).text == f"{key}: {key}"


async def test_a_name_in_any_script_is_kept(here: Here) -> None:
    """A name is written down as it was said."""
    await here.say("My name is Сергій.")
    await here.say("My name is 花子.", session="t", contact="hanako")
    assert any("Сергій" in text for text in await here.texts())
    assert any("花子" in text for text in await here.texts(contact="hanako"))

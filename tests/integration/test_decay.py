"""Decay in a running service: what counts as use, what a pass does to recall, and that it never happens twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateways.service.decaying import Decayed, decay
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import PERSON, World, thinking

Here = World[Thinkers]
MONTH = timedelta(days=31)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world."""
    async with thinking(tmp_path / "data", Thinkers(), embedder=CheapEmbedder()) as started:
        yield started


def later(days: int = 0) -> datetime:
    """A month and some days from now."""
    return datetime.now(UTC) + MONTH + timedelta(days=days)


async def fade(here: Here, as_of: datetime) -> Decayed:
    """Let decay what is due, and wait until the views know."""
    core = here.runtime.service.core
    await here.runtime.service.handed_out.accesses.flush()
    await core.reader.wait_for(await core.events.log.last_position(), 10)
    async with core.profiles.use("p") as profile:
        done = await decay(core, profile, profile.views.ledger.settings(), as_of)
    await core.reader.wait_for(done.position, 10)
    return done


async def confidence(here: Here) -> dict[str, float]:
    """What the memories say, and how much each is trusted."""
    return {one.text: one.confidence for one in (await here.call("list", limit=500)).entries}


async def test_what_nobody_used_for_a_month_is_trusted_less(here: Here) -> None:
    """After 31 days without use 0.9 is 0.72; the history says so, and the same day changes nothing more."""
    memory = await here.remember("Ana plays the cello")
    assert (await fade(here, datetime.now(UTC) + timedelta(days=29))).count == 0
    assert (await fade(here, later())).count == 1
    assert (await fade(here, later())).count == 0
    assert await confidence(here) == {"Ana plays the cello": 0.72}
    (event,) = [e for e in (await here.call("why", id=memory)).events if e.topic == "memory.decayed"]
    assert event.detail == {"day": later().date().isoformat(), "confidence": 0.72}
    assert event.by == "decay"


async def test_a_restart_decays_nothing_twice(tmp_path: Path) -> None:
    """Another process on the same day finds nothing to do; the next day's pass goes on from where it was."""
    found_before = 0.0
    for day, count, found in ((0, 1, 0.72), (0, 0, 0.72), (1, 1, 0.576)):
        async with thinking(tmp_path / "data", Thinkers(), embedder=CheapEmbedder()) as here:
            if not found_before:
                await here.remember("Ana plays the cello")
            assert (await fade(here, later(day))).count == count
            assert await confidence(here) == {"Ana plays the cello": found}
            found_before = found


async def test_recall_and_get_count_as_use_and_list_does_not(here: Here) -> None:
    """What was handed out this month keeps its confidence; what was only listed does not."""
    await here.remember("Ana plays the cello", key="cello")
    await here.remember("Jon rides a horse", key="horse")
    await here.remember("Eva grows tomatoes", key="tomatoes")
    written = datetime.now(UTC)
    await here.call("get", key="cello")
    await here.call("recall", query="horse", limit=1)
    await here.texts()
    assert (await fade(here, written + timedelta(days=30))).count == 1
    assert await confidence(here) == {
        "Ana plays the cello": 0.9,
        "Jon rides a horse": 0.9,
        "Eva grows tomatoes": 0.72,
    }


async def test_what_is_said_again_was_used(here: Here) -> None:
    """A duplicate writes no version; it is noted when the statement was made again."""
    memory = await here.remember("Ana plays the cello")
    await here.say("note a = Jon rides a horse")
    before = {one.id: one for one in (await here.call("list")).entries}
    await here.remember("Ana plays the cello")
    await here.say("note a = Jon rides a horse", session="t")
    await fade(here, datetime.now(UTC))
    core = here.runtime.service.core
    async with core.profiles.use("p") as profile:
        records = profile.views.ledger.memories(list(before))
    assert len(records) == 2
    for record in records.values():
        assert record.last_access is not None
        assert record.last_access > before[record.id].recorded_at
        assert record.accesses == 0
    assert memory in records


async def test_pinned_memories_and_those_of_people_stay(here: Here) -> None:
    """A pin and a person's word are spared; what is unpinned had its hand on it just now."""
    await here.remember("Ana plays the cello", PERSON)
    pinned = await here.remember("Jon rides a horse")
    await here.call("pin", id=pinned)
    await here.remember("Eva grows tomatoes")
    assert (await fade(here, later())).count == 1
    await here.call("settings", changes={"decay.spare_people": False})
    assert (await fade(here, later(1))).count == 2
    assert await confidence(here) == {
        "Ana plays the cello": 0.72,
        "Jon rides a horse": 0.9,
        "Eva grows tomatoes": 0.576,
    }


@pytest.mark.parametrize("setting", ["decay.enabled", "access.counted"])
async def test_a_profile_can_do_without(here: Here, setting: str) -> None:
    """Switched off nothing decays, nor where nobody counts what is used."""
    await here.remember("Ana plays the cello")
    await here.call("settings", changes={setting: False})
    assert (await fade(here, later())).count == 0


async def test_decay_has_an_effect_on_the_order_of_recall(here: Here) -> None:
    """Of two memories that match alike the newer comes first, until it has faded; a rebuild agrees."""
    older = await here.remember("Ana plays the cello", key="k1", contact="ana")
    newer = await here.remember("Ana plays the cello", key="k2", contact="ana")

    async def order() -> list[str]:
        return [one.id for one in (await here.call("recall", query="cello", contact="ana", limit=2)).results]

    assert await order() == [newer, older]
    asked = datetime.now(UTC)
    await here.call("get", id=older)
    assert (await fade(here, asked + timedelta(days=30))).count == 1
    assert await order() == [older, newer]
    await here.call("rebuild")
    assert await order() == [older, newer]


async def test_more_than_one_append_holds_decays(here: Here) -> None:
    """Hundreds of memories decay in one pass, each once."""
    for number in range(230):
        await here.call("remember", content=f"Fact number {number} of its own", key=f"k{number}")
    assert (await fade(here, later())).count == 230
    assert (await fade(here, later())).count == 0
    topics = [one.topic for one in (await here.call("feed", limit=1_000, kinds=["memory"])).events]
    assert topics.count("memory.decayed") == 230

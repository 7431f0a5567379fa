"""Consolidation in a running service: what becomes one memory, what never does, and what is left of the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domain.errors import InvalidInputError, NotFoundError, RefusedError, UnavailableError
from domain.grants import Grant, Principal
from domain.merging import Worded
from domain.ports import Embedded
from domain.settings import Reaches
from gateways.models.judges.sameness import Sameness
from gateways.service.merging import Merged, Merger
from gateways.service.models import Models, Provided
from tests.thinkers import Thinkers
from tests.thinking_world import PERSON, World, thinking, until


class NearEmbedder:
    """Everything is near everything: what is kept apart is not kept apart by vectors."""

    model = "near"
    dimension = 4

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """One vector a text, nearly the same for all."""
        return [Embedded(1, self.embed_query(text)) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """A vector that leans a little by the text's length."""
        vector = np.array([1.0, (len(text) % 7) / 100, 0.0, 0.0], dtype="<f4")
        return bytes((vector / np.linalg.norm(vector)).astype("<f4").tobytes())


class Wording:
    """A worder that says what a test tells it to."""

    name = "wording-1"

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.asked: list[list[str]] = []
        self.silent = False

    async def word(self, statements: Sequence[str], *, profile: str) -> Worded:
        """The text it was told."""
        self.asked.append(sorted(statements))
        if self.silent:
            raise UnavailableError("the model does not answer")
        return Worded(self.text, self.name)


class Wordy(Thinkers):
    """The thinkers of a test, and a worder."""

    def __init__(self, worder: Wording, *, reaches: Reaches = "local") -> None:
        super().__init__()
        self.worders = (Provided(worder, worder.name, reaches),)


Here = World[Any]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world."""
    async with thinking(tmp_path / "data", Thinkers(), embedder=NearEmbedder()) as started:
        yield started


async def merge(here: Here, models: Models | None = None, *, days: int = 0, again: bool = False) -> list[Merged]:
    """Run the merging of one day's pass."""
    core = here.runtime.service.core
    await core.reader.wait_for(await core.events.log.last_position(), 10)
    async with core.profiles.use("p") as profile:
        settings = profile.views.ledger.settings()
        as_of = datetime.now(UTC) + timedelta(days=days)
        merger = Merger(core, models or here.models, Sameness(), profile, settings, as_of)
        return await merger.run(again=again)


async def remember(here: Here, *texts: str, **fields: Any) -> list[str]:
    """State several memories and wait until they are complete."""
    return [await here.remember(text, **fields) for text in texts]


async def test_what_says_the_same_becomes_one(here: Here) -> None:
    """One stands with all sources and the highest confidence; the others say by what, and by which rule."""
    await here.say("note a1 = Ana lives in Singapore", "note a2 = Ana is living in Singapore", contact="ana")
    explicit = await here.remember("Ana resides in Singapore", contact="ana")
    members = {one.id: one for one in (await here.call("list", contact="ana")).entries}
    (merged,) = await merge(here)
    assert merged.memory == explicit
    (left,) = (await here.call("list", contact="ana")).entries
    assert (left.id, left.text, left.confidence, left.contact) == (explicit, "Ana resides in Singapore", 0.9, "ana")
    assert sorted(left.sources) == sorted(source for one in members.values() for source in one.sources)
    why = await here.call("why", id=explicit)
    assert {line.text for line in why.sources} == {
        "note a1 = Ana lives in Singapore",
        "note a2 = Ana is living in Singapore",
    }
    (event,) = [one for one in why.events if one.topic == "memory.consolidated"]
    assert sorted(event.detail["members"]) == sorted(merged.members)
    for member in merged.members:
        gone = await here.call("why", id=member)
        assert (gone.memory.status, gone.memory.superseded_by) == ("superseded", explicit)
        assert [one.detail["rule"] for one in gone.events if one.topic == "memory.superseded"] == ["consolidation"]


@pytest.mark.parametrize(
    "one, other",
    [
        ("Ana is the CEO", "Ana is the CTO"),
        ("Merged PR 260", "Merged PR 480"),
        ("I like coriander", "I do like no coriander"),
        ("The limit is 5 MB", "The limit is 50 MB"),
        ("Ana lives in Porto", "Jon lives in Porto"),
        ("The review is on Monday", "The review is on Tuesday"),
    ],
)
async def test_near_is_not_the_same(here: Here, one: str, other: str) -> None:
    """Numbers, names, dates and negations keep apart what the vectors find the same."""
    await remember(here, one, other)
    assert await merge(here) == []
    assert sorted(await here.texts()) == sorted((one, other))


async def test_scopes_kinds_and_times_are_never_mixed(here: Here) -> None:
    """The same words of two contacts, of two kinds, or of two times stay; within one of them they are merged."""
    await here.remember("Ana plays the cello", contact="ana")
    await here.remember("Ana is playing the cello", contact="jon")
    await here.remember("Ana is playing the cello")
    await here.remember("Ana plays the cello", kind="instruction")
    await here.remember("Ana visits Rome", valid_from="2020-01-01T00:00:00Z")
    await here.remember("Ana is visiting Rome", valid_from="2024-01-01T00:00:00Z")
    await here.remember("Ana plays chess", kind="task", session="s")
    await here.remember("Ana is playing chess", kind="task", session="s")
    before = await here.texts(contact="*")
    assert await merge(here) == []
    assert await here.texts(contact="*") == before
    await here.remember("Ana is playing the cello", contact="ana")
    assert len(await merge(here)) == 1
    assert len(await here.texts(contact="*")) == len(before)


async def test_a_persons_words_stand(here: Here) -> None:
    """Of a person's statement and an agent's the person's stays, whatever is trusted more; a pin counts more still."""
    person = await here.remember("Ana resides in Porto", PERSON)
    await here.remember("Ana is living in Porto")
    (merged,) = await merge(here)
    assert merged.memory == person
    (left,) = (await here.call("list")).entries
    assert (left.author_type, left.text) == ("person", "Ana resides in Porto")
    pinned = (await remember(here, "Jon plays chess", "Jon is playing chess"))[0]
    await here.call("pin", id=pinned)
    await here.remember("Jon played chess")
    (merged,) = await merge(here)
    assert (merged.memory, len(merged.members)) == (pinned, 1)
    assert (await here.call("get", id=pinned)).pinned


async def test_a_callers_key_stays_in_use(here: Here) -> None:
    """Of a keyed statement and another one the keyed one stays; two keys of callers are two memories."""
    keyed = await here.remember("Ana lives in Porto", key="home")
    await here.remember("Ana is living in Porto")
    assert (await merge(here))[0].memory == keyed
    await here.remember("Ana resides in Porto", key="address")
    assert await merge(here) == []
    assert (await here.call("get", key="address")).text == "Ana resides in Porto"
    assert (await here.call("get", key="home")).id == keyed


async def test_an_item_of_a_store_is_not_merged(here: Here) -> None:
    """Neither away nor into what says the same; without it the same memories are one."""
    await here.remember("Ana lives in Porto", key="home", fact_type="item")
    await here.remember("Ana is living in Porto")
    assert await merge(here) == []
    await here.remember("Ana resides in Porto")
    (merged,) = await merge(here)
    assert len(merged.members) == 1
    assert (await here.call("get", key="home")).text == "Ana lives in Porto"


async def test_a_pass_has_its_merges_and_the_next_day_goes_on(here: Here) -> None:
    """At most five merges a day, by whomever; live memories become fewer with each pass and never more."""
    for number in range(8):
        await remember(here, f"Ana keeps boat {number}", f"Ana is keeping boat {number}")
    counts = [len(await here.texts())]
    for days, done in ((0, 5), (0, 0), (1, 3), (2, 0)):
        assert len(await merge(here, days=days)) == done
        counts.append(len(await here.texts()))
    assert counts == [16, 11, 11, 8, 8]


async def test_asked_for_again_it_goes_on_the_same_day(here: Here) -> None:
    """Who asks for a pass by hand gets its merges, whatever the day has had."""
    for number in range(8):
        await remember(here, f"Ana keeps boat {number}", f"Ana is keeping boat {number}")
    assert [len(await merge(here, again=True)) for _ in range(3)] == [5, 3, 0]


async def test_only_the_newest_are_looked_at(here: Here) -> None:
    """The sample has so many memories of a scope as the settings say."""
    await here.call("settings", changes={"consolidation.sample": 2})
    await remember(here, "Ana lives in Porto", "Jon lives in Rome", "Ana is living in Porto")
    assert await merge(here) == []
    await here.call("settings", changes={"consolidation.sample": 3})
    assert len(await merge(here)) == 1


async def test_switched_off_nothing_is_merged(here: Here) -> None:
    """A profile can do without."""
    await here.call("settings", changes={"consolidation.enabled": False})
    await remember(here, "Ana lives in Porto", "Ana is living in Porto")
    assert await merge(here) == []


async def test_what_is_restored_stays(here: Here) -> None:
    """A superseded member comes back beside what stood for it, and no later pass takes it away again."""
    await remember(here, "Ana lives in Porto", "Ana is living in Porto", "Ana resides in Porto")
    (merged,) = await merge(here)
    assert len(merged.members) == 2
    back = merged.members[0]
    restored = await here.call("restore", PERSON, id=back)
    assert len(await here.texts(at_least=restored.position)) == 2
    assert await merge(here, days=1) == []
    assert (await here.call("get", id=back)).status == "live"
    restored = await here.call("restore", id=merged.members[1])
    assert len(await here.texts(at_least=restored.position)) == 3
    assert await merge(here, days=2) == []


async def test_forgotten_sources_reach_what_stands_for_others(here: Here) -> None:
    """One of two messages forgotten, it rests on the other; with both it goes."""
    said = await here.say("note a1 = Ana lives in Singapore", "note a2 = Ana is living in Singapore")
    (merged,) = await merge(here)
    await here.call("forget", id=said.outcomes[0].id)

    async def rests_on(*messages: str) -> bool:
        return [one.sources for one in (await here.call("list")).entries] == ([list(messages)] if messages else [])

    await until(lambda: rests_on(said.outcomes[1].id))
    assert (await here.call("get", id=merged.memory)).status == "live"
    await here.call("forget", id=said.outcomes[1].id)
    await until(rests_on)


async def test_a_rebuild_says_the_same(here: Here) -> None:
    """Sources, confidence and status come from the log."""
    await here.say("note a1 = Ana lives in Singapore", "note a2 = Ana is living in Singapore")
    await merge(here)
    before = (await here.call("list", status="all")).entries
    await here.call("rebuild")
    assert (await here.call("list", status="all")).entries == before


async def test_a_model_words_what_rules_cannot_tell(tmp_path: Path) -> None:
    """A sentence that says what all members say is the next version of one of them; the record names the model."""
    worder = Wording("Ana likes walks by the sea")
    async with thinking(tmp_path / "data", Wordy(worder), embedder=NearEmbedder()) as here:
        await remember(here, "Ana likes walking by the sea", "Ana enjoys strolls along the shore")
        (merged,) = await merge(here)
        assert merged.model == "wording-1"
        (left,) = (await here.call("list")).entries
        assert (left.id, left.text) == (merged.memory, "Ana likes walks by the sea")
        assert (left.source, left.model, left.confidence, left.author_type) == (
            "consolidation",
            "wording-1",
            0.9,
            "service",
        )
        assert len(merged.members) == 2
        assert {(await here.call("get", id=one)).superseded_by for one in merged.members} == {merged.memory}
        assert len(worder.asked) == 1
        before = await here.texts("all")
        await here.call("rebuild")
        assert await here.texts("all") == before
        assert len(worder.asked) == 1


@pytest.mark.parametrize("text", ["", "Ana likes 3 walks", "Ana likes walks with Bob", "Ana hates walks"])
async def test_a_wording_that_does_not_hold_is_dropped(tmp_path: Path, text: str) -> None:
    """What adds or turns something changes nothing; the record says why, and the model is not asked again."""
    worder = Wording(text)
    async with thinking(tmp_path / "data", Wordy(worder), embedder=NearEmbedder()) as here:
        stated = ("Ana likes walking by the sea", "Ana enjoys strolls along the shore")
        await remember(here, *stated)
        assert await merge(here) == []
        assert await merge(here) == []
        assert sorted(await here.texts()) == sorted(stated)
        assert len(worder.asked) == 1
        (kept,) = [one for one in (await here.call("feed", limit=500)).events if one.topic == "upkeep.kept"]
        assert kept.data["model"] == "wording-1"
        assert kept.data["reason"]


async def test_without_an_answer_the_rules_do_what_they_can(tmp_path: Path) -> None:
    """A silent model holds nothing up: what says the same by rule is merged; the rest is asked about another day."""
    worder = Wording()
    worder.silent = True
    async with thinking(tmp_path / "data", Wordy(worder), embedder=NearEmbedder()) as here:
        await remember(here, "Ana likes walking by the sea", "Ana enjoys strolls along the shore")
        await here.remember("Ana is liking walking by the sea")
        assert len(await merge(here)) == 1
        assert len(await here.texts()) == 2
        worder.silent, worder.text = False, "Ana likes walks by the sea"
        assert len(await merge(here, days=1)) == 1
        assert await here.texts() == ["Ana likes walks by the sea"]


async def test_memories_go_to_no_model_that_they_may_not_go_to(tmp_path: Path) -> None:
    """A partner's model words nothing unless memories may go there, and no person's words at all."""
    worder = Wording("Ana likes walks by the sea")
    async with thinking(tmp_path / "data", Wordy(worder, reaches="partner"), embedder=NearEmbedder()) as here:
        await remember(here, "Ana likes walking by the sea", "Ana enjoys strolls along the shore")
        assert await merge(here) == []
        await here.call("settings", changes={"data_flow.memories": "partner"})
        assert len(await merge(here)) == 1
        await here.remember("Jon likes cooking for friends", PERSON)
        await here.remember("Jon enjoys making dinners for guests")
        assert await merge(here) == []
        assert len(worder.asked) == 1


async def test_a_dry_run_says_what_a_run_does(here: Here) -> None:
    """It lists what would decay and what would be merged and writes nothing; the run does just that."""
    await remember(here, "Ana lives in Porto", "Ana is living in Porto", "Ana resides in Porto", "Jon plays chess")
    before = await here.call("feed", limit=1_000)
    would = await here.call("consolidate", dry_run=True)
    (merge,) = would.merges
    assert (would.dry_run, would.decayed, merge.text, merge.model) == (True, 0, "Ana resides in Porto", "")
    assert [one.text for one in merge.members] == ["Ana is living in Porto", "Ana lives in Porto"]
    later = (datetime.now(UTC) + timedelta(days=31)).date().isoformat()
    would_later = await here.call("consolidate", dry_run=True, day=later)
    assert (would_later.decayed, would_later.day, {one.confidence for one in would_later.decays}) == (4, later, {0.72})
    assert (await here.call("feed", limit=1_000)).events == before.events
    done = await here.call("consolidate")
    assert (done.dry_run, done.merges, done.day) == (False, would.merges, would.day)
    assert len(await here.texts(at_least=done.position)) == 2
    again = await here.call("consolidate")
    assert (again.decayed, again.merges) == (0, [])
    events = (await here.call("feed", limit=1_000, kinds=["upkeep"])).events
    assert [(one.topic, one.data.get("scheduled")) for one in events] == [
        ("upkeep.merged", None),
        ("upkeep.completed", False),
    ]


@pytest.mark.parametrize("fields", [{"day": "2026-01-31"}, {"day": "tomorrow", "dry_run": True}])
async def test_a_day_that_cannot_be_is_refused(here: Here, fields: dict[str, Any]) -> None:
    """Only a dry run is as of another day, and a day is a date."""
    await here.remember("Ana lives in Porto")
    with pytest.raises(InvalidInputError):
        await here.call("consolidate", **fields)


async def test_who_may_not_administer_a_profile_does_not_merge_in_it(here: Here) -> None:
    """A writer's grant is not enough, and a profile that is not there is not found."""
    await here.remember("Ana lives in Porto")
    writer = Principal("writer", "agent", (Grant("p", "write"),))
    with pytest.raises(RefusedError):
        await here.call("consolidate", writer)
    with pytest.raises(NotFoundError):
        await here.runtime.service.call("consolidate", PERSON, "nobody", b"{}")


TEN_WAYS = (
    "The user lives in Singapore",
    "User is living in Singapore",
    "The user is based in Singapore",
    "The user resides in Singapore",
    "The user is currently living in Singapore",
    "User currently lives in Singapore",
    "The user still lives in Singapore",
    "The user's home is Singapore",
    "The user is settled in Singapore",
    "user really lives in Singapore",
)


async def test_ten_turns_about_singapore_become_one_memory(tmp_path: Path) -> None:
    """Ten ways to say that somebody lives in Singapore, with the vectors of the default model: one is left.

    What the user says of themselves is far from what is said of the user: it stays, unless less is near enough.
    """
    async with thinking(tmp_path / "data", Thinkers()) as here:
        await remember(here, *TEN_WAYS, "Jon lives in Singapore", "The user worked in Singapore")
        assert len(await here.texts()) == 12
        await merge(here)
        assert len(await here.texts()) == 3
        await remember(here, "I am based in Singapore", "I live in Singapore")
        await merge(here, days=1)
        assert len(await here.texts()) == 5
        await here.call("settings", changes={"consolidation.cosine": 0.6})
        await merge(here, days=2)
        assert len(await here.texts()) == 3

"""Reading for memories and judging them in a running service, with models whose answers are known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from domain.ids import split_memory_id
from domain.memory import Memory
from domain.settings import ExtractionLimits, Settings
from domain.transcript import Found, KnownKey, Window
from gateways.service import extracting
from gateways.service.aggregates import change
from gateways.service.context import Caller, Core
from gateways.service.extracting import ExtractionWorker
from gateways.service.stretches import stretch_of_messages
from gateways.service.thinking import Thinking
from tests.cheap import CheapEmbedder
from tests.thinkers import NoteExtractor, Thinkers
from tests.thinking_world import PERSON, QUICK, World, thinking, until

Here = World[Thinkers]


@asynccontextmanager
async def world(data: Path, settings: Settings = QUICK) -> AsyncIterator[Here]:
    """A service on ``data`` that thinks with models of the test."""
    async with thinking(data, Thinkers(), settings=settings, embedder=CheapEmbedder()) as started:
        yield started


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world."""
    async with world(tmp_path / "data") as started:
        yield started


class GatedNotes(NoteExtractor):
    """Says when it begins to read, and goes on when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def extract(self, window: Window, known: Sequence[KnownKey], *, profile: str) -> Found:
        """Return what is found once the test says so."""
        self.begun.set()
        await self.go_on.wait()
        return await super().extract(window, known, profile=profile)


async def said(core: Core, text: str) -> bool:
    """Whether the ledger knows of a message of the session, and somebody waits for it to be read."""
    async with core.profiles.use("p") as opened:
        known = {one.content for one in opened.views.ledger.session_messages("s")}
    assert isinstance(core.thinking, Thinking)
    return text in known and "s" in core.thinking.extraction._hurried.get("p", ())


async def test_what_was_said_becomes_a_memory_with_its_source(here: Here) -> None:
    """A note of a user is a memory of the session's contact, of low confidence, and names its line and its model."""
    said = await here.say("good morning", "note home = Ana lives in Porto", contact="ana")
    (memory,) = (await here.call("list", contact="ana")).entries
    assert (memory.text, memory.key, memory.source, memory.confidence) == ("Ana lives in Porto", "home", "turn", 0.5)
    assert memory.sources == [said.outcomes[1].id]
    why = await here.call("why", id=memory.id)
    assert why.sources[0].text == "note home = Ana lives in Porto"
    assert memory.author == "extraction-worker"
    assert memory.author_type == "service"


async def test_an_answer_starts_the_reading_and_silence_does_too(here: Here) -> None:
    """Without anybody waiting, an answered turn is read at once and an unanswered one after the idle time."""
    turn = [{"role": "user", "content": "note a = One"}, {"role": "assistant", "content": "noted"}]
    await here.call("ingest", messages=turn, session="answered")
    await here.call("ingest", messages=[{"role": "user", "content": "note b = Two"}], session="silent")

    async def both() -> bool:
        return sorted(await here.texts()) == ["One", "Two"]

    await until(both)


async def test_reading_again_writes_nothing(here: Here) -> None:
    """The same conversation ingested twice is read once; the log gains nothing."""
    await here.say("note a = One", "note b = Two")
    before = await here.topics()
    await here.say("note a = One", "note b = Two")
    assert await here.topics() == before
    assert before.count("extraction.completed") == 1


async def test_an_empty_stretch_is_read_and_leaves_no_memory(here: Here) -> None:
    """Only recalled text, a system prompt and long tool output: nothing is asked of the extractor, and it is done."""
    messages = [
        {"role": "system", "content": "note a = You are an assistant"},
        {"role": "tool", "content": "note b = " + "x" * 5_000},
    ]
    await here.call("ingest", messages=messages, session="s", wait=True)
    assert here.models.notes.windows == []
    assert await here.texts() == []
    assert (await here.call("status")).unread == 0


async def test_a_failure_is_tried_again_and_then_on_record(here: Here) -> None:
    """A model that comes back is asked again; one that stays away leaves failed work that a retry makes good."""
    await here.say("fail 1", "note a = One")
    assert await here.texts() == ["One"]
    assert here.models.notes.read["fail 1"] == 2
    await here.say("fail 4", "note b = Two", session="t")
    status = await here.call("status")
    assert (status.unread, status.unreadable) == (0, 1)
    assert [work.state for work in status.work] == ["failed"]
    assert "does not answer" in status.work[0].reason
    assert (await here.call("retry")).read == 1
    assert (await here.call("status")).unreadable == 1
    assert (await here.call("retry")).read == 1
    assert sorted(await here.texts()) == ["One", "Two"]
    assert (await here.call("status")).unreadable == 0


async def test_what_a_model_declines_fails_at_once_and_holds_nothing_up(here: Here) -> None:
    """A refusal is not tried again; the next stretch of the session is read."""
    await here.say("decline")
    assert here.models.notes.read["decline"] == 1
    await here.say("note a = One")
    assert await here.texts() == ["One"]
    assert (await here.topics()).count("extraction.failed") == 1


async def test_a_model_that_trips_takes_nobody_with_it(here: Here) -> None:
    """An error that no port speaks of is a failure on record; the worker goes on."""
    await here.say("trip")
    assert (await here.call("status")).unreadable == 1
    await here.say("note a = One", session="t")
    assert await here.texts() == ["One"]


@pytest.mark.parametrize("year", [2, 9998])
async def test_a_message_from_the_end_of_time_is_read(here: Here, year: int) -> None:
    """A date that cannot be told stays as it was said; the worker and the other lines do not suffer from it."""
    words = "I saw her last week, last month, next week, next month, next monday, next quarter, letzte Woche, 明年"
    at = f"{year:04d}-{1 if year == 2 else 12:02d}-{1 if year == 2 else 31:02d}T12:00:00Z"
    messages = [{"role": "user", "content": words, "at": at}, {"role": "user", "content": "note a = One", "at": at}]
    await here.call("ingest", messages=messages, session="s", wait=True)
    assert await here.texts() == ["One"]


async def test_who_waits_does_not_wait_for_silence_after_a_failure(tmp_path: Path) -> None:
    """A stretch that is waited for is tried again after its pause, not after the time of idleness."""
    settings = msgspec.structs.replace(QUICK, extraction=ExtractionLimits(idle_seconds=3_600, pause_seconds=0.05))
    async with world(tmp_path / "data", settings) as here:
        await here.say("fail 2", "note a = One")
        assert await here.texts() == ["One"]


async def test_who_waits_does_not_wait_for_silence_after_an_earlier_stretch(tmp_path: Path) -> None:
    """What is said and waited for while the answer before it is still being read is read right after it."""
    settings = msgspec.structs.replace(QUICK, extraction=ExtractionLimits(idle_seconds=3_600), wait_seconds=10.0)
    notes = GatedNotes()
    async with thinking(tmp_path / "data", Thinkers(notes=notes), settings=settings, embedder=CheapEmbedder()) as here:
        await here.call("ingest", messages=[{"role": "assistant", "content": "Noted!"}], session="s")
        await asyncio.wait_for(notes.begun.wait(), 10)
        waiting = asyncio.create_task(here.say("note a = One"))
        core = here.runtime.service.core
        await until(lambda: said(core, "note a = One"))
        notes.go_on.set()
        await waiting
        assert await here.texts() == ["One"]


async def test_who_waits_waits_for_no_silence_where_it_takes_several_stretches(tmp_path: Path) -> None:
    """What one stretch does not hold is read right after it, to the last message."""
    settings = msgspec.structs.replace(QUICK, extraction=ExtractionLimits(idle_seconds=3_600, messages=3))
    async with world(tmp_path / "data", settings) as here:
        await here.say(*(f"note {key} = Text {key}" for key in "abcdefg"))
        assert sorted(await here.texts()) == [f"Text {key}" for key in "abcdefg"]


async def test_more_sessions_than_one_look_holds_are_read(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backlog is worked off to its end, though nothing new wakes anybody."""
    monkeypatch.setattr(extracting, "_SESSIONS", 3)
    await here.call("settings", changes={"extraction.enabled": False})
    for number in range(8):
        await here.say(f"note k{number} = Fact number {number} of its own", session=f"s{number}")
    await here.call("settings", changes={"extraction.enabled": True})

    async def read() -> bool:
        return not (await here.call("status")).unread

    await until(read)
    assert len(await here.texts("all")) == 8


async def test_memories_are_not_shown_to_whom_they_may_not_go(tmp_path: Path) -> None:
    """A partner that may read messages is not told what is remembered, unless memories may go there too."""
    models = Thinkers(reaches="partner")
    async with thinking(tmp_path / "data", models, settings=QUICK, embedder=CheapEmbedder()) as here:
        await here.remember("Ana's PIN is 4711", key="pin")
        await here.call("settings", changes={"data_flow.messages": "partner", "data_flow.memories": "local"})
        await here.say("note a = One")
        assert models.notes.known == [[]]
        await here.call("settings", changes={"data_flow.memories": "partner"})
        await here.say("note b = Two")
        assert {known.key for known in models.notes.known[-1]} == {"pin", "a"}


async def test_views_that_come_back_wake_who_thinks(here: Here) -> None:
    """What was said while views had stopped is read when they go on."""
    core = here.runtime.service.core
    await here.say("hello")
    async with core.profiles.use("p") as profile:
        profile.views.stopped["ledger"] = "the disk was full"
    await here.call("ingest", messages=[{"role": "user", "content": "note a = One"}], session="t")
    await asyncio.sleep(0.5)
    await here.call("retry")

    async def read() -> bool:
        return await here.texts() == ["One"]

    await until(read)


async def test_rejected_statements_stay_out(here: Here) -> None:
    """What a person rejected is not written again by reading, at any address of its scope; other scopes keep theirs."""
    await here.say("note home = Ana lives in Porto")
    (memory,) = (await here.call("list")).entries
    await _reject(here.runtime.service.core, memory.id)
    await here.say("note home = Ana  lives in PORTO.", "note town = Аna lives in Porto", "note x = Else", session="t")
    assert await here.texts() == ["Else"]
    await here.say("note home = Ana lives in Porto", session="u", contact="ana")
    assert await here.texts(contact="ana") == ["Ana lives in Porto", "Else"]


async def _reject(core: Core, memory: str) -> None:
    caller = Caller("local", "person")
    subject = await core.events.subject_id("p", "memory", split_memory_id(memory)[0])
    _, position = await change(core, Memory, subject, lambda one: one.reject(memory, caller.context()))
    await core.reader.wait_for(position, 10)


async def test_a_message_forgotten_before_it_is_read_leaves_nothing(tmp_path: Path) -> None:
    """What is forgotten while it waits to be read is never read."""
    settings = msgspec.structs.replace(QUICK, extraction=ExtractionLimits(idle_seconds=3_600))
    async with world(tmp_path / "data", settings) as here:
        said = await here.call("ingest", messages=[{"role": "user", "content": "note a = Secret"}], session="s")
        await here.call("forget", id=said.outcomes[0].id)
        await here.say("note b = Else")
        assert await here.texts() == ["Else"]
        assert here.models.notes.read["note a = Secret"] == 0


async def test_a_restart_reads_what_was_left(tmp_path: Path) -> None:
    """Messages whose time had not come when the service ended are read by the next one."""
    waiting = msgspec.structs.replace(QUICK, extraction=ExtractionLimits(idle_seconds=3_600))
    async with world(tmp_path / "data", waiting) as here:
        await here.call("ingest", messages=[{"role": "user", "content": "note a = One"}], session="s")
    async with world(tmp_path / "data") as here:

        async def read() -> bool:
            return await here.texts() == ["One"]

        await until(read)


async def test_what_is_switched_off_waits(here: Here) -> None:
    """A profile that is not to be read is not, and reading begins when it is switched on."""
    await here.call("settings", changes={"extraction.enabled": False})
    await here.say("note a = One")
    assert await here.texts() == []
    assert (await here.call("status")).unread == 0
    await here.call("settings", changes={"extraction.enabled": True})

    async def read() -> bool:
        return await here.texts() == ["One"]

    await until(read)


async def test_forty_turns_about_one_fact_leave_one_memory(here: Here) -> None:
    """Repeats are duplicates and changes supersede: one live memory with a history of what was said in between."""
    towns = ("Porto", "porto", "Lisbon", "Porto")
    for turn in range(40):
        await here.say(f"note home = Ana lives in {towns[turn % 4]}", session=f"s{turn}")
    assert await here.texts() == ["Ana lives in Porto"]
    (memory,) = (await here.call("list")).entries
    why = await here.call("why", id=memory.id)
    assert len(why.versions) == 21
    assert {version.status for version in why.versions[:-1]} == {"superseded"}


async def test_the_judge_replaces_what_is_alike(here: Here) -> None:
    """A new memory that replaces an older one of its scope and kind supersedes it, with rule, probability and model."""
    old = (await here.call("remember", content="Ana lives in Porto", wait=True)).memory.id
    new = (await here.call("remember", content="Ana lives in Lisbon now", wait=True)).memory.id
    assert await here.texts() == ["Ana lives in Lisbon now"]
    why = await here.call("why", id=old)
    (ended,) = [event for event in why.events if event.topic == "memory.superseded"]
    assert (ended.detail["by"], ended.detail["rule"]) == (new, "judge")
    assert (ended.detail["probability"], ended.detail["model"]) == (0.9, "words-1")
    (judged,) = [e for e in (await here.call("why", id=new)).events if e.topic == "memory.judged"]
    assert judged.detail["candidates"][0]["decision"] == "superseded"


async def test_an_item_of_a_store_is_replaced_by_nothing_but_its_key(here: Here) -> None:
    """However alike items are, and whatever else is said: each stays what its owner gets by its key."""
    for key, text in (("a", "Ana lives in Porto"), ("b", "Ana lives in Lisbon now")):
        await here.call("remember", content=text, key=key, fact_type="item", wait=True)
    await here.call("remember", content="Ana lives in Braga now", wait=True)
    assert len(await here.texts()) == 3
    await here.call("remember", content="Ana lives in Faro now", key="a", fact_type="item", wait=True)
    assert sorted(await here.texts()) == ["Ana lives in Braga now", "Ana lives in Faro now", "Ana lives in Lisbon now"]


async def test_a_contradiction_is_only_noted(here: Here) -> None:
    """What contradicts and does not replace leaves both live, and the older one says so."""
    old = (await here.call("remember", content="Ana lives in Porto", wait=True)).memory.id
    await here.call("remember", content="Ana lives not in Porto", wait=True)
    assert len(await here.texts()) == 2
    assert "memory.contradiction_noted" in [event.topic for event in (await here.call("why", id=old)).events]


async def test_a_person_is_not_replaced_by_anybody_else(here: Here) -> None:
    """A person's statement stands against an agent's: one that says the same goes, one that contradicts is noted."""
    await here.call("remember", PERSON, content="Ana lives in Porto", wait=True)
    await here.call("remember", content="Ana lives in Porto now", wait=True)
    assert await here.texts() == ["Ana lives in Porto"]
    await here.call("remember", content="Ana lives not in Porto now", wait=True)
    assert len(await here.texts()) == 2
    await here.call("remember", PERSON, content="Ana lives in Porto by now now", wait=True)
    assert "Ana lives in Porto" not in await here.texts()


async def test_other_scopes_kinds_and_tasks_are_not_compared(here: Here) -> None:
    """Only live memories of the same scope and kind are held against a new one, and tasks never."""
    await here.call("remember", content="Ana lives in Porto", contact="ana", wait=True)
    await here.call("remember", content="Ana lives in Porto", kind="event", wait=True)
    await here.call("remember", content="Ana lives in Porto now", wait=True)
    await here.call("remember", content="Ana lives in Porto now", kind="task", session="s", wait=True)
    assert here.models.words.asked == []
    assert (await here.call("status")).unjudged == 0


async def test_a_silent_judge_is_replaced_by_the_local_one(here: Here) -> None:
    """After some tries the local judge decides, and the record says who did not answer."""
    here.models.words.fails = 100
    await here.call("remember", content="Ana lives in Porto", wait=True)
    new = (await here.call("remember", content="Ana lives in Lisbon now", wait=True)).memory.id
    assert await here.texts() == ["Ana lives in Lisbon now"]
    (judged,) = [e for e in (await here.call("why", id=new)).events if e.topic == "memory.judged"]
    assert "did not answer" in judged.detail["reason"]


async def test_what_was_said_earlier_does_not_replace_what_was_said_later(here: Here) -> None:
    """An old conversation that arrives late is judged as the earlier statement, whatever its place in the log."""
    late = {"role": "user", "content": "note x = Ana lives in Lisbon now", "at": "2026-05-01T10:00:00Z"}
    early = {"role": "user", "content": "note y = Ana lives in Porto", "at": "2024-05-01T10:00:00Z"}
    await here.call("ingest", messages=[late], session="new", wait=True)
    await here.call("ingest", messages=[early], session="old", wait=True)
    assert [new.text for new, _ in here.models.words.asked] == ["Ana lives in Lisbon now"]
    assert await here.texts() == ["Ana lives in Lisbon now"]


async def test_memories_written_at_once_are_judged_in_order(here: Here) -> None:
    """Many memories before the verifier has spoken: each is held against all older ones, and one stays."""
    written = await asyncio.gather(
        *(here.call("remember", content=f"Ana lives in flat {n} of the house now") for n in range(12))
    )
    last = max(written, key=lambda one: int(one.position.rpartition(":")[2]))
    await here.say("done")

    async def judged() -> bool:
        return (await here.call("status")).unjudged == 0 and len(await here.texts()) == 1

    await until(judged)
    assert (await here.call("list")).entries[0].id == last.memory.id


async def test_trust_comes_from_the_path(here: Here) -> None:
    """What a window about to be trimmed says is trusted a little more than a turn, whatever it claims of itself."""
    await here.call("settings", changes={"extraction.enabled": False})
    await here.say("note home = Ana lives in Porto, she said so herself")
    core = here.runtime.service.core
    async with core.profiles.use("p") as profile:
        messages = profile.views.ledger.unread("s", 10)
        stretch = stretch_of_messages(profile.views.ledger, messages, "pre-compaction", core.settings.extraction)
        outcome = await ExtractionWorker(core, here.models).read(profile, stretch)
        again = await ExtractionWorker(core, here.models).read(profile, stretch)
    await core.reader.wait_for(outcome.position, 10)
    (memory,) = (await here.call("list")).entries
    assert (memory.source, memory.confidence, memory.author_type) == ("pre-compaction", 0.6, "service")
    assert (again.memories, again.position) == ((), 0)


async def test_a_rebuild_asks_nobody(here: Here) -> None:
    """All views are made again from the log with the same memories, and no model is asked anything."""
    await here.say("note a = Ana lives in Porto", "note b = Ana lives in Lisbon now", "decline me not")
    before, read, asked = await here.texts("all"), len(here.models.notes.windows), len(here.models.words.asked)
    await here.call("rebuild")
    assert await here.texts("all") == before
    assert len(here.models.notes.windows) == read
    assert len(here.models.words.asked) == asked

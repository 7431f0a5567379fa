"""Forgetting messages reaches everything that was drawn from them, whatever was under way at that moment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from domain.envelope import Actor
from domain.errors import NotFoundError
from domain.grants import Grant, Principal
from domain.kernel import Context
from domain.ports import Embedded, Opinion, Statement
from domain.transcript import Candidate, Found, KnownKey, Window
from gateways.service.forgetting import forget_messages
from projections.vectors import VectorView
from tests.cheap import CheapEmbedder
from tests.thinkers import NoteExtractor, Thinkers, WordJudge
from tests.thinking_world import PERSON, World, thinking, until

HOME = "Ana lives in Porto"
NOTE = f"note home = {HOME}"


class Together(NoteExtractor):
    """Reads notes; what follows ``together`` is stated of all lines of its stretch. Waits while it is ``held``."""

    def __init__(self) -> None:
        super().__init__()
        self.held = asyncio.Event()
        self.reading = asyncio.Event()
        self.held.set()

    async def extract(self, window: Window, known: Sequence[KnownKey], *, profile: str) -> Found:
        """Return the notes, and what all lines say together."""
        found = await super().extract(window, known, profile=profile)
        self.reading.set()
        await self.held.wait()
        lines = [line for line in window.lines if not line.context]
        joint = [
            Candidate(
                text=line.text.removeprefix("together "),
                key="joint",
                lines=tuple(one.index for one in lines),
                verdict="passed",
            )
            for line in lines
            if line.text.startswith("together ")
        ]
        return Found((*found.items, *joint))


class Readers(Thinkers):
    """The models of these tests."""

    def __init__(self, judge: WordJudge | None = None) -> None:
        self.together = Together()
        super().__init__(notes=self.together, words=judge)


Here = World[Readers]


@asynccontextmanager
async def world(data: Path) -> AsyncIterator[Here]:
    """A service on ``data`` that thinks with models of the test."""
    async with thinking(data, Readers(), embedder=CheapEmbedder()) as started:
        yield started


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world."""
    async with world(tmp_path / "data") as started:
        yield started


async def found(here: Here, query: str, **fields: Any) -> set[str]:
    """Return the texts that recall finds on any channel, with everything applied."""
    position = (await here.call("feed", after="new")).position
    reply = await here.call("recall", query=query, limit=50, at_least=position, **fields)
    return {one.text for one in reply.results}


async def indexed(here: Here) -> set[str]:
    """Return the ids that the vectors and the keyword index hold."""
    async with here.runtime.service.core.profiles.use("p") as opened:
        views = opened.views
        return {one for one, _ in views.ledger.sample(1_000)}


async def in_every_way(here: Here, memory: str, text: str) -> list[str]:
    """Return where a memory can be met still."""
    ways = []
    recalled = await found(here, text, contact="*")
    async with here.runtime.service.core.profiles.use("p") as opened:
        views = opened.views
        assert isinstance(views.vectors, VectorView)
        if views.vectors.vector_of(memory) is not None:
            ways.append("vectors")
        if any(hit.id == memory for hit in views.keywords.search(text, 50)):
            ways.append("keywords")
        if memory in await indexed(here):
            ways.append("items")
    if text in recalled:
        ways.append("recall")
    if text in await here.texts("all", contact="*"):
        ways.append("list")
    return ways


async def test_what_was_drawn_from_a_message_goes_with_it(here: Here) -> None:
    """A5: the fact, its vectors and its postings; another message's are the control. The history says who and when."""
    said = await here.say(NOTE, "note pet = Ana has a cat", contact="ana")
    (pet, home) = (await here.call("list", contact="ana")).entries
    assert await in_every_way(here, home.id, HOME) == ["vectors", "keywords", "items", "recall", "list"]
    preview = await here.call("forget", PERSON, id=said.outcomes[0].id, preview=True)
    assert preview.touched == [said.outcomes[0].id, home.id]
    assert HOME in await here.texts(contact="ana")
    gone = await here.call("forget", PERSON, id=said.outcomes[0].id)
    assert gone.touched == preview.touched
    for rebuilt in (False, True):
        if rebuilt:
            await here.call("rebuild", wait=True)
        assert await in_every_way(here, home.id, HOME) == []
        assert await in_every_way(here, pet.id, pet.text) == ["vectors", "keywords", "items", "recall", "list"]
        why = await here.call("why", id=home.id, at_least=gone.position)
        assert [one.text for one in why.sources] == [""]
        (event,) = [one for one in why.events if one.topic == "memory.forgotten"]
        assert (event.by, event.by_type, event.detail["lost"]) == ("local", "person", [said.outcomes[0].id])
        assert event.at >= home.recorded_at
        assert why.memory.status == "forgotten"
    assert (await here.call("forget", PERSON, id=said.outcomes[0].id)).touched == []


async def test_only_the_versions_that_rest_on_it_go(here: Here) -> None:
    """Of a chain the version drawn from the message goes, live or not; the others keep their state."""
    first = await here.say(NOTE)
    second = await here.say("note home = Ana lives in Faro", session="t")
    await here.call("forget", id=first.outcomes[0].id)
    live = await here.call("get", key="home")
    why = await here.call("why", id=live.id)
    assert [(one.text, one.status) for one in why.versions] == [("", "forgotten"), ("Ana lives in Faro", "live")]
    await here.call("forget", id=second.outcomes[0].id)
    assert await here.texts("all") == ["", ""]
    written = await here.call("remember", content="Ana lives in Braga", key="home", wait=True)
    assert (written.outcome, written.memory.id) == ("remembered", f"{live.address}@3")
    assert await found(here, "where does Ana live") >= {"Ana lives in Braga"}


async def test_a_memory_that_others_said_too_stays(here: Here) -> None:
    """It is revised to rest on what is left, and goes with the last of them; both directions."""
    ids = [(await here.say(NOTE, session=name)).outcomes[0].id for name in ("one", "two", "three")]
    (memory,) = (await here.call("list")).entries
    gone = await here.call("forget", id=ids[0])
    assert (gone.touched, gone.kept) == ([ids[0]], [memory.id])
    stays = await here.call("get", key="home", at_least=gone.position)
    assert (stays.text, stays.sources) == (HOME, ids[1:])
    why = await here.call("why", id=memory.id)
    (event,) = [one for one in why.events if one.topic == "memory.revised"]
    assert (event.detail["lost"], event.detail["sources"]) == ([ids[0]], ids[1:])
    preview = await here.call("forget", id=memory.id, with_sources=True, preview=True)
    done = await here.call("forget", id=memory.id, with_sources=True)
    assert sorted(done.touched) == sorted(preview.touched) == sorted([memory.id, *ids[1:]])
    assert await in_every_way(here, memory.id, HOME) == []
    assert not await found(here, "note home Porto")


async def test_forgetting_with_sources_reaches_what_else_was_drawn_from_them(here: Here) -> None:
    """One line, two memories: asked to forget one with its sources, both go."""
    await here.say("together Ana and Bea live here")
    await here.say("together Ana and Bea live here", "note home = Ana lives here", session="t")
    home = await here.call("get", key="home")
    gone = await here.call("forget", id=home.id, with_sources=True)
    assert home.id in gone.touched
    # The other one was said in another session as well.
    assert await here.texts() == ["Ana and Bea live here"]


@pytest.mark.parametrize(
    "other,left",
    [("I live in Porto, says Ana", [HOME]), ("Ana came by", []), ("Ana never lives in Porto", [])],
)
async def test_what_is_left_of_a_ground_must_bear_it_out(here: Here, other: str, left: list[str]) -> None:
    """Drawn from two lines together it stays where the one that is left says every word of it, and no other way."""
    said = await here.say(f"together {HOME}", other)
    (memory,) = (await here.call("list")).entries
    assert len(memory.sources) == 2
    done = await here.call("forget", id=said.outcomes[0].id)
    assert await here.texts() == left
    assert done.kept == [memory.id] * len(left)
    if left:
        await here.call("forget", id=said.outcomes[1].id)
        assert await here.texts() == []


async def test_a_persons_statement_is_not_touched(here: Here) -> None:
    """What a person stated, affirmed or brought back stays; what an agent affirmed does too; words noted at it go."""
    stated = await here.remember("Ana sings", PERSON, key="art")
    said = await here.say(
        "note home = Ana lives in Porto",
        "note pet = Ana has a cat",
        "note job = Ana is a cook",
        "note art = Ana paints",
        "note car = Ana drives",
    )
    assert (await here.call("remember", PERSON, content=HOME, key="home")).outcome == "duplicate"
    assert (await here.call("remember", content="Ana has a cat", key="pet")).outcome == "duplicate"
    job = (await here.call("get", key="job")).id
    await here.call("retract", PERSON, id=job)
    await here.call("restore", PERSON, id=job)
    why = await here.call("why", id=stated)
    assert "Ana paints" in str(why.events)
    for message in said.outcomes:
        await here.call("forget", id=message.id)
    assert sorted(await here.texts()) == sorted([HOME, "Ana has a cat", "Ana is a cook", "Ana sings"])
    assert (await here.call("get", key="home")).author_type == "person"
    assert "Ana paints" not in str(await here.call("why", id=stated))


async def test_a_message_forgotten_while_it_is_read(here: Here) -> None:
    """An extraction that ends after the forget writes nothing of it down, and nothing of it is ever read again."""
    reader = here.models.together
    reader.held.clear()
    messages = [{"role": "user", "content": one} for one in (NOTE, "note pet = Ana has a cat")]
    said = await here.call("ingest", messages=[*messages, {"role": "assistant", "content": "ok"}], session="s")
    await asyncio.wait_for(reader.reading.wait(), 20)
    await here.call("forget", id=said.outcomes[0].id)
    reader.held.set()

    async def read() -> bool:
        return await here.texts() == ["Ana has a cat"]

    await until(read)
    again = await here.call("ingest", messages=messages, session="s", wait=True)
    assert [one.outcome for one in again.outcomes] == ["blocked", "duplicate"]
    await here.call("retry")
    assert await here.texts("all") == ["Ana has a cat"]
    events = (await here.call("feed", kinds=["extraction", "memory"], limit=1_000)).events
    assert HOME not in str([one.data for one in events])


async def test_what_a_service_left_undone_is_done_by_the_next(tmp_path: Path) -> None:
    """A process that ended right after the message was forgotten: the next one sees to what follows."""
    async with world(tmp_path / "data") as here:
        said = await here.say(NOTE)
        (memory,) = (await here.call("list")).entries
        core = here.runtime.service.core
        (worker,) = [task for task in here.runtime.tasks if task.get_name() == "forgetting"]
        worker.cancel()
        async with core.profiles.use("p") as opened:
            context = Context(actor=Actor("mia", "person"), now=memory.recorded_at)
            assert await forget_messages(core, opened, [said.outcomes[0].id], context) == [said.outcomes[0].id]
        assert await here.texts() == [HOME]
    async with world(tmp_path / "data") as here:

        async def gone() -> bool:
            return await here.texts() == []

        await until(gone)
        assert await in_every_way(here, memory.id, HOME) == []
        why = await here.call("why", id=memory.id)
        assert [one.by for one in why.events if one.topic == "memory.forgotten"] == ["mia"]


async def test_a_grant_for_some_contacts_forgets_only_theirs(here: Here) -> None:
    """Another contact's message is not found; of what goes with one's own, only what one may see is named."""
    ana = await here.say(NOTE, session="a", contact="ana")
    bea = await here.say("note pet = Bea has a cat", session="b", contact="bea")
    limited = Principal("bot", "agent", (Grant("p", "write", ("ana",)),))
    with pytest.raises(NotFoundError):
        await here.call("forget", limited, id=bea.outcomes[0].id)
    done = await here.call("forget", limited, id=ana.outcomes[0].id)
    assert len(done.touched) == 2
    assert await here.texts(contact="*") == ["Bea has a cat"]


class Slow(CheapEmbedder):
    """Embeds only while it is not held."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()
        self.free.set()

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Wait, then embed."""
        self.free.wait(20)
        return super().embed(texts)


class Thoughtful(WordJudge):
    """Answers only while it is not held."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.thinking = asyncio.Event(), asyncio.Event()

    async def judge(self, new: Statement, old: Statement, *, cosine: float, profile: str) -> Opinion:
        """Wait, then judge."""
        self.thinking.set()
        await self.free.wait()
        return await super().judge(new, old, cosine=cosine, profile=profile)


async def test_vectors_that_come_late_bring_nothing_back(tmp_path: Path) -> None:
    """A memory and its message, forgotten while they were being embedded, have no vectors afterwards; others do."""
    embedder = Slow()
    async with thinking(tmp_path / "data", Readers(), embedder=embedder) as here:
        embedder.free.clear()
        said = await here.call("ingest", messages=[{"role": "user", "content": NOTE}], session="s")

        async def read() -> bool:
            return await here.texts() == [HOME]

        await until(read)
        (memory,) = (await here.call("list")).entries
        gone = await here.call("forget", id=said.outcomes[0].id)
        assert gone.touched == [said.outcomes[0].id, memory.id]
        embedder.free.set()
        other = await here.remember("Ana has a cat")
        assert "vectors" in await in_every_way(here, other, "Ana has a cat")
        for one in (memory.id, said.outcomes[0].id):
            assert await in_every_way(here, one, HOME) == []
        # A key that is used again has the vectors of its new words.
        again = await here.remember("Bea sings in Braga", key="home")
        async with here.runtime.service.core.profiles.use("p") as opened:
            assert isinstance(opened.views.vectors, VectorView)
            assert opened.views.vectors.vector_of(again) == embedder.embed_query("Bea sings in Braga")


async def test_a_verdict_that_comes_late_brings_nothing_back(tmp_path: Path) -> None:
    """Both memories are forgotten while a judge thinks about them: its opinion changes nothing."""
    judge = Thoughtful()
    models = Readers(judge)
    async with thinking(tmp_path / "data", models, embedder=CheapEmbedder()) as here:
        said = [
            await here.call("ingest", messages=[{"role": "user", "content": note}], session=note[:40])
            for note in ("note one = Ana lives in Porto", "note two = Ana lives in Porto now")
        ]
        await asyncio.wait_for(judge.thinking.wait(), 20)
        for one in said:
            await here.call("forget", id=one.outcomes[0].id)
        judge.free.set()
        control = await here.remember("Bea sings in Braga")
        assert await here.texts() == ["Bea sings in Braga"]
        assert set(await here.texts("all")) == {"", "Bea sings in Braga"}
        assert "memory.superseded" not in await here.topics()
        assert control in await indexed(here)

"""Sessions that end and that are deleted, and tasks that live no longer than they should."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import msgspec
import pytest

from domain.errors import InvalidInputError, NotFoundError, RefusedError
from domain.grants import Grant, Principal
from domain.settings import ExtractionLimits
from domain.transcript import Candidate, Found, KnownKey, Window
from gateways.service import reads
from tests.cheap import CheapEmbedder
from tests.thinkers import NoteExtractor, Thinkers
from tests.thinking_world import AGENT, PERSON, QUICK, World, thinking, until


class Tasks(NoteExtractor):
    """Reads notes, and a task from every line that begins with ``todo``."""

    async def extract(self, window: Window, known: Sequence[KnownKey], *, profile: str) -> Found:
        """Return notes and tasks."""
        found = await super().extract(window, known, profile=profile)
        tasks = [
            Candidate(text=line.text.removeprefix("todo "), kind="task", lines=(line.index,), verdict="passed")
            for line in window.lines
            if not line.context and line.text.startswith("todo ")
        ]
        return Found((*found.items, *tasks))


Here = World[Thinkers]
#: Nothing is read before it is asked for.
PATIENT = msgspec.structs.replace(QUICK, extraction=ExtractionLimits(idle_seconds=3_600))


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world that reads only what is hurried."""
    models = Thinkers(notes=Tasks())
    async with thinking(tmp_path / "data", models, settings=PATIENT, embedder=CheapEmbedder()) as started:
        yield started


def said(*lines: str) -> list[dict[str, str]]:
    """Return what a user says."""
    return [{"role": "user", "content": line} for line in lines]


async def test_tasks_end_with_their_session(here: Here) -> None:
    """Stated or read, they are expired afterwards; those of another session and what is no task go on."""
    await here.say("todo call Bea", "note home = Ana lives in Porto", session="a")
    await here.say("todo feed the cat", session="b")
    await here.remember("Buy milk", kind="task", session="a")
    ended = await here.call("end_session", session="a")
    assert len(ended.tasks) == 2
    for _ in range(2):
        assert sorted(await here.texts(at_least=ended.position)) == ["Ana lives in Porto", "feed the cat"]
        assert sorted(await here.texts("expired")) == ["Buy milk", "call Bea"]
        assert sorted(await here.texts("expired", session="a")) == ["Buy milk", "call Bea"]
        await here.call("rebuild")
    why = await here.call("why", id=ended.tasks[0])
    (event,) = [one for one in why.events if one.topic == "memory.expired"]
    assert event.by == "local-agent"
    # It goes on later: what is said then is of a new beginning.
    await here.say("todo water the plants", session="a")
    assert "water the plants" in await here.texts()


async def test_the_end_of_a_session_lets_the_rest_be_read(here: Here) -> None:
    """What waited for its idle time is read at once; a task that is found only now ends at once as well."""
    await here.call("ingest", messages=said("todo call Bea", "note home = Ana lives in Porto"), session="a")
    assert await here.texts() == []
    await here.call("end_session", session="a", wait=True)
    assert await here.texts() == ["Ana lives in Porto"]
    assert await here.texts("expired") == ["call Bea"]
    (task,) = (await here.call("list", status="expired")).entries
    await here.call("restore", PERSON, id=task.id)
    await here.remember("Bea is back")
    assert "call Bea" in await here.texts()


async def test_tasks_of_a_session_have_a_time_to_live(here: Here) -> None:
    """They get it when they are written, from the profile's setting; one with an end of its own keeps that."""

    async def left(task: str) -> timedelta | None:
        memory = await here.call("get", id=task)
        return None if memory.expires_at is None else memory.expires_at - datetime.now(UTC)

    task = await here.remember("Buy milk", kind="task", session="a")
    assert timedelta(days=29) < (await left(task) or timedelta()) < timedelta(days=31)
    own = datetime.now(UTC) + timedelta(days=400)
    dated = await here.remember("Renew the passport", kind="task", session="a", expires_at=own)
    assert (await left(dated) or timedelta()) > timedelta(days=399)
    for fact in (await here.remember("Ana sings", session="a"), await here.remember("Buy salt", kind="task")):
        assert await left(fact) is None
    await here.call("settings", changes={"tasks.ttl_days": 2})
    await here.say("todo call Bea", session="b")
    (read,) = (await here.call("list", session="b")).entries
    assert (await left(read.id) or timedelta()) < timedelta(days=2)
    await here.call("settings", changes={"tasks.ttl_days": 0})
    assert await left(await here.remember("Buy bread", kind="task", session="a")) is None
    with pytest.raises(InvalidInputError):
        await here.call("settings", changes={"tasks.ttl_days": -1})


async def test_a_deleted_session_is_gone_with_what_was_drawn_from_it(here: Here) -> None:
    """Messages, facts and tasks; what another session says too stays, and so does a person's word."""
    first = await here.say("note home = Ana lives in Porto", "note pet = Ana has a cat", "todo call Bea", session="a")
    await here.say("note pet = Ana has a cat", session="b")
    await here.remember("Buy milk", kind="task", session="a")
    await here.remember("Ana sings", PERSON, session="a")
    await here.call("set_context", session="a", notes="Ana is in a hurry")
    preview = await here.call("delete_session", PERSON, session="a", preview=True)
    assert (preview.messages, len(preview.memories), len(preview.kept)) == (3, 3, 1)
    assert len(await here.texts()) == 5
    gone = await here.call("delete_session", PERSON, session="a")
    assert (gone.messages, gone.memories, gone.kept) == (3, preview.memories, preview.kept)
    for _ in range(2):
        assert sorted(await here.texts("all", at_least=gone.position)) == ["", "", "", "Ana has a cat", "Ana sings"]
        assert sorted(await here.texts()) == ["Ana has a cat", "Ana sings"]
        found = await here.call("recall", query="Porto milk call note todo", limit=50)
        assert {one.session for one in found.results if one.kind == "message"} == {"b"}
        await here.call("rebuild")
    for memory in gone.memories:
        why = await here.call("why", id=memory)
        assert [one.by for one in why.events if one.topic == "memory.forgotten"] == ["local"]
    assert "hurry" not in str(await here.call("get_context", session="a"))
    again = await here.call(
        "ingest", messages=said("note home = Ana lives in Porto", "note job = Ana cooks"), session="a", wait=True
    )
    assert [one.outcome for one in again.outcomes] == ["blocked", "recorded"]
    assert first.outcomes[0].id == again.outcomes[0].id
    assert sorted(await here.texts()) == ["Ana cooks", "Ana has a cat", "Ana sings"]
    assert (await here.topics()).count("conversation.deleted") == 1
    assert (await here.call("delete_session", session="a")).messages == 1


async def test_a_long_session_is_deleted_whole(here: Here) -> None:
    """More messages than one append holds, and more memories than one step decides about."""
    await here.call("settings", changes={"verifier.enabled": False})
    for start in range(0, 600, 300):
        lines = said(*(f"note k{number} = Fact number {number}" for number in range(start, start + 300)))
        await here.call("ingest", messages=lines, session="long")
    await here.say("note other = Stays", session="b")
    await here.call("end_session", session="long")

    async def read() -> bool:
        return not (await here.call("status")).unread

    await until(read, 60)
    assert len(await here.texts()) > 200
    gone = await here.call("delete_session", session="long")
    assert gone.messages == 600
    assert await here.texts() == ["Stays"]
    assert set(await here.texts("all")) == {"", "Stays"}


async def test_a_deletion_that_was_cut_short_is_finished(tmp_path: Path) -> None:
    """The tombstone is in the log and the process is gone: the next one forgets the rest."""
    models = Thinkers(notes=Tasks())
    async with thinking(tmp_path / "data", models, settings=PATIENT, embedder=CheapEmbedder()) as here:
        await here.say("note home = Ana lives in Porto", "todo call Bea", session="a")
        (worker,) = [task for task in here.runtime.tasks if task.get_name() == "forgetting"]
        worker.cancel()
        call = asyncio.create_task(here.call("delete_session", PERSON, session="a"))

        async def buried() -> bool:
            return "conversation.deleted" in await here.topics()

        await until(buried)
        call.cancel()
    async with thinking(tmp_path / "data", models, settings=PATIENT, embedder=CheapEmbedder()) as here:

        async def gone() -> bool:
            return set(await here.texts("all")) == {""}

        await until(gone)
        found = await here.call("recall", query="note home Porto call Bea", limit=50)
        assert found.results == []


async def test_only_who_may_write_a_session_ends_or_deletes_it(here: Here) -> None:
    """A grant for one contact: its own sessions; another's is not found, and neither is one without a contact."""
    ana = Principal("bot", "agent", (Grant("p", "write", ("ana",)),))
    reads = Principal("eye", "agent", (Grant("p", "read"),))
    for contact in ("ana", "bea", ""):
        await here.say(f"note home = {contact or 'Nobody'} lives here", session=f"s-{contact}", contact=contact)
    for verb in ("end_session", "delete_session"):
        for session in ("s-bea", "s-", "none"):
            with pytest.raises(NotFoundError):
                await here.call(verb, ana, session=session)
        with pytest.raises(RefusedError):
            await here.call(verb, reads, session="s-ana")
        with pytest.raises(InvalidInputError):
            await here.call(verb, AGENT, session="")
        await here.call(verb, ana, session="s-ana")
    assert len(await here.texts(contact="*")) == 2
    with pytest.raises(NotFoundError):
        await here.call("end_session", AGENT, session="none")


async def test_retention_hides_and_keeps(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off by default. Switched on, what is older is neither recalled nor listed, unless pinned; nothing is lost."""
    await here.say("note home = Ana lives in Porto", session="a")
    kept = await here.remember("Ana sings in Porto")
    await here.call("pin", id=kept)

    async def shown() -> tuple[list[str], set[str]]:
        found = await here.call("recall", query="Ana Porto", limit=50)
        return await here.texts(), {one.text for one in found.results}

    everything = (
        ["Ana sings in Porto", "Ana lives in Porto"],
        {"note home = Ana lives in Porto", "Ana lives in Porto"},
    )
    listed, recalled = await shown()
    assert (listed, recalled - {"Ana sings in Porto"}) == everything
    await here.call("settings", changes={"retention.days": 10})
    assert (await shown())[0] == everything[0]
    later = datetime.now(UTC) + timedelta(days=11)

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Later:
            return cls.fromtimestamp(later.timestamp(), tz)

    monkeypatch.setattr(reads, "datetime", Later)
    assert await shown() == (["Ana sings in Porto"], {"Ana sings in Porto"})
    await here.call("settings", changes={"retention.days": 0})
    assert await shown() == (listed, recalled)

"""Erasure that reaches the log: keys destroyed, views made anew, the block, the tombstone and the proof."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.conversation import Conversation
from domain.envelope import Actor
from domain.errors import ErasedError, InvalidInputError, NotFoundError, RefusedError
from domain.events import OverlayAdded, SummaryRewritten
from domain.grants import Grant, Principal
from domain.kernel import Context
from domain.kinds import conversation_scope
from gateways.doctor.scanning import scan
from gateways.service.aggregates import change
from gateways.service.service import VERBS
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import AGENT, PERSON, World, thinking, until

Here = World[Thinkers]

#: A word for each place in which somebody's words may end up. None of them is part of another.
CANARIES = {
    what: f"Quetzal{what.capitalize()}Zyx"
    for what in (
        "message",
        "extracted",
        "explicit",
        "key",
        "contact",
        "session",
        "notes",
        "task",
        "overlay",
        "summary",
        "question",
        "metadata",
        "turn",
        "speaker",
        "linked",
        "rejected",
    )
}
#: What stands in a view before; the rest is only ever encrypted.
VIEWED = set(CANARIES) - {"question", "turn"}


@asynccontextmanager
async def world(data: Path) -> AsyncIterator[Here]:
    """A service on ``data`` that thinks with models of the test."""
    async with thinking(data, Thinkers(), embedder=CheapEmbedder()) as started:
        yield started


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world."""
    async with world(tmp_path / "data") as started:
        yield started


async def there(here: Here, profile: str, verb: str, principal: Principal = AGENT, **fields: Any) -> Any:
    """Ask about another profile."""
    reply = await here.runtime.service.call(verb, principal, profile, msgspec.json.encode(fields))
    return msgspec.json.decode(msgspec.json.encode(reply), type=VERBS[verb].reply)


async def fill(here: Here) -> dict[str, str]:
    """Put every canary where it belongs; returns ids of what was written."""
    word, contact = CANARIES, CANARIES["contact"]
    session = f"chat {word['session']}"
    lines = [f"{word['message']} said hello", f"note pet = likes {word['extracted']}"]
    messages = [{"role": "user", "content": one, "name": word["speaker"]} for one in lines]
    said = await here.call("ingest", messages=messages, session=session, contact=contact, wait=True)
    one = await here.remember(
        f"{contact} likes {word['explicit']}",
        key=f"{word['key']} colour",
        contact=contact,
        metadata={"note": word["metadata"]},
    )
    wrong = await here.remember(f"{contact} is {word['rejected']}", key="wrong", contact=contact)
    await here.call("reject", PERSON, id=wrong)
    await here.call("set_context", session=session, notes=word["notes"])
    await here.call("set_task", session=session, task=word["task"])
    await here.call("link_contact", PERSON, contact=contact, to=word["linked"])
    await here.call("save_turn", session=session, turn_id="t", rows=[{"tool": "x", "result": word["turn"]}])
    await summarised(here, session, [one.id for one in said.outcomes])
    await here.call("recall", query=f"what of {word['question']}", contact=contact)
    await here.call("recall", query=f"and {word['question']}", contact="*")
    await here.runtime.service.handed_out.recalls.flush()
    await here.remember("Bea drinks tea", key="drink", contact="bea")
    return {"message": said.outcomes[0].id, "memory": one}


async def summarised(here: Here, session: str, messages: list[str]) -> None:
    """Let an overlay and a summary stand for what was said, as their worker would."""
    core = here.runtime.service.core
    context = Context(actor=Actor("summariser", "service"), now=datetime.now(UTC))
    events = [
        OverlayAdded(
            session=session, overlay="o", messages=tuple(messages), summary=CANARIES["overlay"], tokens=3, model="m"
        ),
        SummaryRewritten(
            session=session, summary=CANARIES["summary"], last=messages[-1], messages=2, tokens=3, model="m"
        ),
    ]

    def decide(conversation: Conversation) -> None:
        for event in events:
            conversation.emit(event, context, key_scope=conversation_scope(session))

    subject = await core.events.subject_id("p", Conversation.CATEGORY, session)
    _, position = await change(core, Conversation, subject, decide)
    await core.reader.wait_for(position, 10)


async def found(here: Here, data: Path) -> set[str]:
    """Which canaries lie in any file of the data directory."""
    await here.call("status")
    names = list(CANARIES)
    sightings = await asyncio.to_thread(scan, data, list(CANARIES.values()))
    return {names[one.words] for one in sightings.found}


async def test_no_file_holds_a_word_of_it(here: Here, tmp_path: Path) -> None:
    """A12: every canary is somewhere before; afterwards none is in any file, the log included, nor can it be read."""
    ids = await fill(here)
    data = tmp_path / "data"
    assert await found(here, data) >= VIEWED
    questions = await here.call("feed", kinds=["recall"], limit=100)
    assert CANARIES["question"] in str(questions.events)
    then = questions.position
    past = await here.call("recall", query=CANARIES["explicit"], contact="*", as_of=then)
    assert CANARIES["explicit"] in str(past.results)
    preview = await here.call("erase", PERSON, contact=CANARIES["contact"], preview=True)
    assert (preview.preview, preview.sessions, preview.messages, preview.memories) == (True, 1, 2, 3)
    assert preview.linked == (CANARIES["linked"],)
    done = await here.call("erase", PERSON, contact=CANARIES["contact"])
    assert done.done
    assert done.proof.holds
    assert done.proof.complete
    assert {one.category for one in done.proof.left} >= {"message", "memory", "conversation", "extraction", "recall"}
    assert done.proof.attempts == sum(one.events for one in done.proof.left) * done.proof.surviving > 0
    assert await found(here, data) == set()
    assert await here.texts(contact="*", status="all") == ["Bea drinks tea"]
    assert await here.texts(contact="*", as_of=then) == ["Bea drinks tea"]
    past = await here.call("recall", query=CANARIES["explicit"], contact="*", as_of=then)
    assert {one.text for one in past.results} == {"Bea drinks tea"}
    feed = await here.call("feed", kinds=["recall", "profile", "message", "memory", "conversation"], limit=1000)
    assert not any(word.lower() in str(feed.events).lower() for word in CANARIES.values())
    (erased,) = [one for one in feed.events if one.topic == "profile.erased"]
    assert (erased.actor, erased.actor_type) == ("local", "person")
    why = await here.call("why", id=ids["memory"])
    assert (why.memory.status, why.memory.text, why.versions) == ("erased", "", [])
    assert [(one.topic, one.by) for one in why.events] == [("profile.erased", "local")]
    assert [one.contact for one in (await here.call("list_contacts")).contacts] == ["bea"]
    for query in CANARIES.values():
        results = (await here.call("recall", query=query, contact="*", limit=50)).results
        assert {one.text for one in results} <= {"Bea drinks tea"}


async def test_what_is_erased_stays_out(here: Here) -> None:
    """Whatever is written about it is blocked, by agents and persons, after a rebuild too; others are not."""
    await here.say("note home = Ana lives in Porto", session="s", contact="ana")
    await here.remember("Bea drinks tea", contact="bea")
    await here.call("erase", PERSON, contact="ana")
    await blocked(here)
    await here.call("rebuild")
    await blocked(here)
    again = await here.call("erase", PERSON, contact="ana")
    assert again.done
    assert (await here.topics()).count("profile.erased") == 1


async def test_what_is_erased_stays_so_after_a_restart(tmp_path: Path) -> None:
    """Also where the directory of this instance is lost: the log says what was destroyed, and by whom."""
    async with world(tmp_path / "data") as here:
        await here.say("note home = Ana lives in Porto", session="s", contact="ana")
        await here.remember("Bea drinks tea", contact="bea")
        await here.call("erase", PERSON, contact="ana")
        await there(here, "q", "remember", content="gone")
        await there(here, "q", "delete_profile", PERSON)
    for lost in (tmp_path / "data").glob("directory.sqlite*"):
        lost.unlink()
    async with world(tmp_path / "data") as here:
        await blocked(here)
        listed = await there(here, "_", "profiles", PERSON, deleted=True)
        assert [(one.name, one.by) for one in listed.deleted] == [("q", "local")]
        with pytest.raises(ErasedError):
            await there(here, "q", "remember", content="again")


async def blocked(here: Here) -> None:
    """Nothing about ana, nor in her session, is taken."""
    about: list[dict[str, Any]] = [{"contact": "ana", "session": "new"}, {"session": "s"}, {"contact": "ana"}]
    for fields in about:
        reply = await here.call("ingest", messages=[{"role": "user", "content": "note a = b"}], wait=True, **fields)
        assert [one.outcome for one in reply.outcomes] == ["blocked"]
    for principal in (AGENT, PERSON):
        with pytest.raises(ErasedError):
            await here.call("remember", principal, content="Ana sings", contact="ana")
    others: list[tuple[str, dict[str, Any]]] = [
        ("set_context", {"session": "s", "notes": "x"}),
        ("set_context", {"session": "another", "notes": "x", "contact": "ana"}),
        ("save_turn", {"session": "another", "turn_id": "t", "contact": "ana"}),
        ("link_contact", {"contact": "bea", "to": "ana"}),
    ]
    for verb, given in others:
        with pytest.raises(ErasedError):
            await here.call(verb, **given)
    assert await here.texts(contact="*", status="all") == ["Bea drinks tea"]


async def test_a_block_is_lifted_by_a_person_alone(here: Here) -> None:
    """Then new things are kept, under new keys and numbers, and nothing old is there; erased again, they go too."""
    first = await here.remember("Ana sings", key="art", contact="ana")
    await here.say("note home = Ana lives in Porto", session="s", contact="ana")
    await here.call("erase", PERSON, contact="ana")
    for verb, fields in (("erase", {"contact": "ana", "lift": True}), ("delete_profile", {})):
        with pytest.raises(RefusedError):
            await here.call(verb, AGENT, **fields)
    lifted = await here.call("erase", PERSON, contact="ana", lift=True)
    assert (lifted.lifted, lifted.by) == (True, "local")
    second = await here.remember("Ana paints", key="art", contact="ana")
    assert second.split("@")[0] == first.split("@")[0]
    assert second != first
    await here.say("note home = Ana lives in Faro", session="s", contact="ana")
    assert sorted(await here.texts(contact="ana", status="all")) == ["Ana lives in Faro", "Ana paints"]
    done = await here.call("erase", PERSON, contact="ana")
    assert done.done
    assert done.proof.holds
    assert await here.texts(contact="*", status="all") == []


async def test_one_session_goes_and_the_others_stay(here: Here, tmp_path: Path) -> None:
    """What only it said goes, its name too; what somebody stated stays, and so do other sessions and the contact."""
    session = "QuetzalMondayZyx"
    await here.say("note home = Ana lives in Porto", session=session, contact="ana")
    await here.say("note pet = Ana has a cat", session="s2", contact="ana")
    await here.call("remember", content="water the plants", kind="task", session=session, contact="ana", wait=True)
    await here.remember("Ana sings", key="art", contact="ana", session=session)
    done = await here.call("erase", PERSON, session=session)
    assert done.done
    assert done.proof.holds
    assert sorted(await here.texts(contact="ana")) == ["Ana has a cat", "Ana sings"]
    assert (await here.say("note food = Ana eats fish", session="s3", contact="ana")).outcomes[0].outcome == "recorded"
    for _ in range(2):
        assert sorted(await here.texts(contact="ana")) == ["Ana eats fish", "Ana has a cat", "Ana sings"]
        assert "water" not in str(await here.texts(contact="ana", status="all"))
        assert (await asyncio.to_thread(scan, tmp_path / "data", [session, "water the plants"])).found == []
        await here.call("rebuild")
    with pytest.raises(ErasedError):
        await here.remember("Ana paints", contact="ana", session=session)
    assert (await here.call("erase", PERSON, session=session, proof=True)).proof.holds


async def test_copies_are_erased_with_it(here: Here, tmp_path: Path) -> None:
    """A12: copies and their copies are destroyed in their profiles; what somebody states there as well stays."""
    one = await here.remember("Ana keeps QuetzalCopyZyx", key="pet", contact="ana")
    first = await here.call("copy", id=one, target="q")
    await there(here, "q", "copy", id=first.memory.id, target="r")
    await here.call("copy", id=one, target="t")
    await there(here, "t", "remember", PERSON, content="Ana keeps QuetzalCopyZyx", key="pet", contact="ana")
    await there(here, "q", "remember", content="Bea keeps bees", contact="bea")
    await here.call("erase", PERSON, contact="ana")

    async def gone() -> bool:
        told = [await there(here, profile, "list", contact="*", status="all") for profile in ("q", "r")]
        return [[entry.text for entry in one.entries] for one in told] == [["Bea keeps bees"], []]

    await until(gone)
    core = here.runtime.service.core
    for profile in ("q", "r"):
        assert core.erasures is not None
        assert await core.erasures.settle(profile, await core.events.log.last_position(), 20)
    stands = await there(here, "t", "list", contact="*")
    assert [entry.text for entry in stands.entries] == ["Ana keeps QuetzalCopyZyx"]
    sighted = await asyncio.to_thread(scan, tmp_path / "data" / "profiles", ["QuetzalCopyZyx"])
    assert {one.file.split("/")[0] for one in sighted.found} == {"p.t"}
    why = await there(here, "q", "why", id=first.memory.id)
    assert (why.memory.status, [event.by for event in why.events]) == ("erased", ["local"])
    bea = await here.remember("Bea naps", contact="bea")
    await there(here, "q", "erase", PERSON, contact="bea")
    with pytest.raises(ErasedError):
        await here.call("copy", id=bea, target="q")


async def test_a_profile_is_deleted_whole(here: Here, tmp_path: Path) -> None:
    """Its files, keys and name are gone, its copies too; nobody writes to it until a person gives the name free."""
    one = await here.remember("Ana keeps QuetzalWholeZyx", contact="ana")
    await here.call("copy", id=one, target="q")
    await there(here, "q", "remember", content="Bea keeps bees")
    assert (await here.call("delete_profile", PERSON, preview=True)).preview
    done = await here.call("delete_profile", PERSON)
    assert (done.done, done.proof.holds, done.proof.surviving) == (True, True, 0)
    assert not (tmp_path / "data" / "profiles" / "p.p").exists()
    await until(lambda: copies_gone(here))
    for write in (here.remember("again"), here.call("ingest", messages=[{"role": "user", "content": "x"}])):
        with pytest.raises(ErasedError):
            await write
    with pytest.raises(NotFoundError):
        await here.call("status")
    listed = await there(here, "_", "profiles", PERSON, deleted=True)
    assert [one.name for one in listed.profiles] == ["q"]
    assert [(one.name, one.by, one.lifted) for one in listed.deleted] == [("p", "local", False)]
    assert (await there(here, "_", "profiles", PERSON)).deleted == []
    assert (await here.call("erase", PERSON, whole=True, proof=True)).proof.holds
    await here.call("delete_profile", PERSON, lift=True)
    await here.remember("a new beginning")
    assert await here.texts() == ["a new beginning"]
    assert (await there(here, "_", "profiles", PERSON, deleted=True)).deleted[0].lifted


async def copies_gone(here: Here) -> bool:
    """Whether the other profile holds only its own."""
    reply = await there(here, "q", "list", contact="*", status="all")
    return [one.text for one in reply.entries] == ["Bea keeps bees"]


async def test_what_cannot_be_erased_is_refused(here: Here) -> None:
    """One thing at a time, by its name; a profile and a tombstone that are not there are not found."""
    with pytest.raises(NotFoundError):
        await here.call("erase", PERSON, contact="ana")
    await here.remember("Ana sings", contact="ana")
    wrong: list[dict[str, Any]] = [
        {},
        {"contact": "ana", "session": "s"},
        {"contact": "*"},
        {"contact": "ana", "preview": True, "proof": True},
        {"contact": "a\nb"},
    ]
    for fields in wrong:
        with pytest.raises(InvalidInputError):
            await here.call("erase", PERSON, **fields)
    with pytest.raises(NotFoundError):
        await here.call("erase", PERSON, contact="ana", proof=True)
    writer = Principal("eye", "person", (Grant("p", "write"),))
    with pytest.raises(RefusedError):
        await here.call("erase", writer, contact="ana")
    assert await here.texts(contact="ana") == ["Ana sings"]

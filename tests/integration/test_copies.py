"""Copies in other profiles: where they come from, and that they do not outlive what they were copied from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInputError, NotFoundError, RefusedError
from domain.grants import Grant, Principal
from gateways.service.service import VERBS
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import AGENT, PERSON, World, thinking, until

Here = World[Thinkers]
HOME = "Ana lives in Porto"


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


async def texts(here: Here, profile: str, status: str = "live", **fields: Any) -> list[str]:
    """Return what a profile's memories say."""
    return [one.text for one in (await there(here, profile, "list", status=status, **fields)).entries]


async def until_texts(here: Here, profile: str, expected: list[str], status: str = "live") -> None:
    """Wait until a profile's memories say this."""

    async def so() -> bool:
        return await texts(here, profile, status) == expected

    await until(so)


async def test_a_copy_has_its_origin(here: Here) -> None:
    """It is the caller's statement, is trusted no more than the original, and is made once; it can go alone."""
    said = await here.say(f"note home = {HOME}")
    (original,) = (await here.call("list")).entries
    copy = await here.call("copy", PERSON, id=original.id, target="q")
    assert (copy.outcome, copy.memory.text, copy.memory.key) == ("remembered", HOME, "home")
    again = await here.call("copy", PERSON, id=original.id, target="q")
    assert (again.outcome, again.memory.id) == ("duplicate", copy.memory.id)
    shown = await there(here, "q", "get", id=copy.memory.id, at_least=copy.position)
    assert (shown.author, shown.author_type, shown.source) == ("local", "person", "copy")
    assert shown.confidence == original.confidence == 0.5
    why = await there(here, "q", "why", id=copy.memory.id)
    assert (why.memory.origin.profile, why.memory.origin.memory) == ("p", original.id)
    assert (why.memory.origin.position, why.memory.origin.author) == (original.position, original.author)
    assert why.sources == []
    assert said.outcomes[0].id not in str(why)
    assert HOME in [one.text for one in (await there(here, "q", "recall", query=HOME)).results]
    await there(here, "q", "forget", id=copy.memory.id)
    assert await texts(here, "q") == []
    assert await here.texts() == [HOME]
    assert (await here.call("copy", id=original.id, target="q")).outcome == "remembered"


@pytest.mark.parametrize("verb,status", [("forget", "forgotten"), ("retract", "retracted"), ("reject", "rejected")])
async def test_what_ends_the_original_ends_its_copies(here: Here, verb: str, status: str) -> None:
    """A12: and the copies of copies; what was stated there by somebody else, too, stays. History says who."""
    one = await here.remember(HOME, key="home")
    control = await here.remember("Ana has a cat", key="pet")
    first = await here.call("copy", id=one, target="q")
    second = await there(here, "q", "copy", id=first.memory.id, target="r")
    for target in ("q", "s"):
        await here.call("copy", id=control, target=target)
    await here.call("copy", id=one, target="s")
    await there(here, "s", "remember", PERSON, content=HOME, key="home")
    await here.call(verb, PERSON, id=one)
    await until_texts(here, "q", ["Ana has a cat"])
    await until_texts(here, "r", [])
    for profile, copy in (("q", first), ("r", second)):
        why = await there(here, profile, "why", id=copy.memory.id)
        assert why.memory.status == status
        assert [event.by for event in why.events if event.topic == f"memory.{status}"] == ["local"]
        assert not await there_found(here, profile, HOME)
    assert await texts(here, "s") == [HOME, "Ana has a cat"]
    if verb == "reject":
        with pytest.raises(RefusedError):
            await there(here, "q", "remember", content=HOME.upper(), key="elsewhere")
    await there(here, "q", "rebuild")
    assert await texts(here, "q") == ["Ana has a cat"]


async def there_found(here: Here, profile: str, text: str) -> bool:
    """Whether recall in a profile finds a text."""
    found = await there(here, profile, "recall", query=text, limit=50)
    texts_found: set[str] = {one.text for one in found.results}
    return text in texts_found


async def test_a_forgotten_message_reaches_copies(here: Here) -> None:
    """What was drawn from it goes here, and so its copy goes there."""
    said = await here.say(f"note home = {HOME}")
    (original,) = (await here.call("list")).entries
    await here.call("copy", id=original.id, target="q")
    await here.call("forget", id=said.outcomes[0].id)
    await until_texts(here, "q", [])
    assert await texts(here, "q", "all") == [""]


async def test_a_superseded_original_is_noted_at_the_copy(here: Here) -> None:
    """The copy stays and its origin says so; forgotten later, it goes after all."""
    one = await here.remember(HOME, key="home")
    copy = await here.call("copy", id=one, target="q")
    await here.remember("Ana lives in Faro", key="home")

    async def noted() -> bool:
        origin = (await there(here, "q", "get", id=copy.memory.id)).origin
        return str(origin.status) == "superseded"

    await until(noted)
    assert await texts(here, "q") == [HOME]
    with pytest.raises(InvalidInputError):
        await here.call("copy", id=one, target="r")
    await here.call("forget", id=one)
    await until_texts(here, "q", [])


async def test_a_copy_is_reached_after_a_restart(tmp_path: Path) -> None:
    """The process ended before it told the copy: the next one does, once."""
    async with world(tmp_path / "data") as here:
        one = await here.remember(HOME, key="home")
        copy = await here.call("copy", id=one, target="q")
        (worker,) = [task for task in here.runtime.tasks if task.get_name() == "forgetting"]
        worker.cancel()
        await here.call("retract", id=one)
        assert await texts(here, "q", at_least=copy.position) == [HOME]
    for _ in range(2):
        async with world(tmp_path / "data") as here:
            await until_texts(here, "q", [])
            why = await there(here, "q", "why", id=copy.memory.id)
            assert [event.topic for event in why.events].count("memory.retracted") == 1
            original = await here.call("why", id=one)
            assert [event.topic for event in original.events].count("memory.copy_followed") == 1


async def test_who_may_not_is_refused(here: Here) -> None:
    """Without write there or read here nothing is copied, and the refusal is counted; a person's word stands."""
    ana = await here.remember("Ana sings", key="art", contact="ana")
    bea = await here.remember("Bea paints", key="art", contact="bea")
    reader = Principal("eye", "agent", (Grant("p", "read"),))
    limited = Principal("bot", "agent", (Grant("p", "read", ("ana",)), Grant("q", "write", ("ana",))))
    other = Principal("ext", "agent", (Grant("q", "write"),))
    refused = here.runtime.service.refusals.total
    for principal in (reader, other):
        with pytest.raises(RefusedError):
            await here.call("copy", principal, id=ana, target="q")
    assert here.runtime.service.refusals.total == refused + 2
    with pytest.raises(NotFoundError):
        await here.call("copy", limited, id=bea, target="q")
    for target in ("p", "a*", ""):
        with pytest.raises(InvalidInputError):
            await here.call("copy", id=ana, target=target)
    done = await here.call("copy", limited, id=ana, target="q")
    assert done.outcome == "remembered"
    assert await texts(here, "q", contact="*", at_least=done.position) == ["Ana sings"]
    await there(here, "q", "remember", PERSON, content="Bea sculpts", key="art", contact="bea")
    with pytest.raises(RefusedError):
        await here.call("copy", id=bea, target="q")
    assert "Bea paints" not in str((await there(here, "q", "feed", limit=1_000)).events)

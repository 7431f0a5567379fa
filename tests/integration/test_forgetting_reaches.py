"""Two ways in which forgotten content used to stay: in what was consolidated, and in corrections of copies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInputError
from domain.grants import Principal
from gateways.service.service import VERBS
from tests.integration.test_consolidation import NearEmbedder, merge
from tests.thinkers import Thinkers
from tests.thinking_world import AGENT, PERSON, World, thinking, until

Here = World[Thinkers]


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world in which everything is near everything."""
    async with thinking(tmp_path / "data", Thinkers(), embedder=NearEmbedder()) as started:
        yield started


async def there(here: Here, verb: str, principal: Principal = AGENT, **fields: Any) -> Any:
    """Ask about the other profile."""
    reply = await here.runtime.service.call(verb, principal, "q", msgspec.json.encode(fields))
    return msgspec.json.decode(msgspec.json.encode(reply), type=VERBS[verb].reply)


async def test_forgetting_reaches_what_it_stands_for(here: Here) -> None:
    """What was merged into it, at any remove, is previewed, forgotten with it and not restored; others stay."""
    one = await here.remember("Ana is living in Singapore")
    two = await here.remember("Ana lives in Singapore")
    (first,) = await merge(here)
    three = await here.remember("Ana has been living in Singapore")
    other = await here.remember("Ana has a cat")
    (second,) = await merge(here, days=1, again=True)
    said = {one, two, three}
    preview = await here.call("forget", PERSON, id=second.memory, preview=True)
    assert set(preview.touched) == said
    assert {first.memory, second.memory} <= said
    assert len(await here.texts("superseded")) == 2
    done = await here.call("forget", PERSON, id=second.memory)
    assert set(done.touched) == said
    for member in said:
        with pytest.raises(InvalidInputError):
            await here.call("restore", PERSON, id=member)
        assert "Singapore" not in str(await here.call("why", id=member))
    await here.call("rebuild")
    assert [text for text in await here.texts("all") if text] == ["Ana has a cat"]
    assert (await here.call("get", id=other)).status == "live"


async def test_a_member_that_came_back_stays(here: Here) -> None:
    """What a person restored is no part of it any more, and is not forgotten with it."""
    one = await here.remember("Ana lives in Singapore")
    two = await here.remember("Ana is living in Singapore")
    (first,) = await merge(here)
    (member,) = {one, two} - {first.memory}
    await here.call("restore", PERSON, id=member)
    done = await here.call("forget", PERSON, id=first.memory)
    assert member not in done.touched
    assert (await here.call("get", id=member)).status == "live"


@pytest.mark.parametrize(
    "corrected,left",
    [
        ("Ana lives in Porto since May", []),
        ("Ana lives in Porto and sings", []),
        ("Ana lives in Faro", ["Ana lives in Faro"]),
    ],
)
async def test_a_corrected_copy_does_not_keep_what_is_forgotten(here: Here, corrected: str, left: list[str]) -> None:
    """A correction that still says it goes with the original, one in words of its own stays; the copy is unreadable."""
    one = await here.remember("Ana lives in Porto", key="home")
    copy = await here.call("copy", PERSON, id=one, target="q")
    await there(here, "correct", PERSON, id=copy.memory.id, content=corrected)
    await here.call("forget", PERSON, id=one)

    async def followed() -> bool:
        return [entry.text for entry in (await there(here, "list")).entries] == left

    await until(followed)
    why = await there(here, "why", id=copy.memory.id)
    assert (why.memory.status, why.memory.text) == ("forgotten", "")
    assert "Porto" not in str(why)
    with pytest.raises(InvalidInputError):
        await there(here, "restore", PERSON, id=copy.memory.id)

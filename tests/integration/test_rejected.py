"""A value that a person rejected stays inactive, whatever happens to it or beside it (A9)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.errors import RefusedError
from gateways.service.decaying import decay
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import PERSON, World, thinking

Here = World[Thinkers]
WRONG, RIGHT = "Ana lives in Porto", "Ana lives in Faro"
DISGUISES = ("ANA LIVES IN PORTO!", "Аna livеs in Роrto", "Ana\u200b lives in Por\u200dto", " A n a lives  in Porto.")


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A running world."""
    async with thinking(tmp_path / "data", Thinkers(), embedder=CheapEmbedder()) as started:
        yield started


async def inactive(here: Here) -> bool:
    """Whether nothing that says the rejected value is live or recalled as a memory, now and after a rebuild."""
    for _ in range(2):
        found = await here.call("recall", query=WRONG, limit=50)
        said = {one.text for one in found.results if one.kind != "message"} | set(await here.texts())
        if any("porto" in text.casefold() or "Роrto" in text for text in said):
            return False
        await here.call("rebuild")
    return True


async def test_superseded_restated_corroborated_and_read_again(here: Here) -> None:
    """By the same lines, other sessions, other keys and any disguise; another value under the key is the control."""
    said = await here.say(f"note home = {WRONG}")
    (wrong,) = (await here.call("list")).entries
    await here.call("reject", PERSON, id=wrong.id)
    await here.say(f"note home = {RIGHT}", session="t")
    for number, text in enumerate((WRONG, *DISGUISES)):
        await here.say(f"note home = {text}", session=f"again-{number}")
        await here.say(f"note k{number} = {text}", session=f"other-{number}")
        with pytest.raises(RefusedError):
            await here.call("remember", content=text, key="home")
    await here.say(f"note home = {WRONG}")
    assert await here.texts() == [RIGHT]
    assert await inactive(here)
    await here.call("forget", id=said.outcomes[0].id)
    await here.say(f"note home = {WRONG}", session="after")
    assert await inactive(here)


async def test_rejected_after_it_was_superseded(here: Here) -> None:
    """A version that another one replaced can be rejected; it does not come back when that one ends."""
    wrong = await here.remember(WRONG, key="home")
    right = await here.remember(RIGHT, key="home")
    await here.call("reject", PERSON, id=wrong)
    await here.call("retract", id=right)
    with pytest.raises(RefusedError):
        await here.call("restore", id=wrong)
    with pytest.raises(RefusedError):
        await here.call("remember", content=WRONG, key="home")
    assert await here.texts() == []
    assert await inactive(here)


async def test_its_time_to_live_brings_nothing_back(here: Here) -> None:
    """Rejected while it had an end, and past that end, with its successor expired as well."""
    soon = datetime.now(UTC) + timedelta(milliseconds=1_500)
    wrong = await here.remember(WRONG, key="home", expires_at=soon.isoformat())
    await here.call("reject", PERSON, id=wrong)
    right = await here.remember(RIGHT, key="home")
    await here.call("expire", id=right, at=datetime.now(UTC).isoformat())
    await here.call("expire", id=wrong, never=True)
    with pytest.raises(RefusedError):
        await here.call("remember", content=WRONG)
    assert await here.texts() == []
    assert await inactive(here)


async def test_decay_and_the_daily_pass_bring_nothing_back(here: Here) -> None:
    """Passes of a year touch what is live and not what was rejected; neither is what retention hides shown again."""
    wrong = await here.remember(WRONG, key="home")
    await here.call("reject", PERSON, id=wrong)
    right = await here.remember(RIGHT, key="home")
    core = here.runtime.service.core
    for days in range(31, 366, 40):
        async with core.profiles.use("p") as profile:
            settings = profile.views.ledger.settings()
            done = await decay(core, profile, settings, datetime.now(UTC) + timedelta(days=days))
        await core.reader.wait_for(done.position, 10)
    await here.call("consolidate")
    await here.call("settings", changes={"retention.days": 1})
    await here.call("settings", changes={"retention.days": 0})
    shown = {one.id: (one.status, one.confidence) for one in (await here.call("why", id=right)).versions}
    assert (shown[wrong], shown[right][0]) == (("rejected", 0.9), "live")
    assert shown[right][1] < 0.9
    assert await here.texts() == [RIGHT]
    with pytest.raises(RefusedError):
        await here.call("remember", content=WRONG, key="home")
    assert await inactive(here)

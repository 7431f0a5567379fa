"""A session on one page, for whoever may hear it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import NotFoundError
from domain.grants import Grant, Principal
from tests.cheap import CheapEmbedder
from tests.thinking_world import World, thinking

MARA_ONLY = Principal("shop", "agent", (Grant("p", "read", ("mara",)),))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World[None]]:
    """A service that thinks, in which mara talked twice and jon once."""
    async with thinking(tmp_path / "data", None, embedder=CheapEmbedder()) as started:
        await started.say("We booked the ferry to Corsica for 412 euros.", session="first", contact="mara")
        await started.say("I live in Porto.", "# Not a heading", session="second", contact="mara")
        await started.say("The safe opens with 4711.", session="third", contact="jon")
        yield started


async def test_what_was_said_learnt_and_left_open_is_on_the_page(world: World[None]) -> None:
    """Words of both sides, memories with their ids, task and notes, and the session before with the same contact."""
    await world.call("set_task", session="second", task="Plan the move")
    await world.call("set_context", session="second", notes="Boxes are ordered")
    reply = await world.call("summary", session="second")
    parts = reply.markdown.split("\n## ")
    assert [part.splitlines()[0] for part in parts] == [
        "# Session second", "What was said", "What was learnt", "Open", "Last session",
    ]  # fmt: skip
    assert "I live in Porto." in parts[1]
    assert "lives in Porto" in parts[2]
    assert "Plan the move" in parts[3]
    assert "Boxes are ordered" in parts[3]
    assert "Corsica for 412 euros" in parts[4]
    assert reply.last_session == "first"
    assert "With mara, 2 messages" in parts[0]
    assert "4711" not in reply.markdown
    assert reply.model == "extractive-1"


async def test_a_first_session_has_none_before_it(world: World[None]) -> None:
    """Without an earlier session there is no such part, and nothing is made up."""
    reply = await world.call("summary", session="first")
    assert reply.last_session == ""
    assert "Last session" not in reply.markdown


async def test_forgotten_words_are_not_on_the_page(world: World[None]) -> None:
    """What was forgotten is gone from the page, with what was learnt from it."""
    said = await world.call("recall_conversation", query="Porto", session="second", mode="keyword")
    await world.call("forget", id=said.messages[0].id)
    reply = await world.call("summary", session="second")
    assert "Porto" not in reply.markdown


async def test_a_session_out_of_reach_is_not_found(world: World[None]) -> None:
    """A caller with one contact gets that contact's sessions, and of others as little as of none."""

    async def ask(session: str) -> Any:
        return await world.runtime.service.call("summary", MARA_ONLY, "p", msgspec.json.encode({"session": session}))

    assert "Porto" in (await ask("second")).markdown
    for session in ("third", "unheard of"):
        with pytest.raises(NotFoundError):
            await ask(session)

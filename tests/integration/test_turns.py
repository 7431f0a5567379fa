"""Turns that stop and are taken over, on a whole service: once, by one, and not where the answer is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInputError, RefusedError, UnavailableError
from domain.grants import Grant, Principal
from domain.kinds import conversation_scope
from domain.settings import Settings, TurnLimits
from gateways.service.context import Caller
from gateways.service.turns import end_turns, resume_turn
from tests.cheap import CheapEmbedder
from tests.thinking_world import AGENT, World, thinking, until
from umbriel.turns import ResumeTurnReply, ResumeTurnRequest

pytestmark = pytest.mark.timeout(120)

ROWS = [{"tool": "search", "arguments": "tram", "result": "Line 28"}, {"tool": "fetch", "arguments": "page"}]
ANN = Principal("ann-bot", "agent", (Grant("p", "write", ("ann",)),))
BOB = Principal("bob-bot", "agent", (Grant("p", "write", ("bob",)),))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World[None]]:
    """A service that hands turns over as soon as they were saved."""
    settings = Settings(turns=TurnLimits(resume_seconds=0.0), wait_seconds=20.0, thinking=False)
    async with thinking(tmp_path / "data", None, settings=settings, embedder=CheapEmbedder()) as running:
        yield running


async def save(world: World[None], turn: str = "t1", session: str = "s", **fields: Any) -> Any:
    """Save a turn with one call that returned and one that did not."""
    return await world.call("save_turn", session=session, turn_id=turn, rows=ROWS, **fields)


async def answer(world: World[None], turn: str, session: str = "s", role: str = "assistant") -> None:
    """Record a message of a turn."""
    message = {"role": role, "content": f"{role} of {turn}", "turn_id": turn}
    await world.call("ingest", messages=[message], session=session)


async def kept(world: World[None], session: str = "s") -> int:
    """How many turns of a session the bucket holds."""
    return len(await world.runtime.service.core.turns.find("p", session))


async def unavailable(*_: object) -> None:
    """What a bucket that is away does."""
    raise UnavailableError("the bucket is away")


async def test_a_stopped_turn_is_handed_over_once(world: World[None]) -> None:
    """Rows, open sessions and the note come back to one; the same request is answered alike, no other is."""
    saved = await save(world, sessions={"browser": "b-17"})
    assert (saved.rows, saved.omitted_rows, saved.omitted_chars) == (2, 0, 0)
    assert timedelta(hours=23) < saved.expires_at - datetime.now(UTC) <= timedelta(hours=24)
    first = await world.call("resume_turn", session="s", request_id="r1")
    assert (first.turn_id, [row.result for row in first.rows]) == ("t1", ["Line 28"])
    assert ([row.tool for row in first.unfinished], first.sessions) == (["fetch"], {"browser": "b-17"})
    assert "Line 28" in first.note
    assert await world.call("resume_turn", session="s", request_id="r1") == first
    assert (await world.call("resume_turn", session="s")).turn_id == ""
    assert (await world.call("resume_turn", session="other")).turn_id == ""
    # Whoever took it over goes on under the same id, and may stop as well.
    await save(world)
    assert (await world.call("resume_turn", session="s")).turn_id == "t1"


async def test_of_many_resumers_one_gets_it(world: World[None]) -> None:
    """Ten at once, on two turns: each turn goes to exactly one."""
    await save(world, "old")
    await save(world, "new")
    replies = await asyncio.gather(*(world.call("resume_turn", session="s") for _ in range(10)))
    assert sorted(one.turn_id for one in replies) == [""] * 8 + ["new", "old"]
    assert {one.turn_id: one.others for one in replies}["new"] == 1


async def test_a_turn_that_is_under_way_is_left_alone(world: World[None]) -> None:
    """Until more than 45 seconds have passed since its last tool round."""
    core = world.runtime.service.core
    core.settings = msgspec.structs.replace(core.settings, turns=TurnLimits())
    await save(world)
    caller = Caller(AGENT.name, AGENT.type, grants=AGENT.grants)
    caller = msgspec.structs.replace(caller, reach=caller.within("p"))

    async def resume(seconds: float) -> ResumeTurnReply:
        now = datetime.now(UTC) + timedelta(seconds=seconds)
        return await resume_turn(core, caller, "p", ResumeTurnRequest(session="s"), now=now)

    assert (await resume(40)).turn_id == ""
    assert (await resume(46)).turn_id == "t1"


@pytest.mark.parametrize("role, resumed", [("assistant", ""), ("user", "t1"), ("tool", "t1")])
async def test_the_answer_ends_a_turn(world: World[None], role: str, resumed: str) -> None:
    """The assistant's message with its id does; other messages of the turn, and the answers of others, do not."""
    await save(world)
    await answer(world, "t2")
    await answer(world, "t1", session="another")
    await answer(world, "t1", role=role)
    assert await kept(world) == (0 if role == "assistant" else 1)
    assert (await world.call("resume_turn", session="s")).turn_id == resumed


async def test_a_crash_between_the_answer_and_its_end(world: World[None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is asked before anything is handed over: a checkpoint that outlived its answer is dropped then."""
    with monkeypatch.context() as broken:
        await save(world)
        broken.setattr(world.runtime.service.core.turns, "drop", unavailable)
        await answer(world, "t1")
    assert await kept(world) == 1
    assert (await world.call("resume_turn", session="s")).turn_id == ""
    assert await kept(world) == 0


async def test_an_answer_in_the_very_moment(world: World[None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded after the log was asked and before the claim: nobody resumes what was answered."""
    turns = world.runtime.service.core.turns
    replace = turns.replace

    async def late(*arguments: Any, **options: Any) -> None:
        monkeypatch.undo()
        monkeypatch.setattr(turns, "drop", unavailable)
        await answer(world, "t1")
        monkeypatch.undo()
        await replace(*arguments, **options)

    await save(world)
    monkeypatch.setattr(turns, "replace", late)
    assert (await world.call("resume_turn", session="s")).turn_id == ""
    assert await kept(world) == 0


async def test_a_turn_expires(world: World[None]) -> None:
    """Also one that was claimed; nothing is left that would keep the next one from beginning."""
    core = world.runtime.service.core
    core.settings = msgspec.structs.replace(core.settings, turns=TurnLimits(resume_seconds=0, keep_seconds=1))
    await save(world)
    await save(world, "t2")
    assert (await world.call("resume_turn", session="s")).turn_id == "t2"

    async def gone() -> bool:
        return await kept(world) == 0

    await until(gone)
    assert (await world.call("resume_turn", session="s")).turn_id == ""
    await save(world)
    assert (await world.call("resume_turn", session="s")).turn_id == "t1"


async def test_working_data_is_no_event_and_no_memory(world: World[None], tmp_path: Path) -> None:
    """It is in no feed and no recall, unreadable on disk, and gone with its conversation's key."""
    await save(world, "secret-turn", sessions={"browser": "canary-browser"})
    assert await world.topics() == ["profile.created"]
    assert (await world.call("recall", query="Line 28")).results == []
    stored = b"".join(file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file())
    assert b"UMBRIEL_TURNS" in stored
    assert not [word for word in (b"Line 28", b"canary-browser", b"secret-turn") if word in stored]
    keys = world.runtime.service.core.events.keys
    await keys.destroy("p", (await keys.key("p", conversation_scope("s"))).key_id)
    assert (await world.call("resume_turn", session="s")).turn_id == ""


async def test_what_a_session_holds_can_be_dropped(world: World[None]) -> None:
    """All turns of one session go, and none of another."""
    for session in ("s", "other"):
        await save(world, "t1", session)
        await save(world, "t2", session)
    assert await world.runtime.service.core.turns.drop("p", "s") == 2
    assert (await kept(world), await kept(world, "other")) == (0, 2)
    await end_turns(world.runtime.service.core, "p", "other", [])
    assert await kept(world, "other") == 2


async def test_turns_that_nobody_ends_do_not_pile_up(world: World[None]) -> None:
    """Of twenty-five that stopped in one session, the newest twenty are kept once somebody asks."""
    for number in range(25):
        await save(world, f"t{number}")
    first = await world.call("resume_turn", session="s")
    assert (first.turn_id, first.others, await kept(world)) == ("t24", 19, 20)
    names = {(await world.call("resume_turn", session="s")).turn_id for _ in range(20)}
    assert names == {"", *(f"t{number}" for number in range(5, 24))}


async def test_a_grant_for_some_contacts_takes_over_theirs(world: World[None]) -> None:
    """Of a session that nothing was recorded in, only a turn that was saved for a contact of its own."""
    await save(world, principal=ANN, contact="ann")
    assert (await world.call("resume_turn", BOB, session="s", contact="bob")).turn_id == ""
    with pytest.raises(RefusedError):
        await world.call("resume_turn", BOB, session="s", contact="ann")
    assert (await world.call("resume_turn", ANN, session="s", contact="ann")).turn_id == "t1"
    await save(world, session="open")
    assert (await world.call("resume_turn", ANN, session="open", contact="ann")).turn_id == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"session": ""},
        {"session": "x" * 65},
        {"turn_id": ""},
        {"rows": [{"tool": ""}]},
        {"rows": [{"tool": "t", "omitted": -1}]},
        {"sessions": {"b": ""}},
        {"sessions": {str(number): "x" for number in range(21)}},
        {"contact": "*"},
        {"speed": 1},
    ],
)
async def test_bad_input_keeps_nothing(world: World[None], fields: dict[str, Any]) -> None:
    """It is refused before the profile exists."""
    with pytest.raises(InvalidInputError):
        await world.call("save_turn", **{"session": "s", "turn_id": "t", "rows": ROWS, **fields})
    assert await world.topics() == []

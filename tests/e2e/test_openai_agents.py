"""The session of the OpenAI Agents SDK: what the SDK's own session does, in a log, for any number of processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Session, SQLiteSession, Usage, function_tool
from agents.models.interface import Model
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.e2e.processes import ServiceProcess
from tests.unit.test_agent_items import ITEMS
from umbriel import GrantSpec, InvalidInputError, RefusedError, Umbriel
from umbriel.openai_agents import UmbrielSession
from umbriel.types import Message

_names = count(1)
ACTIONS = st.lists(
    st.tuples(st.just("add"), st.lists(ITEMS, max_size=3))
    | st.tuples(st.just("get"), st.sampled_from([None, 0, 1, 2, 50, -1]))
    | st.tuples(st.sampled_from(["pop", "clear", "again"]), st.none()),
    min_size=1,
    max_size=12,
)


@pytest.fixture
async def memory(service: ServiceProcess) -> AsyncIterator[Umbriel]:
    """An agent's client on a new profile."""
    async with await service.client(profile=f"agents-{next(_names)}") as connected:
        yield connected


def user(text: Any) -> Any:
    """What the SDK makes of a user's line."""
    return {"role": "user", "content": text}


def texts(items: list[Any]) -> list[str]:
    """The words of plain items."""
    return [one["content"] for one in items]


@given(actions=ACTIONS)
@settings(max_examples=12)
def test_it_does_what_the_sdks_own_session_does(service: ServiceProcess, actions: list[tuple[str, Any]]) -> None:
    """Over any sequence of calls, with items of any shape, both answer the same, byte for byte."""

    async def play() -> None:
        ours_id = f"s{next(_names)}"
        theirs = SQLiteSession(ours_id)
        async with await service.client(profile="agents-played") as memory:
            ours = UmbrielSession(ours_id, memory)
            for action, what in actions:
                if action == "again":
                    ours = UmbrielSession(ours_id, memory, contact="mara")
                    continue
                answers = [await _do(one, action, what) for one in (ours, theirs)]
                assert json.dumps(answers[0]) == json.dumps(answers[1])
            assert json.dumps(await ours.get_items()) == json.dumps(await theirs.get_items())
        theirs.close()

    asyncio.run(play())


async def _do(session: Session, action: str, what: Any) -> Any:
    match action:
        case "add":
            return await session.add_items(what)
        case "get":
            return await session.get_items(what)
        case "pop":
            return await session.pop_item()
        case _:
            return await session.clear_session()


async def test_it_is_a_session_of_the_sdk(memory: Umbriel) -> None:
    """By the protocol, with settings that bound what a run reads."""
    session = UmbrielSession("s", memory)
    assert isinstance(session, Session)
    assert session.session_settings is not None
    await session.add_items([user(str(number)) for number in range(600)])
    session.session_settings.limit = 2
    assert texts(await session.get_items()) == ["598", "599"]
    assert len(await session.get_items(550)) == 550
    session.session_settings.limit = None
    assert texts(await session.get_items()) == [str(number) for number in range(600)]


async def test_equal_items_are_two_and_large_ones_are_whole(memory: Umbriel) -> None:
    """Who says "Yes." twice said it twice; an image of a megabyte comes back, is popped whole, and leaves nothing."""
    session = UmbrielSession("s", memory)
    image: Any = {"role": "user", "content": [{"type": "input_image", "image_url": "A/+=" * 250_000}]}
    await session.add_items([user("Yes."), user("Yes.")])
    await session.add_items([user("Yes."), image])
    assert await session.get_items() == [user("Yes."), user("Yes."), user("Yes."), image]
    assert await session.get_items(1) == [image]
    assert await session.pop_item() == image
    assert len((await memory.messages("s")).messages) == 3
    assert await session.get_items() == [user("Yes.")] * 3


async def test_two_processes_share_a_session(memory: Umbriel, service: ServiceProcess) -> None:
    """Each sees at once what the other added; items that are popped at the same time are different ones."""
    async with await service.client(profile=memory.profile) as second:
        here, there = UmbrielSession("s", memory), UmbrielSession("s", second)
        for number in range(4):
            await (here, there)[number % 2].add_items([user(str(number))])
            assert texts(await (there, here)[number % 2].get_items()) == [str(n) for n in range(number + 1)]
        await asyncio.gather(*(one.add_items([user("a"), user("b")]) for one in (here, there)))
        assert texts(await here.get_items(4)) == ["a", "b"] * 2
        popped = await asyncio.gather(*(one.pop_item() for one in (here, there, here, there, here)))
        assert sorted(texts(list(popped))) == ["3", "a", "a", "b", "b"]
        assert texts(await there.get_items()) == ["0", "1", "2"]


async def test_what_is_refused_leaves_nothing(memory: Umbriel, service: ServiceProcess) -> None:
    """An item that is no JSON, a name that is too long, a session of somebody else."""
    session = UmbrielSession("s", memory)
    with pytest.raises(InvalidInputError, match="no JSON"):
        await session.add_items([user("fine"), user(object())])
    assert await session.get_items() == []
    with pytest.raises(InvalidInputError, match="session is too long"):
        await UmbrielSession("x" * 65, memory).get_items()
    await UmbrielSession("hers", memory, contact="mara").add_items([user("mine")])
    name, grant = f"jo{next(_names)}", GrantSpec(profile=memory.profile, access="write", contacts=["jo"])
    async with await service.client(profile=memory.profile, principal="local") as person:
        secret = (await person.principal_add(name, grants=[grant])).secret
    url = json.loads((service.data / "endpoint.json").read_text())["url"]
    async with await Umbriel.connect(url, principal=name, password=secret, profile=memory.profile) as limited:
        other = UmbrielSession("hers", limited, contact="jo")
        assert await other.get_items() == []
        with pytest.raises(RefusedError):
            await other.add_items([user("taken over")])


async def test_what_was_said_before_is_gone_on_with(memory: Umbriel) -> None:
    """A conversation that an importer or a hook brought is the beginning of the session."""
    await memory.ingest([Message(role="user", content="Hi"), Message(role="tool", content="x")], session="s")
    session = UmbrielSession("s", memory)
    await session.add_items([user("there")])
    assert await session.get_items() == [user("Hi"), user("there")]
    assert await session.pop_item() == user("there")
    assert await session.pop_item() == user("Hi")
    assert await session.pop_item() is None


class Scripted(Model):
    """A model that calls a tool in the first turn, and says what it has seen."""

    def __init__(self) -> None:
        self.seen: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> ModelResponse:
        """Answer from the input alone."""
        items = [dict(one) for one in input]
        self.seen.append(items)
        number = sum(one.get("role") == "user" for one in items)
        called = any(one.get("type") == "function_call_output" for one in items)
        output: Any = (
            ResponseOutputMessage(
                id=f"msg_{number}",
                role="assistant",
                status="completed",
                type="message",
                content=[ResponseOutputText(text=f"Turn {number}.", annotations=[], type="output_text")],
            )
            if called
            else ResponseFunctionToolCall(
                arguments='{"city": "Porto"}', call_id="call_1", name="weather", type="function_call"
            )
        )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    async def stream_response(self, *rest: Any, **more: Any) -> AsyncIterator[Any]:
        """Nothing here streams."""
        raise NotImplementedError
        yield


@function_tool
def weather(city: str) -> str:
    """Say how the weather is."""
    return f"rain in {city}"


async def test_an_agent_remembers_across_a_restart(tmp_path: Path) -> None:
    """Two turns of a real run, the service stopped between them: the model sees the first turn, tool call and all.

    What the user said is remembered of the contact, and what is cleared is not.
    """
    model = Scripted()
    agent = Agent(name="Aide", model=model, tools=[weather])
    quiet = RunConfig(tracing_disabled=True)
    answers = []
    for said in ("I live in Porto.", "What did I say?"):
        with ServiceProcess(tmp_path / "data", ("tests.cheap", "serve")) as service:
            async with await service.client() as memory:
                session = UmbrielSession("mara-1", memory, contact="mara")
                answers.append((await Runner.run(agent, said, session=session, run_config=quiet)).final_output)
                written = await memory.ingest([Message(role="user", content="x")], session="else", wait=True)
                found = await memory.list(contact="mara", at_least=written.position)
                assert "The user lives in Porto." in [one.text for one in found.entries]
                if len(answers) == 2:
                    await session.clear_session()
                    assert await session.get_items() == []
                    assert (await memory.list(contact="mara")).entries == []
    assert answers == ["Turn 1.", "Turn 2."]
    kinds = [one.get("type") or one["role"] for one in model.seen[-1]]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user"]
    assert model.seen[-1][:3] == model.seen[1]
    assert model.seen[-1][2]["output"] == "rain in Porto"

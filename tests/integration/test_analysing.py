"""Query analysis in a running service: what it finds more, what it is told, and recall without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from domain.errors import UnavailableError
from domain.ports import Analyst, Ask, Chat
from domain.settings import AnalysisLimits, Reaches, Settings
from gateways import bootstrap
from gateways.analysing import ChatAnalyst
from gateways.bootstrap import Runtime
from gateways.service.analysing import NO_MODEL, OFF, UNUSED
from gateways.service.models import KEPT, Models, Provided
from tests.analysing import PlainAnalyst, known_keys
from tests.integration.test_policy import recorded
from tests.integration.test_running import SmallEmbedder, call, said
from tests.scripted_chat import ScriptedChat

PARTNER = {"data_flow.messages": "partner", "data_flow.memories": "partner", "data_flow.queries": "partner"}
QUERY = "Who is the employer?"


class CountingEmbedder(SmallEmbedder):
    """Keeps the queries it was given."""

    def __init__(self) -> None:
        self.queries: list[str] = []

    def embed_query(self, text: str) -> bytes:
        """Return the vector of a text."""
        self.queries.append(text)
        return super().embed_query(text)


@asynccontextmanager
async def analysing(
    data: Path,
    *chats: Chat,
    reaches: Reaches = "own",
    limits: AnalysisLimits | None = None,
    embedder: SmallEmbedder | None = None,
) -> AsyncIterator[Runtime]:
    """A service in which these models analyse, in this order."""
    models: list[Provided[Analyst]] = [
        Provided(ChatAnalyst(chat), f"chat-{n}", reaches) for n, chat in enumerate(chats)
    ]
    async with bootstrap.running(
        data,
        settings=Settings(thinking=False, analysis=limits or AnalysisLimits(seconds=10)),
        embedder=embedder or SmallEmbedder(),
        models=Models((), (), analysts=models),
    ) as runtime:
        yield runtime


@pytest.fixture
def model() -> PlainAnalyst:
    """A model that relates an employer to work, and a spouse to a wife."""
    return PlainAnalyst()


@pytest.fixture
async def runtime(tmp_path: Path, model: PlainAnalyst) -> AsyncIterator[Runtime]:
    """A running service in which it analyses."""
    async with analysing(tmp_path / "data", model) as started:
        yield started


async def ask(runtime: Runtime, query: str = QUERY, **fields: Any) -> Any:
    """Recall with explanations."""
    return await call(runtime, "recall", query=query, explain=True, **fields)


def found_by(reply: Any, memory: str) -> set[str]:
    """Return the channels that found a result."""
    return {hit.channel for one in reply.results if one.id == memory for hit in one.channels}


async def test_an_analysis_finds_more(runtime: Runtime) -> None:
    """The key it names, the terms it adds and its statement find what the question's words do not, and it is shown."""
    kept = await call(runtime, "remember", content="Acme pays for all of this", key="work place", wait=True)
    other = await call(runtime, "remember", content="There is work to do", wait=True)
    found = await ask(runtime)
    assert (found.analysis.keys, found.analysis.terms) == (["work place"], ["work"])
    assert (found.analysis.statement, found.analysis.model, found.analysis.reason) == (
        "It is work.",
        "script:plain",
        "",
    )
    assert {"key", "hyde_vector"} <= found_by(found, kept.memory.id)
    assert "terms" in found_by(found, other.memory.id)
    assert found.results[0].id == kept.memory.id


async def test_it_is_shown_on_request(runtime: Runtime) -> None:
    """Without explanations the reply has none."""
    kept = await call(runtime, "remember", content="Acme pays", key="work")
    assert (await call(runtime, "recall", query=QUERY, at_least=kept.position)).analysis is None


async def test_without_a_model_there_is_none(tmp_path: Path) -> None:
    """And the reply says so; what the question's words find is found."""
    async with analysing(tmp_path / "data") as runtime:
        await call(runtime, "remember", content="The employer is Acme", wait=True)
        found = await ask(runtime)
        assert (found.analysis.reason, found.analysis.terms) == (NO_MODEL, [])
        assert found.results


async def test_the_query_is_embedded_once(tmp_path: Path, model: PlainAnalyst) -> None:
    """Its own text beside the analysis, and the statement after it."""
    embedder = CountingEmbedder()
    async with analysing(tmp_path / "data", model, embedder=embedder) as runtime:
        await call(runtime, "remember", content="Acme pays", key="work", wait=True)
        embedder.queries.clear()
        await ask(runtime)
        assert embedder.queries == [QUERY, "It is work."]
        embedder.queries.clear()
        await ask(runtime, channels=["key", "terms"])
        assert embedder.queries == []


class Held(ScriptedChat):
    """Never answers."""

    async def ask(self, ask: Ask, shape: Any) -> Any:
        """Wait for ever."""
        self.asked.append(ask)
        await asyncio.Event().wait()


async def test_a_slow_model_holds_nothing_up(tmp_path: Path) -> None:
    """Recall goes on without it and says so, without being asked to explain; then the model is left alone."""
    held = Held()
    limits = AnalysisLimits(seconds=0.05, tries=2)
    async with analysing(tmp_path / "data", held, limits=limits) as runtime:
        kept = await call(runtime, "remember", content="The employer is Acme", wait=True)
        for reason in ("does not answer", "does not answer", "asked again in"):
            found = await call(runtime, "recall", query=QUERY)
            assert reason in found.analysis.reason
            assert [one.id for one in found.results] == [kept.memory.id]
        assert len(held.asked) == 2


async def test_a_model_that_fails_costs_the_analysis_only(tmp_path: Path) -> None:
    """Its reason is in the reply."""
    chat = ScriptedChat(**{"recall.analyse": lambda _: UnavailableError("it is down")})
    async with analysing(tmp_path / "data", chat) as runtime:
        await call(runtime, "remember", content="The employer is Acme", wait=True)
        found = await ask(runtime)
        assert found.analysis.reason == "it is down"
        assert found.results


async def test_the_same_question_costs_one_call(runtime: Runtime, model: PlainAnalyst) -> None:
    """Until a key that it could name comes or goes."""
    kept = await call(runtime, "remember", content="Acme pays", key="work", wait=True)
    await ask(runtime)
    await ask(runtime)
    assert len(model.asked) == 1
    gone = await call(runtime, "forget", id=kept.memory.id)
    found = await ask(runtime, at_least=gone.position)
    assert len(model.asked) == 2
    assert (found.analysis.keys, known_keys(model.asked[1].user)) == ([], [])


async def test_a_profile_can_switch_it_off(runtime: Runtime, model: PlainAnalyst) -> None:
    """Then no model is called."""
    await call(runtime, "settings", changes={"recall.analysis": False})
    await call(runtime, "remember", content="Acme pays", key="work", wait=True)
    assert (await ask(runtime)).analysis.reason == OFF
    assert model.asked == []


async def test_channels_without_use_for_it_ask_none(runtime: Runtime, model: PlainAnalyst) -> None:
    """Where the request names its channels and none of them takes an analysis."""
    await call(runtime, "remember", content="Acme pays", key="work", wait=True)
    assert (await ask(runtime, channels=["keyword", "vector"])).analysis.reason == UNUSED
    assert model.asked == []


async def test_queries_that_may_not_go_are_not_analysed(tmp_path: Path, model: PlainAnalyst) -> None:
    """The policy keeps the question here, and that is on record."""
    async with analysing(tmp_path / "data", model, reaches="partner") as runtime:
        await call(runtime, "settings", changes={**PARTNER, "data_flow.queries": "own"})
        await call(runtime, "remember", content="The employer is Acme", wait=True)
        found = await ask(runtime)
        assert found.analysis.reason == KEPT
        assert found.results
        assert model.asked == []
        assert [(one.subject, one.provider) for one in await recorded(runtime)] == [("queries", "chat-0")]


async def test_keys_that_may_not_go_are_not_told(tmp_path: Path, model: PlainAnalyst) -> None:
    """Keys are memories: where those stay, the question goes without them."""
    async with analysing(tmp_path / "data", model, reaches="partner") as runtime:
        await call(runtime, "settings", changes={**PARTNER, "data_flow.memories": "own"})
        await call(runtime, "remember", content="Acme pays", key="work secret", wait=True)
        found = await ask(runtime)
        assert (found.analysis.keys, found.analysis.terms) == ([], ["work"])
        assert "secret" not in model.asked[0].user
        assert [one.subject for one in await recorded(runtime)] == ["memories"]


async def test_only_keys_in_scope_are_told(runtime: Runtime, model: PlainAnalyst) -> None:
    """A contact's question shows that contact's keys and those of everybody, never another's (A1)."""
    for contact, key in (("ana", "work of ana"), ("bob", "work of bob"), ("", "work of all")):
        await call(runtime, "remember", content="Acme pays", key=key, contact=contact, wait=True)
    for contact, keys in (
        ("ana", ["work of all", "work of ana"]),
        ("", ["work of all"]),
        ("*", ["work of all", "work of bob", "work of ana"]),
    ):
        await ask(runtime, contact=contact)
        assert known_keys(model.asked[-1].user) == keys


async def test_at_most_fifty_keys_are_told(tmp_path: Path, model: PlainAnalyst) -> None:
    """The newest of them."""
    async with analysing(tmp_path / "data", model, limits=AnalysisLimits(seconds=10, keys=3)) as runtime:
        for number in range(5):
            last = await call(runtime, "remember", content=f"Acme pays {number}", key=f"work {number}")
        await ask(runtime, at_least=last.position)
        await ask(runtime, "Is that the employer?")
        assert known_keys(model.asked[-1].user) == ["work 4", "work 3", "work 2"]


async def test_a_profile_that_does_not_exist_asks_nothing(runtime: Runtime, model: PlainAnalyst) -> None:
    """Nothing is found, and no model is called for it."""
    found = await call(runtime, "recall", "nobody", query=QUERY, explain=True)
    assert found.results == []
    assert model.asked == []


async def test_messages_are_found_by_it_too(runtime: Runtime) -> None:
    """Terms and statement are asked of messages as well."""
    told = await call(runtime, "ingest", messages=said("I work a lot"), session="s", wait=True)
    found = await ask(runtime)
    assert {"message_terms", "message_hyde_vector"} <= found_by(found, told.outcomes[0].id)

"""Answers of the managed memory: used where they rest on nothing but the results, and made here where they may not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from domain.ports import Synthesiser
from domain.settings import Settings
from gateways import bootstrap
from gateways.answering import ChatSynthesiser
from gateways.bootstrap import Runtime
from gateways.service.answering import NO_MODEL, NOTHING
from gateways.service.models import Models, Provided
from tests.answering import PlainAnswerer
from tests.integration.test_forwarding import settled
from tests.integration.test_managed_recall import MANAGED
from tests.integration.test_running import SmallEmbedder, call
from tests.managed_server import ManagedServer


@pytest.fixture
def server() -> Iterator[ManagedServer]:
    """A managed memory."""
    with ManagedServer() as running:
        yield running


@asynccontextmanager
async def managed(data: Path, server: ManagedServer, model: PlainAnswerer | None = None) -> AsyncIterator[Runtime]:
    """A service that knows the managed memory, and has a model of its own where one is given."""
    models: list[Provided[Synthesiser]] = [] if model is None else [Provided(ChatSynthesiser(model), "chat", "own")]
    async with bootstrap.running(
        data,
        settings=Settings(thinking=False),
        embedder=SmallEmbedder(),
        managed=server.settings(tries=1),
        models=Models((), (), synthesisers=models),
    ) as runtime:
        await call(runtime, "settings", changes=MANAGED)
        yield runtime


async def ask(runtime: Runtime, **fields: Any) -> Any:
    """Recall with an answer."""
    return await call(runtime, "recall", query="Ana likes tea", answer=True, **fields)


async def test_its_own_answer_is_used(tmp_path: Path, server: ManagedServer) -> None:
    """With the options of the request; it rests on all of the results, and no model of ours is asked."""
    model = PlainAnswerer()
    async with managed(tmp_path / "data", server, model) as runtime:
        await call(runtime, "remember", content="Ana likes tea")
        await settled(runtime)
        found = await ask(runtime, thinking="high", length="short", reference_date="2026-04-14T12:00:00Z")
        assert (found.provider, found.answer.text, found.answer.model) == ("managed", "Ana likes tea", "managed")
        assert found.answer.cited == [one.id for one in found.results]
        (sent,) = server.sent("recall")
        assert (sent["thinkingLevel"], sent["responseLength"]) == ("high", "short")
        assert sent["referenceDate"].startswith("2026-04-14T12:00:00")
        assert model.asked == []
        assert (await call(runtime, "recall", query="Ana likes tea")).answer is None


async def test_an_answer_from_what_is_not_shown_is_withheld(tmp_path: Path, server: ManagedServer) -> None:
    """Another contact's memory is among what it answered from: a model of ours answers, from what may be seen."""
    model = PlainAnswerer()
    async with managed(tmp_path / "data", server, model) as runtime:
        await call(runtime, "remember", content="Ana likes tea with Bob's secret", contact="bob")
        await call(runtime, "remember", content="Ana likes tea", contact="ana")
        await settled(runtime)
        found = await ask(runtime, contact="ana")
        assert found.provider == "managed"
        assert (found.answer.text, found.answer.model) == ("Ana likes tea", "script:plain")
        assert "secret" not in model.asked[0].user


async def test_an_answer_from_what_stands_no_more_is_withheld(tmp_path: Path, server: ManagedServer) -> None:
    """What has expired here and is still held there is in no answer; without a model there is none."""
    async with managed(tmp_path / "data", server) as runtime:
        gone = await call(runtime, "remember", content="Ana likes tea and secrets")
        await call(runtime, "remember", content="Ana likes tea")
        await settled(runtime)
        assert (await ask(runtime)).answer.text
        await call(runtime, "expire", id=gone.memory.id, at="2026-01-01T00:00:00Z")
        await settled(runtime)
        assert len(server.texts()) == 2
        found = await ask(runtime)
        assert [one.text for one in found.results] == ["Ana likes tea"]
        assert (found.answer.text, found.answer.reason) == ("", NO_MODEL)


async def test_an_answer_beyond_the_limit_is_withheld(tmp_path: Path, server: ManagedServer) -> None:
    """With fewer results than it answered from, its words would say more than the results do."""
    async with managed(tmp_path / "data", server) as runtime:
        for number in range(3):
            await call(runtime, "remember", content=f"Ana likes tea {number}")
        await settled(runtime)
        assert (await ask(runtime)).answer.text
        assert (await ask(runtime, limit=2)).answer.text == ""


async def test_a_model_of_ours_answers_where_recall_falls_back(tmp_path: Path, server: ManagedServer) -> None:
    """Down, the managed memory answers nothing: results and answer are local."""
    async with managed(tmp_path / "data", server, PlainAnswerer()) as runtime:
        kept = await call(runtime, "remember", content="Ana likes tea")
        await settled(runtime)
        server.down = True
        found = await ask(runtime)
        assert (found.provider, found.answer.text, found.answer.cited) == ("local", "Ana likes tea", [kept.memory.id])
        assert found.fallback


async def test_of_nothing_it_has_no_answer(tmp_path: Path, server: ManagedServer) -> None:
    """An empty result has an empty answer."""
    async with managed(tmp_path / "data", server) as runtime:
        await call(runtime, "remember", content="something else")
        await settled(runtime)
        found = await ask(runtime)
        assert (found.results, found.answer.text, found.answer.reason) == ([], "", NOTHING)

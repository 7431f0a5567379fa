"""Queries analysed by a language model over HTTP: it helps where it answers in time, and costs nothing where not."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.analysing import analysing, known_keys
from tests.e2e.processes import ServiceProcess
from tests.model_server import ModelServer, Reply, Request, chat_reply, error_reply
from umbriel import Umbriel

PATH = "/v1/chat/completions"
PROVIDERS = """
[[chat]]
kind = "openai"
base_url = "{url}/v1"
small = "tiny"
large = "big"
"""
SOON = {"retry-after-ms": "10"}
QUERY = "Who is the employer?"
_names = itertools.count(1)


def plain(request: Request) -> Reply:
    """Analyse by a rule."""
    return chat_reply(json.dumps(analysing(request.json["messages"][1]["content"])))


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model's server."""
    with ModelServer() as server:
        server.always(PATH, plain)
        yield server


@pytest.fixture
async def client(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Umbriel]:
    """A client of a service that has the model configured, with a memory that only an analysis finds."""
    data = tmp_path_factory.mktemp("analysing") / "data"
    data.mkdir()
    (data / "providers.toml").write_text(PROVIDERS.format(url=model.url))
    with ServiceProcess(data, thinking=False) as service:
        async with await service.client(profile=f"analysed-{next(_names)}") as connected:
            await connected.remember("Acme pays for all of this", key="work place", wait=True)
            yield connected


async def test_every_answer_of_a_model_leaves_recall_whole(client: Umbriel, model: ModelServer) -> None:
    """Right, fenced, refused, broken: recall answers, and says what the analysis was or why there is none."""
    found = await client.recall(QUERY, explain=True)
    assert found.analysis is not None
    assert (found.analysis.keys, found.analysis.model) == (["work place"], "openai:tiny")
    assert "key" in {hit.channel for hit in found.results[0].channels}
    (request,) = model.requests
    assert (request.json["model"], "reasoning_effort" in request.json) == ("tiny", False)
    assert request.headers["x-session-affinity"] != client.profile
    assert client.profile.encode() not in request.body
    assert known_keys(request.json["messages"][1]["content"]) == ["work place"]

    model.script(PATH, chat_reply('Sure:\n```json\n{"keys": ["work place", "never"], "terms": ["pays"]}\n```'))
    found = await client.recall("fenced?", explain=True)
    assert found.analysis is not None
    assert (found.analysis.keys, found.analysis.terms, found.analysis.statement) == (["work place"], ["pays"], "")

    for number, (reply, reason) in enumerate(
        (
            (chat_reply(None, refusal="I cannot."), "declined"),
            (error_reply(401, "bad key"), "refused the key"),
        )
    ):
        model.script(PATH, reply)
        found = await client.recall(f"Acme {number}?")
        assert found.analysis is not None
        assert reason in found.analysis.reason
        assert found.results
    assert (await client.recall("Acme, and all of this?")).analysis is None  # it answered, and nobody asked


async def test_a_slow_model_is_not_waited_for(client: Umbriel, model: ModelServer) -> None:
    """Recall comes after the time that an analysis has, and after three of these the model is left alone."""
    model.always(PATH, Reply(body="{}", delay=20))
    for number in range(3):
        started = time.monotonic()
        found = await client.recall(f"Acme {number}?")
        assert time.monotonic() - started < 10
        assert found.analysis is not None
        assert "does not answer" in found.analysis.reason
        assert found.results
    asked = model.count(PATH)
    found = await client.recall("Acme?")
    assert found.analysis is not None
    assert "asked again in" in found.analysis.reason
    assert model.count(PATH) == asked


async def test_what_it_cost_is_recorded(client: Umbriel) -> None:
    """Under a purpose of its own; the same question twice costs one call."""
    for _ in range(2):
        await client.recall(QUERY)
    async with asyncio.timeout(30):
        while not (used := (await client.feed(kinds=["usage"], limit=10)).events):  # noqa: ASYNC110 -- flushed by time
            await asyncio.sleep(0.2)
    (entry,) = used[0].data["entries"]
    assert (entry["purpose"], entry["model"], entry["calls"]) == ("recall.analyse", "tiny", 1)

"""Recall by the managed memory: its results, what the caller may see of them, and when the local one answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.grants import Grant, Principal
from gateways import bootstrap
from gateways.bootstrap import Runtime
from gateways.service.service import VERBS
from tests.integration.test_forwarding import FORWARD, managed, settled
from tests.integration.test_policy import recorded
from tests.integration.test_running import SmallEmbedder, call, said
from tests.managed_server import ManagedServer

MANAGED = {**FORWARD, "provider.recall": "managed"}


@pytest.fixture
def server() -> Iterator[ManagedServer]:
    """A managed memory."""
    with ManagedServer() as running:
        yield running


@pytest.fixture
async def runtime(tmp_path: Path, server: ManagedServer) -> AsyncIterator[Runtime]:
    """A running service that knows the managed memory."""
    async with managed(tmp_path / "data", server) as started:
        yield started


async def test_the_managed_memory_answers(runtime: Runtime) -> None:
    """Switched at run time: what was forwarded is found there, with its score, its channel and what it is here."""
    kept = await call(runtime, "remember", content="Ana lives in Lisbon", key="home")
    await call(runtime, "ingest", messages=said("Ana drinks tea"), session="s")
    assert (await call(runtime, "recall", query="Ana lives")).provider == "local"
    await call(runtime, "settings", changes=MANAGED)
    await settled(runtime)
    found = await call(runtime, "recall", query="where Ana lives", explain=True, limit=5)
    first, second = found.results
    assert (found.provider, found.fallback) == ("managed", "")
    assert first.id.startswith("managed:")
    assert (first.text, first.key, first.sources) == ("Ana lives in Lisbon", "home", [kept.memory.id])
    assert second.session == "s"
    assert [hit.channel for hit in first.channels] == ["managed"]
    assert found.channels == {"managed": [first.id, second.id]}
    assert first.relevance > second.relevance
    await call(runtime, "settings", changes={"provider.recall": "local"})
    assert (await call(runtime, "recall", query="Ana lives")).provider == "local"


async def test_the_local_one_answers_when_the_other_cannot(runtime: Runtime, server: ManagedServer) -> None:
    """Down, refused by the policy, or behind: the local memory answers and the reply says why."""
    kept = await call(runtime, "remember", content="Ana lives in Lisbon")
    await call(runtime, "settings", changes=MANAGED)
    await settled(runtime)
    server.down = True
    found = await call(runtime, "recall", query="Ana lives in Lisbon")
    assert (found.provider, [one.id for one in found.results]) == ("local", [kept.memory.id])
    assert "HTTP 503" in found.fallback
    late = await call(runtime, "remember", content="Ana drinks tea")
    found = await call(runtime, "recall", query="Ana drinks tea", at_least=late.position)
    assert "up to that position" in found.fallback
    assert late.memory.id in [one.id for one in found.results]
    server.down = False
    await call(runtime, "settings", changes={"data_flow.queries": "own"})
    asked = len(server.sent("recall"))
    found = await call(runtime, "recall", query="Ana lives in Lisbon")
    assert found.fallback == "kept by the data-flow policy"
    assert len(server.sent("recall")) == asked
    assert [one.subject for one in await recorded(runtime)] == ["queries"]


async def test_without_a_managed_memory_the_local_one_answers(tmp_path: Path) -> None:
    """Where none is configured the reply says so."""
    async with bootstrap.running(tmp_path / "data", embedder=SmallEmbedder()) as runtime:
        await call(runtime, "settings", changes=MANAGED)
        kept = await call(runtime, "remember", content="Ana lives in Lisbon")
        found = await call(runtime, "recall", query="Ana lives in Lisbon", at_least=kept.position)
        assert found.fallback == "no managed memory is configured"
        assert found.results


async def test_contacts_stay_apart(runtime: Runtime) -> None:
    """One remote profile holds everybody's; a request sees what it would see here, whoever asks."""
    await call(runtime, "settings", changes=MANAGED)
    await call(runtime, "remember", content="Ana likes tea", contact="ana")
    await call(runtime, "remember", content="Bob likes tea", contact="bob")
    await call(runtime, "remember", content="Tea is in the kitchen")
    await call(runtime, "ingest", messages=said("Bob wants tea now"), session="s", contact="bob")
    await settled(runtime)

    async def texts(grant: Grant | None = None, **fields: Any) -> set[str]:
        body = msgspec.json.encode({"query": "tea", **fields})
        who = Principal("one", "agent", (grant or Grant("*", "admin"),))
        reply = await runtime.service.call("recall", who, "p", body)
        found = msgspec.json.decode(msgspec.json.encode(reply), type=VERBS["recall"].reply)
        assert found.provider == "managed"
        return {one.text for one in found.results}

    assert await texts() == {"Tea is in the kitchen"}
    assert await texts(contact="ana") == {"Tea is in the kitchen", "Ana likes tea"}
    assert len(await texts(contact="*")) == 4
    only = Grant("p", "read", contacts=("ana",))
    assert await texts(only, contact="ana") == {"Tea is in the kitchen", "Ana likes tea"}


async def test_a_remote_embedder_is_kept_from_what_may_not_go(tmp_path: Path) -> None:
    """Texts that may not leave have a named failure instead of vectors, and the query stays here as well."""
    embedder = SmallEmbedder()
    async with bootstrap.running(tmp_path / "data", embedder=embedder, embedder_reaches="partner") as runtime:
        await call(runtime, "settings", changes={"data_flow.memories": "partner"})
        await call(runtime, "ingest", messages=said("Ana drinks tea"), session="s", wait=True)
        await call(runtime, "remember", content="Ana lives in Lisbon", wait=True)
        failed = [one.reason for one in (await call(runtime, "status")).work if one.state == "failed"]
        assert failed == ["kept by the data-flow policy"]
        found = await call(runtime, "recall", query="Ana tea", explain=True)
        assert found.off == {"vector": "kept by the data-flow policy", "message_vector": "kept by the data-flow policy"}
        assert "Ana drinks tea" in [one.text for one in found.results]
        assert {one.subject for one in await recorded(runtime)} == {"messages", "queries"}
        await call(runtime, "settings", changes={"data_flow.messages": "partner"})
        assert (await call(runtime, "retry")).computed == 1


async def test_what_not_to_say_comes_beside_its_results(runtime: Runtime) -> None:
    """As beside local ones: by the question, by a result, for whom it holds, never twice; its answer is not used."""
    await call(runtime, "settings", changes=MANAGED)
    await call(runtime, "remember", content="The surprise party for Mara is on Friday")
    quiet = await call(runtime, "remember", content="Do not mention the surprise party to Mara", kind="instruction")
    await call(runtime, "remember", content="likes tea", contact="jon")
    await call(runtime, "remember", content="likes tea", contact="Mara")
    await settled(runtime)
    for query in ("when is the surprise party?", "Friday"):
        found = await call(runtime, "recall", query=query, contact="Mara", limit=3)
        assert found.provider == "managed"
        assert [one.id for one in found.suppressions] == [quiet.memory.id]
        assert quiet.memory.id not in [source for one in found.results for source in one.sources[:1]]
    assert (await call(runtime, "recall", query="surprise party", contact="jon")).suppressions == []
    assert (await call(runtime, "recall", query="tea", contact="jon")).suppressions == []
    answered = await call(runtime, "recall", query="surprise party", contact="Mara", answer=True)
    assert (answered.answer.text, answered.answer.model) == ("", "")


async def test_its_results_know_their_times(runtime: Runtime) -> None:
    """When it was, how far away, and the distances where the question asks: from what this log knows."""
    await call(runtime, "settings", changes=MANAGED)
    spring = "2026-03-01T00:00:00Z"
    await call(runtime, "remember", content="Ana flew to Rome", kind="event", occurred_at=spring)
    await call(runtime, "remember", content="Ana rents in Rome", valid_from="2026-03-11T00:00:00Z")
    await settled(runtime)
    asked = {"query": "How long was Ana in Rome last week?", "reference_date": "2026-03-21T12:00:00Z"}
    found = await call(runtime, "recall", **asked)
    assert found.provider == "managed"
    when = {one.text: one.when for one in found.results}
    assert when["Ana flew to Rome"] == "2026-03-01, 20 days ago"
    assert when["Ana rents in Rome"] == "valid from 2026-03-11"
    assert found.facts[0] == "The reference date is 2026-03-21, a Saturday."
    assert any('"last week" is' in fact for fact in found.facts)
    assert any("10 days" in fact for fact in found.facts)

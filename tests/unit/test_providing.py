"""What a file of providers makes of an instance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.ports import Statement
from domain.settings import DataFlow
from gateways.providing import ProviderSet, provider_set
from tests.model_server import ModelServer, Reply, error_reply

JUDGES = """
[[judge]]
kind = "jev"
base_url = "{url}/one"
model = "m"
reaches = "partner"

[[judge]]
kind = "jev"
base_url = "{url}/two"
model = "n"
reaches = "own"
"""
CHATS = """
[[chat]]
kind = "openai"
base_url = "https://models.example/v1"
small = "tiny"

[[chat]]
kind = "anthropic"
base_url = "http://127.0.0.1:1"
small = "house"
large = "mansion"
"""
NEW, OLD = (
    Statement(id="n", text="Ana lives in Lisbon", kind="fact"),
    Statement(id="o", text="Ana is here", kind="fact"),
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server of the test's own."""
    with ModelServer() as running:
        yield running


def made(tmp_path: Path, text: str) -> ProviderSet:
    """Return what a file with this text makes."""
    (tmp_path / "providers.toml").write_text(text)
    return provider_set(tmp_path)


def noul(probability: float) -> Reply:
    """An answer of Jev to both questions."""
    answer = {"type": "noul", "noul": probability}
    return Reply(body={"answers": {"replaces": answer, "contradicts": answer}})


def test_without_a_file_nothing_is_called(tmp_path: Path) -> None:
    """The extractor is the one of patterns and the judge the heuristic one, whatever the policy allows."""
    providers, flow = provider_set(tmp_path), DataFlow(messages="partner", memories="partner")
    assert providers.models.extractor("p", flow).name == "offline"
    assert providers.models.judge("p", flow).rule == "heuristic"
    assert (providers.embedder, providers.managed) == (None, None)
    assert (providers.models.synthesisers, providers.models.analysts) == ([], [])


async def test_a_chat_reads_answers_and_analyses(tmp_path: Path) -> None:
    """Each does, in order, and reaches as far in all three."""
    providers = made(tmp_path, CHATS)
    models = providers.models
    for ports in (models.synthesisers, models.analysts):
        assert [(one.name, one.reaches) for one in ports] == [("openai:tiny", "partner"), ("anthropic:house", "own")]
    assert models.extractor("p", DataFlow(messages="partner")).name == "openai:tiny"
    assert models.extractor("p", DataFlow()).name == "anthropic:house"
    await providers.close()


async def test_the_next_judge_answers_for_one_that_does_not(tmp_path: Path, server: ModelServer) -> None:
    """The first that answers is the one on record."""
    server.always("/one", error_reply(400))
    server.always("/two", noul(0.8))
    providers = made(tmp_path, JUDGES.format(url=server.url))
    judge = providers.models.judge("p", DataFlow(memories="partner"))
    server.script("/one", *[error_reply(503, headers={"retry-after": "0"})] * 3)
    opinion = await judge.judge(NEW, OLD, cosine=0.9, profile="p")
    assert (opinion.replaces, opinion.model) == (0.8, "jev:n")
    await providers.close()


async def test_a_fallback_reaches_no_farther(tmp_path: Path, server: ModelServer) -> None:
    """Where only own endpoints may see memories, the partner is asked neither first nor second."""
    server.always("/one", noul(0.1))
    server.always("/two", noul(0.8))
    providers = made(tmp_path, JUDGES.format(url=server.url))
    judge = providers.models.judge("p", DataFlow(memories="own"))
    assert (await judge.judge(NEW, OLD, cosine=0.9, profile="p")).replaces == 0.8
    assert server.count("/one") == 0
    await providers.close()

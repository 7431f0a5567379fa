"""The whole service with a real language model behind a real server: everything ends on record, whatever it says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.local_model import serving, weights
from tests.e2e.processes import ServiceProcess
from umbriel.types import Message

PROVIDERS = """
[[chat]]
kind = "openai"
base_url = "{url}"
small = "smollm2"
timeout = 90.0
"""


@pytest.mark.slow
@pytest.mark.timeout(660)
async def test_a_conversation_is_read_by_a_real_model(tmp_path: Path) -> None:
    """A turn is read or its failure recorded, memories name their lines, an answer its results or why there is none.

    The server's counts of tokens are kept.
    """
    data = tmp_path / "data"
    data.mkdir()
    with serving(weights(tmp_path), context=3_072) as url:
        (data / "providers.toml").write_text(PROVIDERS.format(url=url))
        with ServiceProcess(data) as service:
            async with await service.client() as client:
                said = await client.ingest([Message(role="user", content="I live in Lisbon.")], session="s")
                async with asyncio.timeout(600):
                    while (await client.status()).unread:  # noqa: ASYNC110 -- seen from outside only
                        await asyncio.sleep(0.5)
                events = (await client.feed(limit=500)).events
                (read,) = [event for event in events if event.topic.startswith("extraction.")]
                assert read.data["messages"] == [said.outcomes[0].id]
                assert read.data["model"].startswith("openai:smollm2")
                for memory in (await client.list()).entries:
                    assert memory.sources == [said.outcomes[0].id]
                found = await client.recall("Where do I live?", answer=True)
                assert [one.id for one in found.results if one.kind == "message"] == [said.outcomes[0].id]
                assert found.answer is not None
                assert found.answer.text or found.answer.reason
                assert set(found.answer.cited) <= {one.id for one in found.results}
            service.stop()  # what was counted is written down
            service.start()
            async with await service.client() as client:
                used = (await client.feed(kinds=["usage"], limit=50)).events
                assert used
                assert all(not entry.get("estimated") for event in used for entry in event.data["entries"])

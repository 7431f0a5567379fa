"""Retry, status, profiles, settings and contacts on a whole service, with a model that fails when it is told to."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from domain.ports import Embedded
from domain.settings import Settings
from gateways.bootstrap import Runtime, running
from umbriel import Message, Umbriel, UmbrielError
from umbriel.types import RecallReply, RecallRequest

pytestmark = pytest.mark.timeout(120)


class Moody:
    """An embedder of hashes that raises for texts with a word in them."""

    model = "moody"
    dimension = 8

    def __init__(self) -> None:
        self.hated = ""

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one vector a text, or raise."""
        if self.hated and any(self.hated in text for text in texts):
            raise ValueError(f"no {self.hated} today")
        return [Embedded(1, self.embed_query(text)) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Return the vector of a text."""
        raw = np.frombuffer(hashlib.sha256(text.encode()).digest()[:8], dtype=np.uint8).astype("<f4") + 1
        return bytes((raw / np.linalg.norm(raw)).astype("<f4").tobytes())


@asynccontextmanager
async def service(data: Path, moody: Moody, settings: Settings | None = None) -> AsyncIterator[tuple[Runtime, Umbriel]]:
    """A running service and a person's client."""
    async with running(data, embedder=moody, settings=settings) as runtime:
        password = (data / "secrets" / "local.password").read_text().strip()
        async with await Umbriel.connect(runtime.url, principal="local", password=password, profile="p") as client:
            yield runtime, client


async def test_a_failed_embedding_is_tried_again(tmp_path: Path) -> None:
    """It is listed with its reason; while the cause lasts nothing is written; after it the vectors stay."""
    moody = Moody()
    async with service(tmp_path, moody) as (_, client):
        moody.hated = "thunder"
        said = [Message(role="user", content=text) for text in ("Miso hates thunder", "Miso likes tuna")]
        await client.ingest(said, session="s", wait=True)
        status = await client.status()
        (failed,) = status.work
        assert (status.failed, status.pending, failed.state, failed.profile) == (1, 0, "failed", "p")
        assert "no thunder today" in failed.reason
        before = (await client.status()).log_events
        again = await client.retry()
        assert (again.tried, again.computed, again.reasons) == (1, 0, ("ValueError: no thunder today",))
        assert (await client.status()).log_events == before
        missing = await client.recall("user: Miso hates thunder", channels=["message_vector"])
        assert [one.text for one in missing.results] == ["Miso likes tuna"]
        moody.hated = ""
        done = await client.retry()
        assert (done.tried, done.computed, done.reasons) == (1, 1, ())
        clean = await client.status()
        assert (clean.failed, clean.work, clean.complete) == (0, [], clean.applied)
        for _ in range(2):
            found = await client.recall("user: Miso hates thunder", channels=["message_vector"], limit=1)
            assert found.results[0].text == "Miso hates thunder"
            await client.rebuild()
        assert (await client.retry()).tried == 0


async def test_a_stopped_view_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Status and reads say that it stopped, where and why; retry applies what it missed, and answers are complete."""
    async with service(tmp_path, Moody()) as (runtime, client):
        first = await client.remember("The parcel is red", key="parcel", wait=True)
        (opened,) = runtime.service.core.profiles.opened()
        opened.views.stopped["keywords"] = "ValueError: a word too many"
        missed = await client.remember("The bicycle is blue", key="bicycle")
        status = await client.status(service=True)
        assert [(one.state, one.work, one.reason) for one in status.work if one.state == "stopped"] == [
            ("stopped", "keywords", "ValueError: a word too many")
        ]
        assert [one.position for one in status.work if one.state == "stopped"] < [missed.position]
        with pytest.raises(UmbrielError, match="keywords"):
            await client._transport.call(  # without the client's own patience
                "p", "recall", RecallRequest(query="bicycle"), RecallReply, timeout=5, retry=False
            )
        done = await client.retry()
        assert (done.restarted, done.stopped) == (("keywords",), {})
        for text, memory in (("bicycle", missed), ("parcel", first)):
            found = await client.recall(text, channels=["keyword"], at_least=missed.position)
            assert [one.id for one in found.results] == [memory.memory.id]


async def test_status_says_what_it_costs(tmp_path: Path) -> None:
    """Log, views and vectors have bytes, the last commit a time and a duration; nothing lags."""
    async with service(tmp_path, Moody()) as (_, client):
        await client.remember("The parcel is red", wait=True)
        for status in (await client.status(), await client.status(service=True)):
            assert (status.lag_events, status.lag_seconds, status.pending, status.failed) == (0, 0.0, 0, 0)
            assert status.applied == status.complete == status.log_position
            assert status.log_events >= 3
            assert status.log_bytes > 0
            assert status.views_bytes > 0
            assert 8 * 4 + 8 < status.resident_bytes < 1_000  # one row, its scale, and what an item takes
            assert status.committed_at is not None
            assert status.commit_seconds > 0
            assert status.uptime_seconds > 0
        views = (await client.status()).views
        assert {one.view: one.bytes > 0 for one in views} == dict.fromkeys(("ledger", "vectors", "keywords"), True)


async def test_profiles_are_listed_without_being_opened(tmp_path: Path) -> None:
    """Beyond those kept open, what a profile holds is known from when it was closed, also after a restart."""
    settings = Settings(open_profiles=2, thinking=False)
    expected = {}
    async with service(tmp_path, Moody(), settings) as (runtime, client):
        for number in range(5):
            one = client.for_profile(f"p{number}")
            for text in range(number + 1):
                await one.remember(f"Fact {text}", wait=True)
            expected[f"p{number}"] = number + 1
        listed = await client.profiles()
        assert {one.name: one.memories for one in listed.profiles} == expected
        assert sum(one.open for one in listed.profiles) <= 2 + 1
        assert all(one.bytes > 0 for one in listed.profiles)
        assert len(runtime.service.core.profiles.opened()) <= 2 + 1
    async with service(tmp_path, Moody(), settings) as (_, client):
        assert {one.name: one.memories for one in (await client.profiles()).profiles} == expected
        assert (await client.status(service=True)).profiles == 5


async def test_settings_count_from_the_next_request_on(tmp_path: Path) -> None:
    """A change acts without a restart and outlives one; accesses are not counted where that is switched off."""
    async with service(tmp_path, Moody()) as (runtime, client):
        known = await client.remember("The parcel is red", key="parcel", wait=True)
        await client.remember("Bicycles are blue", key="bicycle", wait=True)
        assert (await client.settings()).version == 0
        assert len((await client.recall("parcel", channels=["keyword"])).results) == 1
        changed = await client.settings({"recall.fill": 5, "access.counted": False}, expected=0)
        assert (changed.version, changed.settings["recall.fill"]) == (1, 5)
        assert len((await client.recall("parcel", channels=["keyword"])).results) == 2
        await client.get(known.memory.id)
        assert (
            runtime.service.handed_out.accesses._counts["p"][known.memory.id][0] == 1
        )  # of the recall before the change
        with pytest.raises(UmbrielError) as raised:
            await client.settings({"recall.fill": 1}, expected=0)
        assert raised.value.code == "conflict"
    async with service(tmp_path, Moody()) as (_, client):
        kept = await client.settings()
        assert (kept.version, kept.settings) == (changed.version, changed.settings)
        assert len((await client.recall("parcel", channels=["keyword"])).results) == 2
        await client.rebuild()
        assert len((await client.recall("parcel", channels=["keyword"])).results) == 2


async def test_contacts_over_the_wire(tmp_path: Path) -> None:
    """Link, list and unlink; what is known of either is read at once under both, and their events are in the feed."""
    async with service(tmp_path, Moody()) as (_, client):
        await client.ingest([Message(role="user", content="The parcel is mine")], contact="t:1", channel="telegram")
        mine = await client.remember("The parcel is red", key="parcel", contact="mara@mail", wait=True)
        assert (await client.link_contact("t:1", "mara@mail")).group == ("t:1", "mara@mail")
        again = await client.link_contact("mara@mail", "t:1")
        assert (again.changed, set(again.group)) == ((), {"t:1", "mara@mail"})
        await client.link_contact("mara@mail", "mara")
        assert (await client.get(key="parcel", contact="t:1")).id == mine.memory.id
        listed = (await client.list_contacts()).contacts
        assert [(one.contact, one.conversations, one.memories, one.channels) for one in listed] == [
            ("mara", 0, 0, ()),
            ("mara@mail", 0, 1, ()),
            ("t:1", 1, 0, ("telegram",)),
        ]
        events = [one.topic for one in (await client.feed(contact="t:1")).events]
        assert events.count("profile.contacts_linked") == 2
        assert "memory.remembered" in events
        with pytest.raises(UmbrielError, match="only through others"):
            await client.unlink_contact("t:1", "mara")
        for wrong in (("t:1", "t:1"), ("*", "t:1"), ("", "t:1")):
            with pytest.raises(UmbrielError) as raised:
                await client.link_contact(*wrong)
            assert raised.value.code == "invalid"
        assert (await client.unlink_contact("nobody")).changed == ()
        gone = await client.unlink_contact("mara@mail")
        assert set(gone.changed) == {("mara", "mara@mail"), ("mara@mail", "t:1")}
        with pytest.raises(UmbrielError) as raised:
            await client.get(key="parcel", contact="t:1", at_least=gone.position)
        assert raised.value.code == "not_found"

"""The running service in this process, where races can be arranged: rebuilds, closing, shutting down."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from domain.errors import DamagedError, MismatchError, NotFoundError, UnavailableError
from domain.grants import Grant, Principal
from domain.ports import Embedded
from domain.settings import Settings
from gateways import bootstrap
from gateways.bootstrap import Runtime
from gateways.jetstream.log import Append
from gateways.service.profiles import OpenProfile
from gateways.service.service import VERBS
from projections.generations import ViewSet
from projections.ledger import Ledger

AGENT = Principal("local-agent", "agent", (Grant("*", "admin"),))


class SmallEmbedder:
    """Unit vectors of a text's hash: fast, deterministic, about nothing."""

    model = "small"
    dimension = 16

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one chunk a text."""
        return [Embedded(1, self.embed_query(text)) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Return the vector of a text."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).normal(size=self.dimension)
        return (vector / np.linalg.norm(vector)).astype("<f4").tobytes()


@asynccontextmanager
async def running(data: Path, **settings: Any) -> AsyncIterator[Runtime]:
    """A service on ``data`` with the small embedder, in which nothing happens that a test did not ask for."""
    set_to = Settings(**{"thinking": False, **settings})
    async with bootstrap.running(data, settings=set_to, embedder=SmallEmbedder()) as runtime:
        yield runtime


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A running service."""
    async with running(tmp_path / "data") as started:
        yield started


async def call(runtime: Runtime, verb: str, profile: str = "p", **fields: Any) -> Any:
    """Ask the service as an agent would, and read the reply as its client would."""
    reply = await runtime.service.call(verb, AGENT, profile, msgspec.json.encode(fields))
    return msgspec.json.decode(msgspec.json.encode(reply), type=VERBS[verb].reply)


def said(*lines: str) -> list[dict[str, str]]:
    """Messages of a user."""
    return [{"role": "user", "content": line} for line in lines]


async def test_rebuilds_at_the_same_time_leave_the_profile_served(runtime: Runtime) -> None:
    """Three who ask for a rebuild of one profile at once get one rebuild, whole, and the profile answers afterwards."""
    await call(runtime, "ingest", messages=said(*(f"hello {n}" for n in range(200))), session="s", wait=True)
    replies = await asyncio.gather(*(call(runtime, "rebuild") for _ in range(3)))
    assert len({(reply.generation, reply.job) for reply in replies}) == 1
    assert all(reply.verified for reply in replies)
    assert (await call(runtime, "recall", query="hello 7")).results
    assert not [view for view in (await call(runtime, "status")).views if view.stopped]


async def test_a_command_under_way_does_not_keep_the_service_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command whose append takes long, and whose request was given up, ends; then the service does."""

    async def run() -> None:
        async with running(tmp_path / "data") as runtime:
            await call(runtime, "remember", content="warm")
            log = runtime.service.core.events.log
            append = log.append

            async def slow(appends: Sequence[Append]) -> list[int]:
                await asyncio.sleep(0.5)
                return await append(appends)

            monkeypatch.setattr(log, "append", slow)
            request = asyncio.create_task(call(runtime, "remember", content="late"))
            await asyncio.sleep(0.2)
            request.cancel()

    await asyncio.wait_for(run(), 15)


async def test_accesses_counted_are_written_when_the_service_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is being flushed when the service ends is written, once."""
    async with running(tmp_path / "data", flush_seconds=0.1) as runtime:
        written = await call(runtime, "remember", content="tea at four", key="tea")
        log = runtime.service.core.events.log
        append = log.append

        async def slow(appends: Sequence[Append]) -> list[int]:
            await asyncio.sleep(0.3)
            return await append(appends)

        monkeypatch.setattr(log, "append", slow)
        await call(runtime, "get", key="tea", at_least=written.position)
        await asyncio.sleep(0.2)
    async with running(tmp_path / "data") as runtime:
        end = runtime.service.core.positions.show(await runtime.service.core.events.log.last_position())
        listed = await call(runtime, "list", at_least=end)
        assert [entry.accesses for entry in listed.entries] == [1]


async def test_a_profile_is_not_opened_again_while_it_still_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two view sets never have one profile's files at once: the late close would undo what the other wrote."""
    async with running(tmp_path / "data", open_profiles=1) as runtime:
        for name in ("a", "b"):
            await call(runtime, "remember", profile=name, content="x", wait=True)
        profiles = runtime.service.core.profiles
        close = ViewSet.close
        closing: set[Path] = set()
        overlaps: list[Path] = []

        def slow(views: ViewSet) -> None:
            closing.add(views.root)
            time.sleep(0.2)
            close(views)
            closing.discard(views.root)

        opening = OpenProfile.open_views

        def open_views(profile: OpenProfile) -> None:
            if profile.root in closing:
                overlaps.append(profile.root)
            opening(profile)

        monkeypatch.setattr(ViewSet, "close", slow)
        monkeypatch.setattr(OpenProfile, "open_views", open_views)

        async def use(name: str) -> None:
            async with profiles.use(name):
                await asyncio.sleep(0)

        await use("a")
        other = asyncio.create_task(use("b"))
        for _ in range(500):
            await asyncio.sleep(0.01)
            if closing:
                break
        await use("a" if next(iter(closing)).name == "p.a" else "b")
        await other
        assert not overlaps


async def test_a_contacts_feed_misses_nothing_that_the_ledger_has_not_seen(runtime: Runtime) -> None:
    """Asked right after the acknowledgement, a feed of one contact has every message of it."""
    for number in range(10):
        written = await call(runtime, "ingest", messages=said("a", "b", "c"), session=f"s{number}", contact="ana")
        start = runtime.service.core.positions.read(written.outcomes[0].position, field="after") - 1
        after = runtime.service.core.positions.show(start)
        reply = await call(runtime, "feed", after=after, contact="ana", kinds=["message"])
        assert [event.data["message"] for event in reply.events] == [one.id for one in written.outcomes]


async def test_a_feed_says_where_an_unreadable_event_is(runtime: Runtime) -> None:
    """What cannot be read is not passed over in silence: what is before it is handed out, then it is an error."""
    first = await call(runtime, "ingest", messages=said("before"), session="s")
    log = runtime.service.core.events.log
    sound = (await log.read(0, 10, "p"))[-1]
    fields = {name: getattr(sound, name) for name in ("version", "topic", "schema", "recorded_at", "key_id")}
    await log.append([Append(originator_id=f"p.message.{'b' * 26}", event_id="f" * 32, body=b"x" * 80, **fields)])
    await call(runtime, "ingest", messages=said("after"), session="s")
    start = runtime.service.core.positions.show(0)
    reply = await call(runtime, "feed", after=start, kinds=["message"])
    assert [event.data["content"] for event in reply.events] == ["before"]
    assert reply.position == first.position
    with pytest.raises(DamagedError):
        await call(runtime, "feed", after=reply.position)


async def test_a_wait_outlives_a_rebuild(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for an embedding while the views are replaced waits for the new ones, which are fed."""
    await call(runtime, "remember", content="first", wait=True)
    embed = SmallEmbedder.embed

    def slow(embedder: SmallEmbedder, texts: Sequence[str]) -> list[Embedded]:
        time.sleep(1.0)
        return embed(embedder, texts)

    monkeypatch.setattr(SmallEmbedder, "embed", slow)
    waiting = asyncio.create_task(call(runtime, "remember", content="second", wait=True))
    await asyncio.sleep(0.2)
    await call(runtime, "rebuild")
    assert not waiting.done()
    written = await asyncio.wait_for(waiting, 5)
    found = await call(runtime, "recall", query="second", at_least=written.position, channels=["vector"])
    assert written.memory.id in [one.id for one in found.results]


async def test_a_list_claims_no_position_that_it_has_not_seen(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written while a page is read is not below the reply's position, or a feed from there would miss it."""
    await call(runtime, "remember", content="first", wait=True)
    read = Ledger.list_memories

    def slow(ledger: Ledger, **how: Any) -> Any:
        page = read(ledger, **how)
        time.sleep(0.5)
        return page

    monkeypatch.setattr(Ledger, "list_memories", slow)
    listing = asyncio.create_task(call(runtime, "list"))
    await asyncio.sleep(0.1)
    written = await call(runtime, "remember", content="second", wait=True)
    reply = await listing
    assert written.memory.id not in [entry.id for entry in reply.entries]
    show = runtime.service.core.positions
    assert show.read(reply.position, field="position") < show.read(written.position, field="position")


async def test_a_profile_that_fails_does_not_hold_up_the_embedding_of_others(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Profiles whose views cannot be opened wait for their next try on their own time."""
    core = runtime.service.core
    detached = core.profiles.detached

    async def failing(name: str) -> OpenProfile:
        if name.startswith("bad"):
            raise MismatchError("made with another model")
        return await detached(name)

    monkeypatch.setattr(core.profiles, "detached", failing)
    for number in range(5):
        core.worker.wake(f"bad{number}")
    await asyncio.sleep(0.1)
    async with asyncio.timeout(2.0):
        await call(runtime, "remember", content="good", wait=True)


async def test_the_services_status_stands_while_profiles_close(tmp_path: Path) -> None:
    """With one profile kept open and many in use, the status never fails for a ledger that was just closed."""
    async with running(tmp_path / "data", open_profiles=1) as runtime:
        names = [f"p{number}" for number in range(4)]
        for name in names:
            await call(runtime, "remember", profile=name, content="x")
        for _ in range(5):
            reads = (call(runtime, "list", profile=name) for name in names)
            await asyncio.gather(*reads, *(call(runtime, "status", profile="_") for _ in range(6)))


async def test_a_contact_set_with_messages_that_were_there_is_in_the_position(runtime: Runtime) -> None:
    """The reply's position covers what the call wrote, also when all its messages are duplicates."""
    await call(runtime, "ingest", messages=said("the cat is blue"), session="s")
    again = await call(runtime, "ingest", messages=said("the cat is blue"), session="s", contact="ana")
    assert again.outcomes[0].outcome == "duplicate"
    found = await call(runtime, "recall", query="cat", contact="ana", at_least=again.position, visibility="keyword")
    assert [one.text for one in found.results] == ["the cat is blue"]


async def test_a_preview_of_forgetting_is_at_a_position_of_the_log(runtime: Runtime) -> None:
    """The position of a preview is one of the log, not a version of the memory."""
    for number in range(3):
        written = await call(runtime, "remember", content=f"x{number}", key=f"k{number}")
    preview = await call(runtime, "forget", id=written.memory.id, preview=True)
    assert preview.touched == [written.memory.id]
    assert preview.position == written.position


async def test_forgetting_a_contacts_key_again_leaves_everybodys(runtime: Runtime) -> None:
    """A retried forget by key finds nothing more; the agent-wide memory under the same key stays."""
    await call(runtime, "remember", content="the zone is UTC", key="zone")
    await call(runtime, "remember", content="Bob's zone is CET", key="zone", contact="bob")
    await call(runtime, "forget", key="zone", contact="bob", request_id="r")
    with pytest.raises(NotFoundError):
        await call(runtime, "forget", key="zone", contact="bob", request_id="r")
    assert (await call(runtime, "get", key="zone")).text == "the zone is UTC"


async def test_a_list_is_cut_into_pages_by_bytes(runtime: Runtime) -> None:
    """Entries that do not fit one message come with the next cursor, each once."""
    for number in range(32):
        written = await call(runtime, "remember", content=f"{number} {'x' * 32_000}", key=f"k{number}")
    seen: list[str] = []
    cursor = ""
    while True:
        page = await call(runtime, "list", limit=500, cursor=cursor, at_least=written.position)
        assert len(msgspec.json.encode(page)) < 1_000_000
        seen += [entry.id for entry in page.entries]
        cursor = page.cursor
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == 32


async def test_a_profile_that_cannot_be_written_holds_up_no_other(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view that stays unavailable leaves its profile behind; the others go on, and it catches up afterwards."""
    await call(runtime, "remember", "bad", content="before")
    await call(runtime, "remember", "good", content="before")
    apply = ViewSet.apply

    def failing(views: ViewSet, envelopes: Sequence[Any]) -> None:
        if views.root.name == "p.bad":
            raise UnavailableError("the disk is busy", expected="a free disk", found="a busy one")
        apply(views, envelopes)

    monkeypatch.setattr("gateways.service.profiles._RETRY_SECONDS", 0.01)
    monkeypatch.setattr(ViewSet, "apply", failing)
    late = await call(runtime, "remember", "bad", content="late")
    written = await call(runtime, "remember", "good", content="after", wait=True)
    found = await call(runtime, "recall", "good", query="after", at_least=written.position)
    assert next(result.text for result in found.results) == "after"
    monkeypatch.setattr(ViewSet, "apply", apply)
    listed = await call(runtime, "list", "bad", at_least=late.position)
    assert sorted(memory.text for memory in listed.entries) == ["before", "late"]


async def test_a_list_of_generations_that_is_none_is_replaced(tmp_path: Path) -> None:
    """A damaged current.json costs a rebuild from the log, not the service."""
    async with running(tmp_path / "data") as runtime:
        await call(runtime, "remember", content="kept", wait=True)
        await call(runtime, "rebuild")
    (current,) = (tmp_path / "data" / "profiles").glob("*/current.json")
    for damage in ("{}", '{"ledger": "../../x", "vectors": "g000001", "keywords": "g000001"}', "not json"):
        current.write_text(damage, "utf-8")
        async with running(tmp_path / "data") as runtime:
            listed = await call(runtime, "list")
            assert [memory.text for memory in listed.entries] == ["kept"]


def descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


async def test_many_profiles_take_no_more_than_their_room(tmp_path: Path) -> None:
    """However many are used, those kept open fit their memory, files are let go of, and each still answers."""
    names = [f"p{number}" for number in range(100)]
    async with running(tmp_path / "data", open_profiles=1_000, open_profile_bytes=8 * 1024**2) as runtime:
        profiles = runtime.service.core.profiles
        for name in names[:20]:
            await call(runtime, "remember", profile=name, content=f"the word of {name}")
        before = descriptors()
        for name in names[20:]:
            await call(runtime, "remember", profile=name, content=f"the word of {name}")
        assert 1 < len(profiles.opened()) < 20
        assert sum(one.bytes for one in profiles.opened()) <= 8 * 1024**2
        found = await call(runtime, "list", profile=names[0])
        assert [memory.text for memory in found.entries] == [f"the word of {names[0]}"]
        assert descriptors() < before + 20

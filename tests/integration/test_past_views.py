"""Views of the past: made once for all who ask, few and not for long, under the grants and policies of now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from domain.addresses import address_of
from domain.envelope import Actor, Envelope
from domain.errors import BuildingError, NotFoundError, UnavailableError
from domain.events import MemoryRemembered
from domain.grants import Grant, Principal
from domain.ids import directory_name, memory_id
from domain.indexing import memory_key_scope
from domain.settings import PastLimits
from domain.text import fold_content
from gateways.bootstrap import Runtime
from gateways.service.past_views import PastViews
from gateways.service.service import VERBS
from projections.generations import PAST
from tests.integration.test_running import AGENT, call, running, said

pytestmark = pytest.mark.asyncio(loop_scope="module")

_names = count(1)
KEPT = 2


class Here(msgspec.Struct, frozen=True):
    """A profile of its own in the shared service."""

    runtime: Runtime
    data: Path
    profile: str

    async def call(self, verb: str, who: Principal = AGENT, **fields: Any) -> Any:
        """Ask as somebody who may, for as long as the answer is being made."""
        while True:
            try:
                reply = await self.runtime.service.call(verb, who, self.profile, msgspec.json.encode(fields))
            except BuildingError:
                continue
            return msgspec.json.decode(msgspec.json.encode(reply), type=VERBS[verb].reply)

    async def texts(self, query: str, as_of: str, **fields: Any) -> set[str]:
        """What a question finds as of a point."""
        found = await self.call("recall", query=query, as_of=as_of, limit=50, **fields)
        return {one.text for one in found.results}

    @property
    def past(self) -> PastViews:
        """The views of the past of the service."""
        return self.runtime.service.core.past

    @property
    def files(self) -> Path:
        """Where the views of the profile's past lie."""
        return self.data / "profiles" / directory_name(self.profile) / PAST

    @property
    def kept(self) -> list[int]:
        """The positions of the generations kept of the profile's past."""
        return [position for profile, position in self.past.kept if profile == self.profile]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Runtime, Path]]:
    """A running service that keeps few generations."""
    data = tmp_path_factory.mktemp("past") / "data"
    left = data / "profiles" / "other" / PAST / "7-1" / "ledger"
    left.mkdir(parents=True)
    async with running(data, past=PastLimits(kept=KEPT, waiting=3)) as runtime:
        assert not left.parent.parent.exists()
        yield runtime, data


@pytest.fixture
def here(shared: tuple[Runtime, Path]) -> Here:
    """A profile without events."""
    return Here(*shared, f"past-{next(_names)}")


async def remembered(here: Here, *contents: str, **fields: Any) -> list[str]:
    """State some memories, and return the position after each."""
    return [(await here.call("remember", content=one, wait=True, **fields)).position for one in contents]


async def test_asked_at_once_it_is_made_once(here: Here) -> None:
    """Ten who ask for one point at the same time, by a time or a position, get one generation, and one answer."""
    first, last = await remembered(here, "the lamp is red", "the lamp is blue")
    (_, at) = [one.recorded_at for one in (await here.call("list")).entries]
    points = [first, at.isoformat()] * 5
    before = here.past.made
    found = await asyncio.gather(*(here.texts("lamp", point) for point in points))
    assert found == [{"the lamp is red"}] * 10
    assert here.past.made == before + 1
    assert await here.texts("lamp", last) == {"the lamp is red", "the lamp is blue"}


async def test_few_are_kept_and_none_for_long(here: Here) -> None:
    """The one asked for longest ago goes first, with its files; unasked for a while they all go."""
    points = await remembered(here, *(f"box {number} is full" for number in range(3)))
    for point in (points[0], points[1], points[0], points[2]):
        await here.texts("box", point)
    core = here.runtime.service.core
    assert here.kept == [core.positions.read(point, field="") for point in (points[0], points[2])]
    await here.past.sweep(time.monotonic() - 60)
    assert len(here.kept) == KEPT
    await here.past.sweep(time.monotonic())
    assert here.kept == []
    assert not any(here.files.iterdir())
    assert await here.texts("box", points[0]) == {"box 0 is full"}


async def test_who_asks_too_early_hears_how_far_it_is(here: Here) -> None:
    """The error can be tried again and counts events; what is made goes on, and more than a few are refused."""
    points = await remembered(here, *(f"jar {number} is open" for number in range(4)))
    limits, here.past._limits = here.past._limits, PastLimits(kept=KEPT, waiting=2, wait_seconds=0.0)
    try:
        with pytest.raises(BuildingError, match="ask again") as early:
            await call(here.runtime, "recall", here.profile, query="jar", as_of=points[1])
        assert (early.value.code, early.value.retryable, early.value.done) == ("building", True, 0)
        with pytest.raises(BuildingError):
            await call(here.runtime, "recall", here.profile, query="jar", as_of=points[2])
        with pytest.raises(UnavailableError, match="too many points"):
            await call(here.runtime, "recall", here.profile, query="jar", as_of=points[3])
        assert not here.past.idle
        async with asyncio.timeout(20):
            assert await here.texts("jar", points[1]) == {"jar 0 is open", "jar 1 is open"}
    finally:
        here.past._limits = limits
    async with asyncio.timeout(20):
        await here.texts("jar", points[2])
    assert here.past.idle


async def test_nobody_waits_any_more(here: Here) -> None:
    """What nobody asks for again is not made on, and leaves nothing."""
    (point,) = await remembered(here, "the well is deep")
    limits, here.past._limits = here.past._limits, PastLimits(wait_seconds=0.0, patience_seconds=0.0)
    try:
        with pytest.raises(BuildingError):
            await call(here.runtime, "recall", here.profile, query="well", as_of=point)
        async with asyncio.timeout(10):
            while not here.past.idle:  # noqa: ASYNC110 -- nothing tells when it has stopped
                await asyncio.sleep(0.01)
    finally:
        here.past._limits = limits
    assert here.kept == []
    assert not here.files.exists() or not any(here.files.iterdir())


async def test_forgotten_while_it_is_made(here: Here) -> None:
    """A generation begun before something was forgotten is never asked: it begins again without it."""
    gone, last = await here.call("remember", content="the vault opens with xyzzy", wait=True), ""
    (last,) = await remembered(here, "the vault is cold")
    asked = [asyncio.create_task(here.texts("vault", last)) for _ in range(5)]
    await asyncio.sleep(0)
    forgot = await here.call("forget", id=gone.memory.id)
    await asyncio.gather(*asked)
    await here.call("list", at_least=forgot.position)
    assert await here.texts("vault", last) == {"the vault is cold"}
    assert not [file for file in here.files.rglob("*") if file.is_file() and b"xyzzy" in file.read_bytes()]


async def test_replaced_views_take_the_past_with_them(here: Here) -> None:
    """After a rebuild the past is made again, and answers the same."""
    (point,) = await remembered(here, "the mill turns")
    await remembered(here, "the mill stands still")
    assert await here.texts("mill", point) == {"the mill turns"}
    await here.call("rebuild", wait=True)
    assert here.kept == []
    assert await here.texts("mill", point) == {"the mill turns"}


async def test_vectors_that_came_later_count(here: Here) -> None:
    """As of the very position of a message its meaning is found, though it was embedded after that."""
    written = await here.call("ingest", messages=said("the kiln is hot"), session="s", wait=True)
    assert await here.texts("the kiln is hot", written.position, channels=["message_vector"]) == {"the kiln is hot"}


async def test_looking_back_is_on_record_and_keeps_nothing_alive(here: Here) -> None:
    """The question and what it was given are recorded; no access is counted."""
    (point,) = await remembered(here, "the oven is warm")
    await here.texts("oven", point)
    await here.runtime.service.handed_out.accesses.flush()
    await here.runtime.service.handed_out.recalls.flush()
    events = (await here.call("feed", kinds=["access", "recall"], limit=100)).events
    assert [one.topic for one in events] == ["recall.served"]
    assert events[0].data["entries"][0]["query"] == "oven"


async def test_a_session_of_somebody_else_is_not_heard_by_whose_it_was(here: Here) -> None:
    """Grants are those of now: what was said in a session that changed hands is for who may read its owner of today."""
    for session, word in (("one", "lantern"), ("two", "ladder")):
        await here.call("ingest", messages=said(f"the {word} is lit"), session=session, contact="ann", wait=True)
    then = (await here.call("ingest", messages=said("noted"), session="one", contact="ann", wait=True)).position
    limited = Principal("shop", "agent", (Grant(here.profile, "read", ("ann",)),))
    ladder = "the ladder is lit"
    assert ladder in await here.texts("is lit", then, contact="ann", who=limited)
    moved = await here.call("ingest", messages=said("to bob"), session="two", contact="bob", wait=True)
    ask = {"contact": "ann", "at_least": moved.position}
    assert await here.texts("is lit", then, **ask, who=limited) == {"the lantern is lit", "noted"}
    assert ladder not in await here.texts("ladder", then, **ask, who=limited, channels=["message_keyword"])
    assert ladder in await here.texts("is lit", then, **ask)


async def test_what_may_leave_is_as_it_is_set_now(here: Here) -> None:
    """A policy that was laxer then does not count: retention and data flow of now bound the past as well."""
    (point,) = await remembered(here, "the attic is dark")
    core = here.runtime.service.core
    core.embedder_reaches = "own"
    try:
        assert not (await here.call("recall", query="attic", as_of=point)).off
        await here.call("settings", changes={"data_flow.queries": "local"})
        reply = await here.call("recall", query="attic", as_of=point)
    finally:
        core.embedder_reaches = "local"
    assert "vector" in reply.off
    assert [one.text for one in reply.results] == ["the attic is dark"]


async def recorded(here: Here, at: datetime, text: str, expires_at: datetime) -> int:
    """Append a memory that was recorded long ago, as one that was exported and imported is."""
    core = here.runtime.service.core
    address = address_of("fact", contact=None, key="", content=text, session="")
    event = MemoryRemembered(
        memory=memory_id(address, 1),
        address=address,
        version=1,
        kind="fact",
        text=text,
        folded=fold_content(text),
        source="explicit",
        confidence=0.9,
        expires_at=expires_at,
    )
    envelope = Envelope(
        originator_id=await core.events.subject_id(here.profile, "memory", address),
        originator_version=1,
        event_id=memory_id(address, 1),
        recorded_at=at,
        actor=Actor("ana", "person"),
        data=event,
        key_scope=memory_key_scope(event),
    )
    return (await core.events.append([envelope], expected=0))[0]


async def test_expiry_and_dates_go_by_the_clock_of_then(here: Here) -> None:
    """What has expired today was live then, "yesterday" is the day before; a reference date that is given counts."""
    await remembered(here, "the press is new")
    then = datetime(2025, 6, 2, 12, tzinfo=UTC)
    position = await recorded(here, then, "the press is out of ink", then + timedelta(days=1))
    at_least = here.runtime.service.core.positions.show(position)
    ask: dict[str, Any] = {"query": "what did the press do yesterday", "at_least": at_least, "visibility": "keyword"}
    assert "the press is out of ink" not in {one.text for one in (await here.call("recall", **ask)).results}
    for as_of, day in ((then, 2), (then + timedelta(days=2), 4)):
        found = await here.call("recall", as_of=as_of.isoformat(), **ask)
        assert ("the press is out of ink" in {one.text for one in found.results}) is (day == 2)
        assert found.facts[0].startswith(f"The reference date is 2025-06-0{day}")
        listed = await here.call("list", as_of=as_of.isoformat(), status="expired")
        assert bool(listed.entries) is (day == 4)
    given = await here.call("recall", as_of=then.isoformat(), reference_date="2024-02-03T00:00:00Z", **ask)
    assert given.facts[0].startswith("The reference date is 2024-02-03")


async def test_a_profile_that_is_not_there_has_no_past(here: Here) -> None:
    """It is not found, as by every other read."""
    with pytest.raises(NotFoundError):
        await here.call("recall", query="x", as_of="2026-01-01T00:00:00Z")

"""The feed over HTTP: a page, a long poll, and a stream of server-sent events that goes on where it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any

import httpx2
import msgspec
import pytest

from domain.grants import Grant
from gateways.rest import feed as sse
from tests.rest_service import NO_TLS, RestService
from tests.thinking_world import until

pytestmark = pytest.mark.timeout(120)

_profiles = count(1)


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """One service for all of these tests; each has a profile of its own."""
    with RestService(tmp_path_factory.mktemp("rest-feed") / "data") as running:
        yield running


@pytest.fixture
def profile() -> str:
    """A profile that nothing is in."""
    return f"f{next(_profiles)}"


class Event(msgspec.Struct, frozen=True):
    """One server-sent event, as a browser would hand it out, or a position without one."""

    id: str
    event: str = ""
    data: str = ""

    @property
    def text(self) -> str:
        """What the memory of the event says."""
        return str(msgspec.json.decode(self.data)["data"]["text"])


async def events(response: httpx2.Response) -> AsyncIterator[Event]:
    """Read a stream as the standard says."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "id" in fields or "data" in fields:
            yield Event(fields.get("id", ""), fields.get("event", ""), fields.get("data", ""))
            fields = {}
        else:
            fields = {}


@asynccontextmanager
async def stream(
    rest: RestService, profile: str, token: str, last: str = "", **query: str
) -> AsyncIterator[AsyncIterator[Event]]:
    """A stream of the profile's memories, one that comes back with the last id that it was given."""
    said = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    if last:
        said["Last-Event-ID"] = last
    async with (
        httpx2.AsyncClient(base_url=rest.web.url, headers=said, timeout=30, verify=NO_TLS) as client,
        client.stream("GET", f"/v1/profiles/{profile}/feed", params={"kinds": "memory", **query}) as response,
    ):
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield events(response)


async def some(found: AsyncIterator[Event], wanted: int) -> list[Event]:
    """The next events that say something."""
    seen: list[Event] = []
    async with asyncio.timeout(20):
        async for one in found:
            if one.data:
                seen.append(one)
            if len(seen) == wanted:
                break
    return seen


async def remember(rest: RestService, profile: str, *texts: str, contact: str = "") -> None:
    """State memories, one after the other."""
    with rest.speaking() as client:
        for text in texts:
            body: dict[str, Any] = {"content": text, "contact": contact}
            sent = await asyncio.to_thread(client.post, f"/v1/profiles/{profile}/memories", json=body)
            assert sent.status_code == 201


async def waiting(rest: RestService, profile: str) -> bool:
    """Whether a feed of the profile waits for events."""
    return bool(rest.runtime.service.core.feeds._waiting.get(profile))


async def test_a_page_and_a_long_poll(rest: RestService, profile: str) -> None:
    """A page says where to go on; a poll that waits is answered by the next event, and holds no worker."""
    await remember(rest, profile, "one")
    path, headers = f"/v1/profiles/{profile}/feed", {"Authorization": f"Bearer {rest.token()}"}
    async with httpx2.AsyncClient(base_url=rest.web.url, headers=headers, timeout=30, verify=NO_TLS) as client:
        page = (await client.get(path, params={"kinds": "memory"})).json()
        assert [one["data"]["text"] for one in page["events"]] == ["one"]
        asked = {"kinds": "memory", "after": page["position"], "wait": "20"}
        polls = [asyncio.create_task(client.get(path, params=asked)) for _ in range(3)]
        await until(lambda: waiting(rest, profile))
        await remember(rest, profile, "two")
        replies = [(await poll).json() for poll in polls]
    assert [[one["data"]["text"] for one in reply["events"]] for reply in replies] == [["two"]] * 3


async def test_a_stream_goes_on_where_it_stopped(rest: RestService, profile: str) -> None:
    """It shows what was there, then what comes; with the last id a new one misses and repeats nothing."""
    await remember(rest, profile, "one", "two")
    token = rest.token()
    async with stream(rest, profile, token) as found:
        shown = await some(found, 2)
        assert [one.text for one in shown] == ["one", "two"]
        await until(lambda: waiting(rest, profile))
        await remember(rest, profile, "three")
        (third,) = await some(found, 1)
    assert (third.text, third.event) == ("three", "memory.remembered")
    assert third.id == msgspec.json.decode(third.data)["position"]
    await remember(rest, profile, "four", "five")
    async with stream(rest, profile, token, last=third.id, after=shown[0].id) as found:
        assert [one.text for one in await some(found, 2)] == ["four", "five"]


async def test_nothing_of_a_stream_outlives_its_connection(rest: RestService, profile: str) -> None:
    """When the client goes, its place, its future and its request are gone; the service is idle again."""
    await remember(rest, profile, "one")
    async with stream(rest, profile, rest.token()) as found:
        await some(found, 1)
        await until(lambda: waiting(rest, profile))
        assert rest.web.rest.active == 1

    async def gone() -> bool:
        places = rest.runtime.service.feed_places._taken
        return not await waiting(rest, profile) and rest.web.rest.active == 0 and not places["local-agent"]

    await until(gone)


async def test_a_quiet_stream_says_that_it_is_there(
    rest: RestService, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every so often it sends a comment, and the position that it has come to."""
    monkeypatch.setattr(sse, "HEARTBEAT", 0.05)
    await remember(rest, profile, "one")
    async with stream(rest, profile, rest.token()) as found:
        (first,) = await some(found, 1)
        async with asyncio.timeout(10):
            beats = [await anext(found) for _ in range(3)]
        assert [(one.event, one.data) for one in beats] == [("", "")] * 3
        assert all(one.id >= first.id for one in beats)


@pytest.mark.parametrize("end", ["token", "principal"])
async def test_a_stream_ends_with_what_let_it_in(rest: RestService, profile: str, end: str) -> None:
    """With its token or its principal it ends at the next event, which it does not show."""
    name = f"reader-{end}-{profile}"
    rest.principal(name, Grant(profile, "read"))
    made, token = rest.runtime.principals.tokens.add(name, now=datetime.now(UTC))
    await remember(rest, profile, "one")
    async with stream(rest, profile, token) as found:
        await some(found, 1)
        await until(lambda: waiting(rest, profile))
        if end == "token":
            rest.runtime.principals.tokens.revoke(made.id)
        else:
            rest.runtime.principals.revoke(name)
        await remember(rest, profile, "secret by now")
        async with asyncio.timeout(10):
            rest_of_it = [one async for one in found]
    assert [one.event for one in rest_of_it if one.data] == ["problem"]
    assert "secret by now" not in repr(rest_of_it)


async def test_a_stream_shows_what_the_grant_allows(rest: RestService, profile: str) -> None:
    """A grant for one contact sees that contact's memories and what is for everybody, and passes over the others."""
    name = f"limited-{profile}"
    rest.principal(name, Grant(profile, "read", ("ann",)))
    await remember(rest, profile, "of bob", contact="bob")
    await remember(rest, profile, "of ann", contact="ann")
    async with stream(rest, profile, rest.token(name)) as found:
        assert [one.text for one in await some(found, 1)] == ["of ann"]
        await until(lambda: waiting(rest, profile))
        await remember(rest, profile, "of bob again", contact="bob")
        await remember(rest, profile, "of all")
        assert [one.text for one in await some(found, 1)] == ["of all"]


@pytest.mark.parametrize(
    "params, status",
    [
        ({"kinds": "nonsense"}, 400),
        ({"after": "nonsense"}, 400),
        ({"after": "OTHER.x:1"}, 409),
        ({"wait": "1"}, 400),
        ({"unknown": "1"}, 400),
    ],
)
async def test_what_is_wrong_is_said_before_a_stream_begins(
    rest: RestService, profile: str, params: dict[str, str], status: int
) -> None:
    """A stream that cannot be is a problem with a status, as any other request."""
    with rest.speaking(Accept="text/event-stream") as client:
        response = await asyncio.to_thread(client.get, f"/v1/profiles/{profile}/feed", params=params)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


async def test_places_are_counted_over_every_surface(rest: RestService, profile: str) -> None:
    """A principal whose feeds are all taken gets no other one over HTTP, as over NATS; others do."""
    places = rest.runtime.service.feed_places
    name = f"greedy-{profile}"
    rest.principal(name, Grant("*", "read"))
    places._taken[name] = places._most
    with rest.speaking(name) as client, rest.speaking() as other:
        refused = await asyncio.to_thread(client.get, f"/v1/profiles/{profile}/feed")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert refused.headers["retry-after"]
        assert (await asyncio.to_thread(other.get, f"/v1/profiles/{profile}/feed")).status_code == 200
    del places._taken[name]

"""The managed memory's client against a real HTTP server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from domain.errors import InvalidInputError, NotFoundError, RefusedError, UmbrielError, UnavailableError
from gateways.managed import ManagedClient, RemoteMessage
from tests.managed_server import KEY, ManagedServer


@pytest.fixture
def server() -> Iterator[ManagedServer]:
    """A running server."""
    with ManagedServer() as running:
        yield running


@pytest.fixture
async def client(server: ManagedServer) -> AsyncIterator[ManagedClient]:
    """A client of it."""
    managed = ManagedClient(server.settings())
    yield managed
    await managed.close()


async def test_what_was_sent_is_found_listed_and_deleted(client: ManagedClient) -> None:
    """Every operation once: ingest, remember, recall, list, get, summary, delete."""
    await client.ingest("p", "s", [RemoteMessage(role="user", content="tea please")])
    kept = await client.remember("p", "Ana lives in Lisbon")
    found = await client.recall("p", "where lives Ana", thinking="high", length="short")
    assert [one.id for one in found.candidates] == [kept.id]
    assert found.answer == "Ana lives in Lisbon"
    assert (await client.memory("p", kept.id)).content == "Ana lives in Lisbon"
    assert "tea please" in await client.summary("p")
    await client.delete_memory("p", kept.id)
    await client.delete_memory("p", kept.id)
    assert [one.summary async for one in client.memories("p")] == ["tea please"]
    await client.delete_session("p", "s")
    assert [one async for one in client.memories("p")] == []


async def test_a_list_goes_on_from_its_cursor(client: ManagedClient) -> None:
    """Five memories in pages of two are five, each once."""
    for number in range(5):
        await client.remember("p", f"number {number}", session="even" if number % 2 == 0 else "odd")
    assert [one.summary async for one in client.memories("p", per_page=2)] == [f"number {n}" for n in range(5)]
    assert len([one async for one in client.memories("p", session="odd", per_page=1)]) == 2


async def test_names_stay_out_of_the_address(server: ManagedServer) -> None:
    """The profile's name is hashed, and every part of the path is encoded."""
    client = ManagedClient(server.settings(prefix="a/b "))
    with pytest.raises(NotFoundError):
        await client.memory("customer-4711", "x/../y?z")
    await client.close()
    ((_, path, _),) = server.calls
    assert "4711" not in path
    assert "/profiles/a%2Fb%20" in path
    assert path.endswith("/memories/x%2F..%2Fy%3Fz")


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_what_may_pass_is_tried_again(server: ManagedServer, client: ManagedClient, status: int) -> None:
    """One such answer is tried again, at most as long as configured after Retry-After; a second one is told."""
    server.fail(status, retry_after="0")
    assert (await client.remember("p", "tea")).content == "tea"
    server.fail(status)
    server.fail(status, message="busy")
    with pytest.raises(UnavailableError, match="busy"):
        await client.remember("p", "tea")


async def test_a_long_wait_is_cut(server: ManagedServer) -> None:
    """A server that asks for an hour is asked again after the configured bound."""
    client = ManagedClient(server.settings(retry_after=0.01))
    server.fail(429, retry_after="3600")
    server.fail(429, retry_after="Wed, 21 Oct 2099 07:28:00 GMT")
    with pytest.raises(UnavailableError):
        await client.remember("p", "tea")
    await client.close()


@pytest.mark.parametrize(
    "status,kind", [(401, RefusedError), (403, RefusedError), (404, NotFoundError), (400, InvalidInputError)]
)
async def test_what_will_not_pass_is_told_at_once(
    server: ManagedServer, client: ManagedClient, status: int, kind: type[UmbrielError]
) -> None:
    """Each status is an error of ours with the service's own words, and nothing is tried twice."""
    server.fail(status, message="because")
    with pytest.raises(kind, match="because"):
        await client.remember("p", "tea")
    assert len(server.calls) == 1


async def test_no_success_is_an_error(server: ManagedServer, client: ManagedClient) -> None:
    """An answer of 200 that says it did not succeed is an error with its messages."""
    server.fail(200, message="quota is used up")
    with pytest.raises(InvalidInputError, match="quota is used up"):
        await client.remember("p", "tea")


async def test_nobody_there() -> None:
    """A closed port is Unavailable; the key is not shown anywhere."""
    with ManagedServer() as gone:
        settings = gone.settings()
    client = ManagedClient(settings)
    with pytest.raises(UnavailableError) as raised:
        await client.remember("p", "tea")
    await client.close()
    assert KEY not in repr(settings) + str(raised.value)

"""Tools over HTTP with the tokens of principals: the token decides who speaks, for what, and what it may."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx2
import msgspec
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from gateways.mcp import Connection, Speakers, build, every_tool, http_app
from tests.e2e.processes import ServiceProcess
from umbriel import GrantSpec, RefusedError, Umbriel
from umbriel._relay import speaking

pytestmark = pytest.mark.timeout(120)

OWN = "the-server's-own-token"
_names = count(1)


class Served(msgspec.Struct, frozen=True):
    """Where the tools are, and the service's person, who hands out tokens."""

    url: str
    person: Umbriel

    async def token(self, *grants: GrantSpec) -> tuple[str, str]:
        """Add an agent with these grants; return its name and a token of it."""
        name = f"bot-{next(_names)}"
        await self.person.principal_add(name, grants=grants)
        return name, (await self.person.principal_token(name)).token

    @asynccontextmanager
    async def tools(self, token: str, query: str = "") -> AsyncIterator[Client]:
        """The protocol's own client, with a token."""
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"{self.url}{query}", http_client=http)) as tools,
        ):
            yield tools

    async def status(self, token: str) -> tuple[int, str]:
        """What a request with this token is let in as."""
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"} if token else {}) as http:
            answer = await http.post(self.url, json={})
        return answer.status_code, answer.text


@pytest.fixture
async def served(service: ServiceProcess, client: Umbriel, person: Umbriel) -> AsyncIterator[Served]:
    """All tools over HTTP in this process, on a port of their own; the server's own profile is that of ``client``."""
    own = Connection(lambda: service.client(profile=client.profile))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        speakers = Speakers(own, client.profile)
        app: Any = http_app(build(own, every_tool()), speakers, token=OWN, host="127.0.0.1", port=port)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        task = asyncio.create_task(server.serve(sockets=[listening]))
        yield Served(f"http://127.0.0.1:{port}/mcp", person)
        server.should_exit = True
        await task
    await own.close()


def text_of(result: CallToolResult) -> str:
    """All of an answer."""
    return "\n".join(one.text for one in result.content if isinstance(one, TextContent))


async def test_the_token_decides_who_speaks_and_where(served: Served, client: Umbriel) -> None:
    """What an agent writes with its token is its own, in the profile of its grant, and found there over HTTP."""
    profile = f"{client.profile}-granted"
    name, token = await served.token(GrantSpec(profile=profile, access="write"))
    async with served.tools(token) as tools:
        await tools.call_tool("remember", {"content": "The ferry leaves at nine", "key": "ferry"})
        assert "leaves at nine" in text_of(await tools.call_tool("recall", {"query": "When does the ferry leave?"}))
    found = await served.person.for_profile(profile).get(key="ferry")
    assert (found.author, found.author_type, found.confidence) == (name, "agent", 0.9)
    async with served.tools(OWN) as tools:
        assert "Nothing is known" in text_of(await tools.call_tool("recall", {"query": "When does the ferry leave?"}))
        await tools.call_tool("remember", {"content": "The bridge opens at noon", "key": "bridge"})
    assert (await client.get(key="bridge")).author == "local-agent"


async def test_the_token_decides_what_may_be_done(served: Served, client: Umbriel) -> None:
    """A grant to read writes nothing, one for a contact sees no other, and no profile is opened by asking for it."""
    await client.remember("Jon lives in Braga", key="city", contact="jon")
    written = await client.remember("Mara lives in Porto", key="city", contact="mara")
    _, reads = await served.token(GrantSpec(profile=client.profile, access="read", contacts=["mara"]))
    async with served.tools(reads) as tools:
        asked = {"key": "city", "contact": "mara", "at_least": written.position}
        assert "Porto" in text_of(await tools.call_tool("get", asked))
        for tool, arguments in (
            ("remember", {"content": "x", "contact": "mara"}),
            ("get", {"key": "city", "contact": "jon"}),
            ("list_memories", {"contact": "*"}),
        ):
            answer = await tools.call_tool(tool, arguments)
            assert (answer.is_error, text_of(answer).startswith("refused: ")) == (True, True)
            assert "Braga" not in text_of(answer)
    async with served.tools(reads, "?profile=default") as tools:
        assert text_of(await tools.call_tool("recall", {"query": "x"})).startswith("refused: ")


async def test_the_profile_is_named_where_grants_leave_a_choice(served: Served, client: Umbriel) -> None:
    """With grants for several profiles the address says which; without that it is the server's own."""
    other = f"{client.profile}-other"
    _, token = await served.token(*(GrantSpec(profile=one, access="write") for one in (client.profile, other)))
    for query, profile in (("", client.profile), (f"?profile={other}", other)):
        async with served.tools(token, query) as tools:
            await tools.call_tool("remember", {"content": f"This is {profile}", "key": "where", "wait": True})
        assert (await served.person.for_profile(profile).get(key="where")).text == f"This is {profile}"


async def test_who_is_not_let_in(served: Served) -> None:
    """No token, one that is none, a person's, and one that was taken away; a running client is refused at once."""
    assert (await served.status(""))[0] == 401
    for wrong in ("umb_000000000000_x", "x" * 500, OWN + "x"):
        status, said = await served.status(wrong)
        assert (status, wrong in said) == (401, False)
    status, said = await served.status((await served.person.principal_token("local")).token)
    assert (status, "does not speak as a person" in said) == (401, True)
    name, token = await served.token(GrantSpec(profile="somewhere", access="write"))
    async with served.tools(token) as tools:
        assert not (await tools.call_tool("remember", {"content": "x"})).is_error
        await served.person.principal_revoke(name)
        answer = await tools.call_tool("recall", {"query": "x"})
        assert (answer.is_error, "who speaks is not known" in text_of(answer)) == (True, True)


async def test_a_token_on_nats(service: ServiceProcess, served: Served, client: Umbriel) -> None:
    """A gateway's own connection carries the requests of others: each is what its token may, in feeds too."""
    name, token = await served.token(GrantSpec(profile=client.profile, access="read"))
    bot = speaking(client, token)
    who = await bot.status(service=True)
    assert (who.principal, who.principal_type, who.grants[0].access) == (name, "agent", "read")
    written = await client.remember("The bridge opens at noon", key="bridge")
    assert (await bot.get(key="bridge", at_least=written.position)).text == "The bridge opens at noon"
    assert [one.topic for one in (await bot.feed(kinds=["memory"])).events] == ["memory.remembered"]
    with pytest.raises(RefusedError, match="no grant to write"):
        await bot.remember("x")
    with pytest.raises(RefusedError, match="who speaks is not known"):
        await speaking(client, "umb_0_0").get(key="bridge")
